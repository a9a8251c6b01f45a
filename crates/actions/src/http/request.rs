//! The request as it goes over the wire: the user's headers, ours where the user has none, and the body.

use bytes::Bytes;
use http::header::{
    AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, HOST, PROXY_AUTHORIZATION, USER_AGENT,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri};
use http_body_util::Full;
use jiff::Timestamp;
use jiff::tz::Offset;
use percent_encoding::{CONTROLS, utf8_percent_encode};
use punctual_model::{Firing, HttpAction};

use super::hop::Hop;
use crate::failure::Failure;

static JOB: HeaderName = HeaderName::from_static("x-ms-scheduler-jobid");
static COLLECTION: HeaderName = HeaderName::from_static("x-ms-scheduler-jobcollectionid");
static EXPECTED_AT: HeaderName = HeaderName::from_static("x-ms-scheduler-expected-execution-time");
static REGION: HeaderName = HeaderName::from_static("x-ms-scheduler-execution-region");
static TAG: HeaderName = HeaderName::from_static("x-ms-execution-tag");
static CLIENT_REQUEST: HeaderName = HeaderName::from_static("x-ms-client-request-id");
static ATTEMPT: HeaderName = HeaderName::from_static("x-ms-scheduler-attempt");

/// Room for our own headers and a few of the user's and the client's.
const HEADERS_EXPECTED: usize = 16;

/// Builds the request of a hop.
pub(crate) fn build(
    firing: &Firing,
    action: &HttpAction,
    hop: &Hop,
    authorization: Option<HeaderValue>,
    user_agent: &HeaderValue,
) -> Result<Request<Full<Bytes>>, Failure> {
    let body = match &action.body {
        Some(text) if !hop.bare => Bytes::copy_from_slice(text.as_bytes()),
        _ => Bytes::new(),
    };
    let mut headers = HeaderMap::with_capacity(HEADERS_EXPECTED);
    for (name, value) in &action.headers {
        add(&mut headers, hop, name, value)?;
    }
    if let Some(authorization) = authorization {
        headers.insert(AUTHORIZATION, authorization);
    }
    let mut own = |name: &HeaderName, value: &dyn Fn() -> HeaderValue| {
        if !headers.contains_key(name) {
            headers.insert(name.clone(), value());
        }
    };
    own(&JOB, &|| text_value(firing.job.name.as_str()));
    own(&COLLECTION, &|| text_value(firing.job.collection.name.as_str()));
    own(&EXPECTED_AT, &|| ascii_value(expected_time(firing.nominal_at)));
    own(&REGION, &|| text_value(&firing.region));
    own(&TAG, &|| ascii_value(firing.tag.to_string()));
    own(&CLIENT_REQUEST, &|| text_value(&firing.client_request_id));
    own(&ATTEMPT, &|| HeaderValue::from(firing.attempt));
    own(&USER_AGENT, &|| user_agent.clone());
    if !body.is_empty() {
        own(&CONTENT_TYPE, &|| HeaderValue::from_static("text/plain; charset=utf-8"));
    } else if [Method::POST, Method::PUT, Method::PATCH].contains(&hop.method) {
        // The client says nothing about a body that is not there, and some servers then answer 411.
        own(&CONTENT_LENGTH, &|| HeaderValue::from_static("0"));
    }
    let uri = Uri::try_from(hop.url.as_str())
        .map_err(|error| Failure::unusable(format!("The URI can't be sent: {error}")))?;
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = hop.method.clone();
    *request.uri_mut() = uri;
    *request.headers_mut() = headers;
    Ok(request)
}

/// Adds a header of the user's, unless it is not the user's to say or not for this hop.
fn add(headers: &mut HeaderMap, hop: &Hop, name: &str, value: &str) -> Result<(), Failure> {
    let unusable =
        |what| Failure::unusable(format!("The {what} of the header '{}' is not valid", name.escape_debug()));
    let name = HeaderName::from_bytes(name.trim().as_bytes()).map_err(|_| unusable("name"))?;
    let value = HeaderValue::from_bytes(value.trim().as_bytes()).map_err(|_| unusable("value"))?;
    let sent = match name.as_str() {
        // How the message is framed and the connection kept is between us and the target: a user who
        // could say so could smuggle a second request into a connection that others use next.
        "connection" | "content-length" | "expect" | "keep-alive" | "proxy-connection" | "te" | "trailer"
        | "transfer-encoding" | "upgrade" => false,
        _ if !hop.home && [AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION, HOST].contains(&name) => false,
        text => !(hop.bare && text.starts_with("content-")),
    };
    if sent {
        headers.append(name, value);
    }
    Ok(())
}

/// `yyyy-MM-ddTHH:mm:ss` in UTC, cut to the second.
pub(crate) fn expected_time(at: Timestamp) -> String {
    let whole = Timestamp::from_second(at.as_nanosecond().div_euclid(1_000_000_000) as i64).unwrap_or(at);
    Offset::UTC.to_datetime(whole).to_string()
}

/// A text of ours as a header value. Names may hold letters that headers can't: they are percent-encoded,
/// which stays unambiguous, as names hold no percent sign.
fn text_value(text: &str) -> HeaderValue {
    match HeaderValue::from_str(text) {
        Ok(value) if text.is_ascii() => value,
        _ => ascii_value(utf8_percent_encode(text, CONTROLS).to_string()),
    }
}

fn ascii_value(text: String) -> HeaderValue {
    HeaderValue::from_maybe_shared(Bytes::from(text)).expect("it holds printable ASCII only")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_expected_time_is_utc_without_fraction_or_zone() {
        let check = |at: &str, expected: &str| assert_eq!(expected_time(at.parse().unwrap()), expected);
        check("2014-01-30T20:31:13.9999999Z", "2014-01-30T20:31:13");
        check("2014-01-30T20:00:00+02:00", "2014-01-30T18:00:00");
        check("1969-12-31T23:59:58.5Z", "1969-12-31T23:59:58");
    }

    #[test]
    fn a_name_with_foreign_letters_is_percent_encoded() {
        assert_eq!(text_value("plain name"), "plain name");
        assert_eq!(text_value("güneş"), "g%C3%BCne%C5%9F");
        assert_eq!(text_value("a\r\nb"), "a%0D%0Ab");
    }
}
