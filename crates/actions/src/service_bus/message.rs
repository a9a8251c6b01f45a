//! A Service Bus message in AMQP.
//!
//! The text is one data section. Brokered properties are encoded as Service Bus and its clients do it: in the header
//! and the properties of AMQP where it has them, in annotations otherwise.

use fe2o3_amqp_types::messaging::{
    ApplicationProperties, Data, Header, Message, MessageAnnotations, MessageId, Properties,
};
use fe2o3_amqp_types::primitives::{Binary, SimpleValue, Symbol, Timestamp, Value};
use jiff::SignedDuration;
use punctual_model::{BrokeredProperties, Firing, ServiceBusMessage};

use crate::failure::Failure;

/// A message as it is sent over a link.
pub(super) type AmqpMessage = Message<Data>;

/// Encodes a message that is created `now`.
pub(super) fn encode(
    firing: &Firing,
    message: &ServiceBusMessage,
    now: jiff::Timestamp,
) -> Result<AmqpMessage, Failure> {
    let none = BrokeredProperties::default();
    let brokered = message.brokered.as_ref().unwrap_or(&none);
    let content_type = brokered.content_type.as_deref();
    if content_type.is_some_and(|text| !text.is_ascii()) {
        return Err(Failure::unusable("The contentType holds letters that AMQP can't send"));
    }
    let header = Header {
        // By default a message survives a restart of the broker.
        durable: brokered.force_persistence.unwrap_or(true),
        ttl: brokered.time_to_live.map(milliseconds),
        ..Header::default()
    };
    let mut properties = Properties {
        message_id: Some(message_id(firing, brokered).into()),
        correlation_id: brokered.correlation_id.clone().map(MessageId::String),
        subject: brokered.label.clone(),
        content_type: content_type.map(Symbol::from),
        to: brokered.to.clone(),
        reply_to: brokered.reply_to.clone(),
        group_id: brokered.session_id.clone(),
        reply_to_group_id: brokered.reply_to_session_id.clone(),
        ..Properties::default()
    };
    // The header's time to live is limited to 49 days. Service Bus computes longer ones from these two times.
    let long = |time_to_live: &SignedDuration| time_to_live.as_millis() > i128::from(u32::MAX);
    if let Some(time_to_live) = brokered.time_to_live.filter(long) {
        let ends_at = now.saturating_add(time_to_live).unwrap_or(jiff::Timestamp::MAX);
        properties.creation_time = Some(Timestamp::from_milliseconds(now.as_millisecond()));
        properties.absolute_expiry_time = Some(Timestamp::from_milliseconds(ends_at.as_millisecond()));
    }
    let mut annotations = MessageAnnotations::builder();
    let mut count = 0;
    let texts = [
        ("x-opt-partition-key", &brokered.partition_key),
        ("x-opt-via-partition-key", &brokered.via_partition_key),
    ];
    for (name, text) in texts {
        if let Some(text) = text {
            annotations = annotations.insert(Symbol::from(name), Value::String(text.clone()));
            count += 1;
        }
    }
    if let Some(at) = brokered.scheduled_enqueue_at {
        let at = Timestamp::from_milliseconds(at.as_millisecond());
        annotations = annotations.insert(Symbol::from("x-opt-scheduled-enqueue-time"), Value::Timestamp(at));
        count += 1;
    }
    let custom = message.custom.iter().fold(ApplicationProperties::builder(), |custom, (name, value)| {
        custom.insert(name.clone(), SimpleValue::String(value.clone()))
    });
    Ok(Message {
        header: Some(header),
        delivery_annotations: None,
        message_annotations: (count > 0).then(|| annotations.build()),
        properties: Some(properties),
        application_properties: (!message.custom.is_empty()).then(|| custom.build()),
        body: Data(Binary::from(message.message.as_bytes())),
        footer: None,
    })
}

/// Returns the id of the message. Without one it is the execution tag, so that the broker's duplicate detection
/// drops repetitions of an occurrence (CONTRACT 17.1 #19).
pub(super) fn message_id(firing: &Firing, brokered: &BrokeredProperties) -> String {
    brokered.message_id.clone().unwrap_or_else(|| firing.tag.to_string())
}

fn milliseconds(time_to_live: SignedDuration) -> u32 {
    u32::try_from(time_to_live.as_millis().max(0)).unwrap_or(u32::MAX)
}
