//! A message as AMQP has it.
//!
//! The text is one data section. The broker's own properties are where Service Bus and its clients have
//! them: what AMQP knows in the header and the properties, the rest in annotations.

use fe2o3_amqp_types::messaging::{
    ApplicationProperties, Data, Header, Message, MessageAnnotations, MessageId, Properties,
};
use fe2o3_amqp_types::primitives::{Binary, SimpleValue, Symbol, Timestamp, Value};
use jiff::SignedDuration;
use punctual_model::{BrokeredProperties, Firing, ServiceBusMessage};

use crate::failure::Failure;

/// What goes over the link.
pub(super) type Parcel = Message<Data>;

/// Packs a message; `now` is when it is created.
pub(super) fn pack(
    firing: &Firing,
    message: &ServiceBusMessage,
    now: jiff::Timestamp,
) -> Result<Parcel, Failure> {
    let none = BrokeredProperties::default();
    let brokered = message.brokered.as_ref().unwrap_or(&none);
    let content_type = brokered.content_type.as_deref();
    if content_type.is_some_and(|text| !text.is_ascii()) {
        return Err(Failure::unusable("The contentType holds letters that AMQP can't send"));
    }
    let header = Header {
        // A message that nobody said otherwise about should outlive a restart of the broker.
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
    // The header holds 49 days at most; Service Bus reads longer lives from the two times.
    if let Some(life) = brokered.time_to_live.filter(|life| life.as_millis() > i128::from(u32::MAX)) {
        let ends_at = now.saturating_add(life).unwrap_or(jiff::Timestamp::MAX);
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

/// The message's own id, else the execution tag, so that the broker's duplicate detection drops the
/// repetitions of an occurrence (CONTRACT 17.1 #19).
pub(super) fn message_id(firing: &Firing, brokered: &BrokeredProperties) -> String {
    brokered.message_id.clone().unwrap_or_else(|| firing.tag.to_string())
}

fn milliseconds(life: SignedDuration) -> u32 {
    u32::try_from(life.as_millis().max(0)).unwrap_or(u32::MAX)
}
