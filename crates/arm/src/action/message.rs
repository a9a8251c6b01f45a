//! Messages for storage queues and for Service Bus.

use crate::json::{Json, Members};
use punctual_model::{
    ActionKind, BrokeredProperties, QueueMessage, ServiceBusAuthentication, ServiceBusMessage, Transport,
};

use super::authentication::{Kept, required_secret, secret};
use super::{insert_text, texts};
use crate::reader::{Object, Problems};
use crate::shape::{Member, object, value};
use crate::{Dialect, time};

pub(super) const QUEUE_MESSAGE: &[Member] =
    &[value("storageAccount"), value("queueName"), value("sasToken"), value("message")];

pub(super) const BUS_MESSAGE: &[Member] = &[
    value("queueName"),
    value("topicPath"),
    value("namespace"),
    value("transportType"),
    object("authentication", &[value("type"), value("sasKeyName"), value("sasKey")]),
    value("message"),
    object("brokeredMessageProperties", BROKERED_PROPERTIES),
    value("customMessageProperties"),
];

const BROKERED_PROPERTIES: &[Member] = &[
    value("contentType"),
    value("correlationId"),
    value("forcePersistence"),
    value("label"),
    value("messageId"),
    value("partitionKey"),
    value("replyTo"),
    value("replyToSessionId"),
    value("scheduledEnqueueTimeUtc"),
    value("sessionId"),
    value("timeToLive"),
    value("to"),
    value("viaPartitionKey"),
];

pub(super) fn read_queue(
    message: &Object<'_>,
    kept: Option<&ActionKind>,
    problems: &mut Problems,
) -> Option<QueueMessage> {
    let storage_account = message.required_text("storageAccount", problems);
    let kept = match kept {
        Some(ActionKind::StorageQueue(queue)) => {
            Kept::at(&queue.storage_account, storage_account, "storageAccount").of(Some(&queue.sas_token))
        }
        _ => Kept::NOTHING,
    };
    let queue_name = message.required_text("queueName", problems);
    let sas_token = required_secret(message, "sasToken", kept, problems);
    let text = message.required_text("message", problems);
    if storage_account.is_some_and(|account| account.contains('.') || !is_host_part(account)) {
        message.note(
            "storageAccount",
            "must be the name of a storage account: letters, digits and '-'",
            problems,
        );
    }
    if queue_name.is_some_and(|name| name.contains('/') || !is_entity_path(name)) {
        message.note("queueName", "must be the name of a queue: letters, digits and '-'", problems);
    }
    Some(QueueMessage {
        storage_account: storage_account?.to_owned(),
        queue_name: queue_name?.to_owned(),
        sas_token: sas_token?,
        message: text?.to_owned(),
    })
}

pub(super) fn render_queue(queue: &QueueMessage) -> Json<'_> {
    let mut members = Members::new();
    insert_text(&mut members, "storageAccount", Some(&queue.storage_account));
    insert_text(&mut members, "queueName", Some(&queue.queue_name));
    insert_text(&mut members, "message", Some(&queue.message));
    members.into()
}

const TRANSPORTS: [(&str, Transport); 3] = [
    ("NotSpecified", Transport::NotSpecified),
    ("NetMessaging", Transport::NetMessaging),
    ("AMQP", Transport::Amqp),
];

pub(super) fn read_bus(
    message: &Object<'_>,
    entity_name: &str,
    kept: Option<&ServiceBusMessage>,
    problems: &mut Problems,
) -> Option<ServiceBusMessage> {
    let entity = message.required_text(entity_name, problems);
    let namespace = message.required_text("namespace", problems);
    let text = message.required_text("message", problems);
    let transport = message.name_of("transportType", &TRANSPORTS, problems);
    let authentication = read_bus_authentication(message, namespace, kept, problems);
    let brokered = read_brokered(message, problems).filter(|given| *given != BrokeredProperties::default());
    let custom = message.texts("customMessageProperties", problems);
    if namespace.is_some_and(|namespace| !is_host_part(namespace)) {
        message.note("namespace", "must be the name of a namespace: letters, digits and '-'", problems);
    }
    if entity.is_some_and(|entity| !is_entity_path(entity)) {
        message.note(entity_name, "must be a name of letters, digits, '.', '-', '_' and '/'", problems);
    }
    Some(ServiceBusMessage {
        entity: entity?.to_owned(),
        namespace: namespace?.to_owned(),
        transport,
        authentication,
        message: text?.to_owned(),
        brokered,
        custom,
    })
}

/// Whether the type is `SharedAccessKey`.
const AUTHENTICATION_TYPES: [(&str, bool); 2] = [("NotSpecified", false), ("SharedAccessKey", true)];

