//! The Service Bus actions: one message into a queue or to a topic.
//!
//! The transport `AMQP` is AMQP 1.0, with claims-based security or SASL PLAIN depending on the settings.
//! `NetMessaging` and `NotSpecified` use the REST endpoint, because the protocol that they once meant is gone. An
//! attempt succeeds when the broker has accepted the message. The texts follow CONTRACT 9.1: PowerShell takes the
//! first two quoted words for the entity and the namespace, and needs a colon before them.

mod abortable;
mod amqp;
mod amqp_failure;
mod cbs;
mod connection;
mod endpoint;
mod frame_guard;
mod header_case;
mod link;
mod message;
mod open;
mod rest;
mod token;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use punctual_model::{Clock, Firing, Outcome, OutcomeKind, Secret, ServiceBusMessage, Transport};
use tokio_rustls::TlsConnector;

pub(crate) use self::endpoint::{AmqpEndpoint, EntityAddress, RestEndpoint};

use self::amqp::LinkPool;
use self::open::ConnectionOpener;
use crate::Actions;
use crate::dial::Dialer;
use crate::failure::{Failure, Within};
use crate::permit::Permit;
use crate::settings::Sasl;

/// Sends messages to Service Bus.
pub(crate) struct ServiceBus {
    links: LinkPool,
    amqp: AmqpEndpoint,
    rest: RestEndpoint,
    queue_address: EntityAddress,
    topic_address: EntityAddress,
    clock: Arc<dyn Clock>,
    token_lifetime: Duration,
}

/// The arguments of [`ServiceBus::new`].
pub(crate) struct Parts {
    pub(crate) dialer: Arc<Dialer>,
    /// Without ALPN, which AMQP does not use.
    pub(crate) tls: TlsConnector,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) sasl: Sasl,
    pub(crate) amqp: AmqpEndpoint,
    pub(crate) rest: RestEndpoint,
    pub(crate) queue_address: EntityAddress,
    pub(crate) topic_address: EntityAddress,
    pub(crate) token_lifetime: Duration,
    pub(crate) idle_timeout: Duration,
}

impl ServiceBus {
    pub(crate) fn new(parts: Parts) -> Self {
        let Parts { dialer, tls, clock, sasl, amqp, rest, queue_address, topic_address, .. } = parts;
        let Parts { token_lifetime, idle_timeout, .. } = parts;
        let opener = ConnectionOpener { dialer, tls, clock: Arc::clone(&clock), sasl, token_lifetime };
        Self {
            links: LinkPool::new(opener, idle_timeout),
            amqp,
            rest,
            queue_address,
            topic_address,
            clock,
            token_lifetime,
        }
    }
}

/// The kind of entity that a message is sent to.
#[derive(Clone, Copy)]
pub(crate) enum Entity {
    Queue,
    Topic,
}

impl fmt::Display for Entity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Queue => "queue",
            Self::Topic => "topic",
        })
    }
}

/// The shared access key of a message.
#[derive(Clone, Copy)]
struct Credentials<'a> {
    key_name: &'a str,
    key: &'a Secret,
}

/// Makes one attempt.
pub(crate) async fn fire(
    actions: &Actions,
    firing: &Firing,
    entity: Entity,
    message: &ServiceBusMessage,
    permit: &Permit,
) -> Outcome {
    let sent = tokio::time::timeout(actions.timeout, send(actions, firing, entity, message, permit)).await;
    let sent = sent.unwrap_or_else(|_| {
        let within = Within(actions.timeout);
        Err(Failure::timeout(format_args!("the broker did not accept the message within {within}")))
    });
    let kind = match entity {
        Entity::Queue => "ServiceBusQueue Action",
        Entity::Topic => "ServiceBusTopic Action",
    };
    let ServiceBusMessage { entity: name, namespace, .. } = message;
    match sent {
        Ok(()) => {
            let message = format!("{kind} - Message sent: {entity} '{name}' namespace '{namespace}'.");
            Outcome { succeeded: true, kind: OutcomeKind::Word("Sent"), message }
        }
        Err(failure) => {
            let message = format!("{kind} - Failed: {entity} '{name}' namespace '{namespace}' {failure}");
            Outcome { succeeded: false, kind: failure.kind(), message }
        }
    }
}

async fn send(
    actions: &Actions,
    firing: &Firing,
    entity: Entity,
    message: &ServiceBusMessage,
    permit: &Permit,
) -> Result<(), Failure> {
    let credentials = credentials(message)?;
    endpoint::check_names(message)?;
    match message.transport {
        Some(Transport::Amqp) => amqp::send(&actions.bus, firing, entity, message, credentials, permit).await,
        Some(Transport::NetMessaging | Transport::NotSpecified) | None => {
            rest::send(actions, firing, message, credentials, permit).await
        }
    }
}

/// Returns the key of a message, or a failure that names everything that is missing (CONTRACT 17.2 #57).
fn credentials(message: &ServiceBusMessage) -> Result<Credentials<'_>, Failure> {
    let given = message.authentication.as_ref();
    let key_name = given.and_then(|given| given.sas_key_name.as_deref()).filter(|name| !name.is_empty());
    let key = given.and_then(|given| given.sas_key.as_ref()).filter(|key| !key.expose().is_empty());
    let missing = match (key_name, key) {
        (Some(key_name), Some(key)) => return Ok(Credentials { key_name, key }),
        (Some(_), None) => "sasKey",
        (None, Some(_)) => "sasKeyName",
        (None, None) => "sasKeyName and sasKey",
    };
    Err(Failure::new("UnauthorizedAccess", format!("The action's authentication lacks {missing}")))
}
