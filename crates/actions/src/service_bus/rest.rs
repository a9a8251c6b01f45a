//! Messages over the REST endpoint: one request each, with the brokered properties in a header field.
//!
//! The client and the egress rules are those of HTTP actions. Redirects are not followed, since the request holds a
//! token. The version is HTTP/1.1, which keeps the letter case of custom property names. Header fields are ASCII;
//! other letters are written as JSON escapes.

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, Uri};
use http_body_util::Full;
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimePrinter;
use punctual_model::{BrokeredProperties, Firing, ServiceBusMessage};
use serde_json::{Map, Value};

use super::message::message_id;
use super::token::Token;
use super::{Credentials, header_case};
use crate::Actions;
use crate::explanation;
use crate::failure::Failure;
use crate::http::{answer, status};
use crate::permit::Permit;
use crate::redact::Redactor;

static BROKER_PROPERTIES: HeaderName = HeaderName::from_static("brokerproperties");

/// Header fields with a meaning of their own. A custom property of such a name can't be sent.
const RESERVED: [&str; 14] = [
    "authorization",
    "brokerproperties",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "host",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
];

pub(super) async fn send(
    actions: &Actions,
    firing: &Firing,
    message: &ServiceBusMessage,
    credentials: Credentials<'_>,
    permit: &Permit,
) -> Result<(), Failure> {
    let bus = &actions.bus;
    let resource = bus.rest.entity(message);
    let uri = Uri::try_from(format!("{resource}/messages"))
        .map_err(|_| Failure::unusable("The address of the namespace is not valid"))?;
    let token = Token::sign(&resource, credentials, bus.clock.now(), bus.token_lifetime);
    let mut redactor = Redactor::default();
    redactor.add(credentials.key.expose());
    redactor.add(&token.text);
    let mut headers = headers(firing, message)?;
    headers.insert(USER_AGENT, actions.user_agent.clone());
    let mut authorization = HeaderValue::try_from(token.text).expect("a token is printable ASCII");
    authorization.set_sensitive(true);
    headers.insert(AUTHORIZATION, authorization);
    let mut request = Request::new(Full::new(Bytes::from(message.message.clone())));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = uri;
    *request.headers_mut() = headers;
    *request.extensions_mut() = header_case::of(message.custom.iter().map(|(name, _)| name.as_str())).await;
    let sent = actions.clients.http1().send(request, |_| answer::BODY_BYTES_MAX, permit).await;
    let answer = sent.map_err(|error| Failure::of(&error))?;
    if answer.status.is_success() { Ok(()) } else { Err(refusal(answer.status, &answer.body, &redactor)) }
}

fn headers(firing: &Firing, message: &ServiceBusMessage) -> Result<HeaderMap, Failure> {
    let none = BrokeredProperties::default();
    let brokered = message.brokered.as_ref().unwrap_or(&none);
    let mut headers = HeaderMap::new();
    let content_type = brokered.content_type.as_deref().unwrap_or("text/plain; charset=utf-8");
    let content_type = HeaderValue::from_str(content_type)
        .map_err(|_| Failure::unusable("The contentType holds letters that can't be sent"))?;
    headers.insert(CONTENT_TYPE, content_type);
    headers.insert(BROKER_PROPERTIES.clone(), value(&broker_properties(firing, brokered)));
    let mut unfit = Vec::new();
    for (name, text) in &message.custom {
        match HeaderName::from_bytes(name.as_bytes()) {
            // HTTP takes two names that differ only in letter case for one.
            Ok(header) if !RESERVED.contains(&header.as_str()) && !headers.contains_key(&header) => {
                headers.insert(header, value(&Value::String(text.clone())));
            }
            _ => unfit.push(format!("'{name}'")),
        }
    }
    if unfit.is_empty() {
        return Ok(headers);
    }
    Err(Failure::unusable(format!(
        "These customMessageProperties can't be names of header fields of their own, which they are over \
         REST: {}; use the transportType AMQP",
        unfit.join(", ")
    )))
}

/// Returns the value of the header field `BrokerProperties`. The content type is not in it: it is the request's.
fn broker_properties(firing: &Firing, brokered: &BrokeredProperties) -> Value {
    let texts = [
        ("CorrelationId", &brokered.correlation_id),
        ("Label", &brokered.label),
        ("PartitionKey", &brokered.partition_key),
        ("ReplyTo", &brokered.reply_to),
        ("ReplyToSessionId", &brokered.reply_to_session_id),
        ("SessionId", &brokered.session_id),
        ("To", &brokered.to),
        ("ViaPartitionKey", &brokered.via_partition_key),
    ];
    let mut properties = Map::new();
    properties.insert("MessageId".into(), message_id(firing, brokered).into());
    for (name, text) in texts {
        if let Some(text) = text {
            properties.insert(name.into(), text.as_str().into());
        }
    }
    if let Some(force) = brokered.force_persistence {
        properties.insert("ForcePersistence".into(), force.into());
    }
    if let Some(at) = brokered.scheduled_enqueue_at {
        properties.insert("ScheduledEnqueueTimeUtc".into(), date(at).into());
    }
    if let Some(time_to_live) = brokered.time_to_live {
        // In seconds, without a fraction if they are whole.
        let whole = time_to_live.subsec_nanos() == 0;
        let seconds = if whole { time_to_live.as_secs().into() } else { time_to_live.as_secs_f64().into() };
        properties.insert("TimeToLive".into(), seconds);
    }
    Value::Object(properties)
}

/// Formats a date for a header field. Dates after the year 9999 have no such form and are written in ISO 8601.
fn date(at: Timestamp) -> String {
    DateTimePrinter::new().timestamp_to_rfc9110_string(&at).unwrap_or_else(|_| at.to_string())
}

/// Writes JSON in ASCII.
fn value(json: &Value) -> HeaderValue {
    let mut text = String::new();
    for letter in json.to_string().chars() {
        if (' '..='~').contains(&letter) {
            text.push(letter);
        } else {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                text.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    HeaderValue::try_from(text).expect("printable ASCII can be sent")
}

/// Returns the failure for an answer that is no success, with the service's explanation.
fn refusal(status: StatusCode, body: &[u8], redactor: &Redactor) -> Failure {
    let word = match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => "UnauthorizedAccess",
        StatusCode::NOT_FOUND | StatusCode::GONE => "MessagingEntityNotFound",
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => "ServerBusy",
        _ => "MessagingException",
    };
    let mut text = format!("The service answered '{}'", status::name(status));
    if word == "UnauthorizedAccess" {
        // The explanation may repeat the token.
        text.push_str(": it did not accept the shared access key");
        return Failure::new(word, text);
    }
    let body = String::from_utf8_lossy(body);
    // Service Bus answers with `<Error><Code>404</Code><Detail>…</Detail></Error>`.
    let said = explanation::sanitized(explanation::element(&body, "Detail").unwrap_or(&body), redactor);
    if !said.is_empty() {
        text.push_str(": ");
        text.push_str(&said);
    }
    Failure::new(word, text)
}