fn read_bus_authentication(
    message: &Object<'_>,
    namespace: Option<&str>,
    kept: Option<&ServiceBusMessage>,
    problems: &mut Problems,
) -> Option<ServiceBusAuthentication> {
    let value = message.get("authentication")?;
    let object = Object::of(value, message.at("authentication"), problems)?;
    let kept = kept.map_or(Kept::NOTHING, |kept| {
        let key = kept.authentication.as_ref().and_then(|one| one.sas_key.as_ref());
        Kept::at(&kept.namespace, namespace, "namespace").of(key)
    });
    let authentication = ServiceBusAuthentication {
        shared_access_key: object.name_of("type", &AUTHENTICATION_TYPES, problems),
        sas_key_name: object.text("sasKeyName", problems).map(str::to_owned),
        sas_key: secret(&object, "sasKey", kept, problems),
    };
    let empty = ServiceBusAuthentication { shared_access_key: None, sas_key_name: None, sas_key: None };
    (authentication != empty).then_some(authentication)
}

fn read_brokered(message: &Object<'_>, problems: &mut Problems) -> Option<BrokeredProperties> {
    let value = message.get("brokeredMessageProperties")?;
    let object = Object::of(value, message.at("brokeredMessageProperties"), problems)?;
    let mut text = |name: &str| object.text(name, problems).map(str::to_owned);
    Some(BrokeredProperties {
        content_type: text("contentType"),
        correlation_id: text("correlationId"),
        label: text("label"),
        message_id: text("messageId"),
        partition_key: text("partitionKey"),
        reply_to: text("replyTo"),
        reply_to_session_id: text("replyToSessionId"),
        session_id: text("sessionId"),
        to: text("to"),
        via_partition_key: text("viaPartitionKey"),
        force_persistence: object.boolean("forcePersistence", problems),
        scheduled_enqueue_at: object.instant("scheduledEnqueueTimeUtc", problems),
        time_to_live: object.span("timeToLive", problems),
    })
}

pub(super) fn render_bus<'a>(
    bus: &'a ServiceBusMessage,
    entity_name: &'static str,
    dialect: Dialect,
) -> Json<'a> {
    let mut members = Members::new();
    insert_text(&mut members, entity_name, Some(&bus.entity));
    insert_text(&mut members, "namespace", Some(&bus.namespace));
    let transport = bus.transport.map(|transport| match transport {
        Transport::NotSpecified => "notSpecified",
        Transport::NetMessaging => "netMessaging",
        Transport::Amqp => "amqp",
    });
    insert_text(&mut members, "transportType", transport);
    if let Some(authentication) = &bus.authentication {
        members.insert("authentication", render_bus_authentication(authentication));
    }
    insert_text(&mut members, "message", Some(&bus.message));
    if let Some(brokered) = &bus.brokered {
        members.insert("brokeredMessageProperties", render_brokered(brokered, dialect));
    }
    if !bus.custom.is_empty() {
        members.insert("customMessageProperties", texts(&bus.custom));
    }
    members.into()
}

fn render_bus_authentication(authentication: &ServiceBusAuthentication) -> Json<'_> {
    let mut members = Members::new();
    insert_text(&mut members, "sasKeyName", authentication.sas_key_name.as_deref());
    let type_name = authentication
        .shared_access_key
        .map(|shared| if shared { "sharedAccessKey" } else { "notSpecified" });
    insert_text(&mut members, "type", type_name);
    members.into()
}

fn render_brokered<'a>(brokered: &'a BrokeredProperties, dialect: Dialect) -> Json<'a> {
    let mut members = Members::new();
    let mut text =
        |name: &'static str, value: &'a Option<String>| insert_text(&mut members, name, value.as_deref());
    text("contentType", &brokered.content_type);
    text("correlationId", &brokered.correlation_id);
    text("label", &brokered.label);
    text("messageId", &brokered.message_id);
    text("partitionKey", &brokered.partition_key);
    text("replyTo", &brokered.reply_to);
    text("replyToSessionId", &brokered.reply_to_session_id);
    text("sessionId", &brokered.session_id);
    text("to", &brokered.to);
    text("viaPartitionKey", &brokered.via_partition_key);
    if let Some(at) = brokered.scheduled_enqueue_at {
        members.insert("scheduledEnqueueTimeUtc", time::instant(at).into());
    }
    if let Some(duration) = brokered.time_to_live {
        members.insert("timeToLive", dialect.duration(duration).into());
    }
    if let Some(force_persistence) = brokered.force_persistence {
        members.insert("forcePersistence", force_persistence.into());
    }
    members.into()
}

/// Whether a name can be inserted into a host name without changing to another host.
pub(super) fn is_host_part(name: &str) -> bool {
    (1..=253).contains(&name.len())
        && name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && name.ends_with(|last: char| last.is_ascii_alphanumeric())
        && name.chars().all(|one| one.is_ascii_alphanumeric() || matches!(one, '-' | '.'))
}

/// Whether a name can be a path on a broker without leaving its namespace.
fn is_entity_path(name: &str) -> bool {
    name.len() <= 260
        && name.split('/').all(|part| {
            !matches!(part, "" | "." | "..")
                && part.chars().all(|one| one.is_alphanumeric() || matches!(one, '-' | '_' | '.' | '~' | '$'))
        })
}
