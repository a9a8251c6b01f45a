//! Messages over the HTTPS endpoint: one request, with the broker's properties in a header.
//!
//! The same client and the same egress rules as for HTTP actions; redirects are not followed, as the
//! request holds a token. It is HTTP/1.1, which keeps the letter case of the names of custom properties.
//! Header fields are ASCII, so that other letters are written as JSON escapes.

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, Uri};
use http_body_util::Full;
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimePrinter;
use punctual_model::{BrokeredProperties, Firing, ServiceBusMessage};
use serde_json::{Map, Value};

use super::parcel::message_id;
use super::token::Token;
use super::{Credentials, spelling};
use crate::Actions;
use crate::explanation;
use crate::failure::Failure;
use crate::http::{answer, status};
use crate::scrub::Scrub;

static BROKER_PROPERTIES: HeaderName = HeaderName::from_static("brokerproperties");

/// Header fields that carry the request itself: a property of such a name can't be a header field.
const TAKEN: [&str; 14] = [
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
) -> Result<(), Failure> {
    let bus = &actions.bus;
    let resource = bus.rest.entity(message);
    let uri = Uri::try_from(format!("{resource}/messages"))
        .map_err(|_| Failure::unusable("The address of the namespace is not valid"))?;
    let token = Token::sign(&resource, credentials, bus.clock.now(), bus.token_lifetime);
    let mut scrub = Scrub::default();
    scrub.note(credentials.key.expose());
    scrub.note(&token.text);
    let mut headers = headers(firing, message)?;
    headers.insert(USER_AGENT, actions.user_agent.clone());
    let mut authorization = HeaderValue::try_from(token.text).expect("a token is printable ASCII");
    authorization.set_sensitive(true);
    headers.insert(AUTHORIZATION, authorization);
    let mut request = Request::new(Full::new(Bytes::from(message.message.clone())));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = uri;
    *request.headers_mut() = headers;
    *request.extensions_mut() = spelling::of(message.custom.iter().map(|(name, _)| name.as_str())).await;
    let asked = actions.clients.http1().ask(request, |_| answer::BODY_BYTES_MAX).await;
    let answer = asked.map_err(|error| Failure::of(&error))?;
    if answer.status.is_success() { Ok(()) } else { Err(refusal(answer.status, &answer.body, &scrub)) }
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
            // Two names that differ in letter case alone are one to HTTP.
            Ok(header) if !TAKEN.contains(&header.as_str()) && !headers.contains_key(&header) => {
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

/// What goes into the header `BrokerProperties`. Its content type is that of the request.
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
    if let Some(life) = brokered.time_to_live {
        // In seconds, with a fraction only where there is one.
        let seconds = life.as_secs_f64();
        let seconds = if life.subsec_nanos() == 0 { life.as_secs().into() } else { seconds.into() };
        properties.insert("TimeToLive".into(), seconds);
    }
    Value::Object(properties)
}

/// As dates are written in header fields; the year 9999 is the last.
fn date(at: Timestamp) -> String {
    DateTimePrinter::new().timestamp_to_rfc9110_string(&at).unwrap_or_else(|_| at.to_string())
}

/// JSON in ASCII alone.
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

/// What the service says about a refusal.
fn refusal(status: StatusCode, body: &[u8], scrub: &Scrub) -> Failure {
    let word = match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => "UnauthorizedAccess",
        StatusCode::NOT_FOUND | StatusCode::GONE => "MessagingEntityNotFound",
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => "ServerBusy",
        _ => "MessagingException",
    };
    let mut text = format!("The service answered '{}'", status::name(status));
    if word == "UnauthorizedAccess" {
        // What it says about a token may repeat the token.
        text.push_str(": it did not accept the shared access key");
        return Failure::new(word, text);
    }
    let body = String::from_utf8_lossy(body);
    // `<Error><Code>404</Code><Detail>…</Detail></Error>` is the service's way.
    let said = explanation::shown(explanation::element(&body, "Detail").unwrap_or(&body), scrub);
    if !said.is_empty() {
        text.push_str(": ");
        text.push_str(&said);
    }
    Failure::new(word, text)
}
