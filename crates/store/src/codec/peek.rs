//! What a search needs of a stored definition, without opening its secrets or building the rest of it.

use std::borrow::Cow;

use punctual_model::{ActionType, Target};
use serde::Deserialize;

use super::{CodecError, body, damaged};
use crate::target;

/// What the main action of a job is, as searches compare it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionFacts {
    /// Its kind.
    pub action_type: ActionType,
    /// Whom it calls, as [`shown_target`](crate::shown_target) has it.
    pub target: String,
}

#[derive(Deserialize)]
struct Spec<'a> {
    #[serde(borrow)]
    action: Action<'a>,
}

#[derive(Deserialize)]
struct Action<'a> {
    #[serde(borrow)]
    kind: Kind<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind<'a> {
    #[serde(borrow)]
    Http(Http<'a>),
    #[serde(borrow)]
    StorageQueue(Queue<'a>),
    #[serde(borrow)]
    ServiceBusQueue(Bus<'a>),
    #[serde(borrow)]
    ServiceBusTopic(Bus<'a>),
}

#[derive(Deserialize)]
struct Http<'a> {
    #[serde(borrow)]
    uri: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Queue<'a> {
    #[serde(borrow)]
    storage_account: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Bus<'a> {
    #[serde(borrow)]
    namespace: Cow<'a, str>,
}

/// Reads the kind and the target of a job's main action from its document.
pub fn action_facts(document: &[u8]) -> Result<ActionFacts, CodecError> {
    let spec: Spec<'_> = serde_json::from_slice(body(document)?).map_err(damaged)?;
    let (action_type, target) = match &spec.action.kind {
        Kind::Http(http) => (ActionType::Http, Target::Uri(&http.uri)),
        Kind::StorageQueue(queue) => {
            (ActionType::StorageQueue, Target::Named { service: "queue", name: &queue.storage_account })
        }
        Kind::ServiceBusQueue(bus) => {
            (ActionType::ServiceBusQueue, Target::Named { service: "bus", name: &bus.namespace })
        }
        Kind::ServiceBusTopic(bus) => {
            (ActionType::ServiceBusTopic, Target::Named { service: "bus", name: &bus.namespace })
        }
    };
    Ok(ActionFacts { action_type, target: target::shown(target) })
}
