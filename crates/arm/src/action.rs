//! Actions: what a job does, its retries, and its error actions.

mod authentication;
mod http;
mod message;
mod retry;

use std::cell::Cell;

use punctual_model::{Action, ActionKind, CredentialHeaders, ERROR_ACTION_DEPTH_MAX, PlanLimits, Sku};

pub(crate) use self::http::sends_credentials;
use crate::json::{Json, Members};

use crate::Dialect;
use crate::reader::{Object, Path, Problems};
use crate::shape::{Member, object, value};

/// The members that an action may have. Not a constant, so that it can hold itself.
pub(crate) static SHAPE: [Member; 7] = [
    value("type"),
    object("request", http::REQUEST),
    object("queueMessage", message::QUEUE_MESSAGE),
    object("serviceBusQueueMessage", message::BUS_MESSAGE),
    object("serviceBusTopicMessage", message::BUS_MESSAGE),
    object("retryPolicy", retry::RETRY_POLICY),
    object("errorAction", &SHAPE),
];

/// What reading an action depends on besides the JSON.
#[derive(Clone, Copy)]
pub(crate) struct Reading<'a> {
    /// The plan of the job's collection, and what it allows.
    pub(crate) plan: (Sku, PlanLimits),
    /// The stored action of the same step, whose credentials are meant where their mask is given.
    pub(crate) stored: Option<&'a Action>,
    /// Whether secrets of the stored action stay where none are given, as under PATCH.
    pub(crate) keeps_secrets: bool,
    /// The headers whose values are credentials.
    pub(crate) credential_headers: &'a CredentialHeaders,
    /// Certificates to open, and those that were opened before.
    pub(crate) certificates: Certificates<'a>,
}

/// Which certificates are opened.
#[derive(Clone, Copy)]
pub(crate) struct Certificates<'a> {
    /// The stored main action: what was opened before is not opened again.
    pub(crate) opened: Option<&'a Action>,
    /// Whether any may be opened, which takes as long as its author chose.
    pub(crate) may_open: bool,
    /// Whether only those are opened that are given with their password: nobody shall find out a stored password by
    /// sending files that it opens.
    pub(crate) only_given: bool,
    /// Set if one must be opened and may not.
    pub(crate) must_open: &'a Cell<bool>,
    /// The rounds of key derivation that the job has asked for so far.
    pub(crate) rounds: &'a Cell<u64>,
}

impl<'a> Reading<'a> {
    fn of_error_action(self) -> Self {
        Self { stored: self.stored.and_then(|action| action.error_action.as_deref()), ..self }
    }

    fn stored_kind(self) -> Option<&'a ActionKind> {
        self.stored.map(|action| &action.kind)
    }

    /// The stored action of this kind, if secrets that are not given stay.
    fn kept_kind(self) -> Option<&'a ActionKind> {
        self.stored_kind().filter(|_| self.keeps_secrets)
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Type {
    Http,
    Https,
    StorageQueue,
    ServiceBusQueue,
    ServiceBusTopic,
}

impl Type {
    /// The member that holds the details of this type.
    fn member(self) -> &'static str {
        match self {
            Self::Http | Self::Https => "request",
            Self::StorageQueue => "queueMessage",
            Self::ServiceBusQueue => "serviceBusQueueMessage",
            Self::ServiceBusTopic => "serviceBusTopicMessage",
        }
    }

    fn name(self) -> &'static str {
        TYPES.iter().find(|(_, one)| *one == self).map_or("", |(name, _)| name)
    }
}

const TYPES: [(&str, Type); 5] = [
    ("Http", Type::Http),
    ("Https", Type::Https),
    ("StorageQueue", Type::StorageQueue),
    ("ServiceBusQueue", Type::ServiceBusQueue),
    ("ServiceBusTopic", Type::ServiceBusTopic),
];

/// Reads an action with its error actions. `None` only with a problem.
pub(crate) fn read(
    value: &Json<'_>,
    path: Path<'_>,
    reading: Reading<'_>,
    problems: &mut Problems,
) -> Option<Action> {
    read_step(value, path, 0, reading, problems)
}

fn read_step(
    value: &Json<'_>,
    path: Path<'_>,
    step: usize,
    reading: Reading<'_>,
    problems: &mut Problems,
) -> Option<Action> {
    let action = Object::of(value, path, problems)?;
    if action.get("type").is_none() {
        action.note("type", "is required", problems);
    }
    let kind = match action.name_of("type", &TYPES, problems) {
        Some(declared) => read_kind(&action, declared, reading, problems),
        None => {
            // Report problems of the other members along with the wrong type.
            let given = TYPES.into_iter().map(|(_, one)| one).filter(|one| !matches!(one, Type::Https));
            for one in given.filter(|one| action.get(one.member()).is_some()) {
                read_kind(&action, one, reading, problems);
            }
            None
        }
    };
    let retry = retry::read(&action, reading.plan, problems);
    let error_action = action.get("errorAction").and_then(|value| {
        if step == ERROR_ACTION_DEPTH_MAX {
            let message = format!("at most {ERROR_ACTION_DEPTH_MAX} error actions may follow one another");
            action.note("errorAction", message, problems);
            return None;
        }
        let path = action.at("errorAction");
        read_step(value, path, step + 1, reading.of_error_action(), problems).map(Box::new)
    });
    Some(Action { kind: kind?, retry, error_action })
}

fn read_kind(
    action: &Object<'_>,
    declared: Type,
    reading: Reading<'_>,
    problems: &mut Problems,
) -> Option<ActionKind> {
    let member = declared.member();
    let Some(value) = action.get(member) else {
        action.note(member, format!("is required with type {}", declared.name()), problems);
        return None;
    };
    let object = Object::of(value, action.at(member), problems)?;
    match declared {
        Type::Http => http::read(&object, false, reading, problems).map(ActionKind::Http),
        Type::Https => http::read(&object, true, reading, problems).map(ActionKind::Http),
        Type::StorageQueue => {
            message::read_queue(&object, reading.kept_kind(), problems).map(ActionKind::StorageQueue)
        }
        Type::ServiceBusQueue => {
            let kept = match reading.kept_kind() {
                Some(ActionKind::ServiceBusQueue(kept)) => Some(kept),
                _ => None,
            };
            message::read_bus(&object, "queueName", kept, problems).map(ActionKind::ServiceBusQueue)
        }
        Type::ServiceBusTopic => {
            let kept = match reading.kept_kind() {
                Some(ActionKind::ServiceBusTopic(kept)) => Some(kept),
                _ => None,
            };
            message::read_bus(&object, "topicPath", kept, problems).map(ActionKind::ServiceBusTopic)
        }
    }
}

/// Renders an action without its secrets.
pub(crate) fn render(action: &Action, dialect: Dialect) -> Json<'_> {
    let mut members = Members::new();
    let type_name = match &action.kind {
        ActionKind::Http(http) => {
            members.insert("request", http::render(http));
            if http.declared_https { "Https" } else { "Http" }
        }
        ActionKind::StorageQueue(queue) => {
            members.insert("queueMessage", message::render_queue(queue));
            "StorageQueue"
        }
        ActionKind::ServiceBusQueue(bus) => {
            members.insert("serviceBusQueueMessage", message::render_bus(bus, "queueName", dialect));
            "ServiceBusQueue"
        }
        ActionKind::ServiceBusTopic(bus) => {
            members.insert("serviceBusTopicMessage", message::render_bus(bus, "topicPath", dialect));
            "ServiceBusTopic"
        }
    };
    members.insert("type", type_name.into());
    if let Some(policy) = &action.retry {
        members.insert("retryPolicy", retry::render(policy, dialect));
    }
    if let Some(error_action) = &action.error_action {
        members.insert("errorAction", render(error_action, dialect));
    }
    members.into()
}

/// The bytes of all secrets of an action and its error actions.
pub(crate) fn secret_bytes(action: &Action) -> usize {
    action
        .steps()
        .map(|step| match &step.kind {
            ActionKind::Http(http) => http::secret_bytes(http),
            ActionKind::StorageQueue(queue) => queue.sas_token.expose().len(),
            ActionKind::ServiceBusQueue(bus) | ActionKind::ServiceBusTopic(bus) => {
                let key = bus.authentication.as_ref().and_then(|one| one.sas_key.as_ref());
                key.map_or(0, |key| key.expose().len())
            }
        })
        .sum()
}

/// Inserts a text if there is one.
fn insert_text<'a>(members: &mut Members<'a>, name: &'a str, text: Option<&'a str>) {
    if let Some(text) = text {
        members.insert(name, text.into());
    }
}

/// A map of texts as an object.
pub(crate) fn texts(pairs: &[(String, String)]) -> Json<'_> {
    let mut members = Members::new();
    for (name, value) in pairs {
        members.insert(name.as_str(), value.as_str().into());
    }
    members.into()
}
