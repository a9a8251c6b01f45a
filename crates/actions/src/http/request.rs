//! Builds requests: with the user's headers, our own unless the user has the same, and the body.

use std::fmt::Write;

use bytes::Bytes;
use http::header::{
    AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, Entry, HOST, PROXY_AUTHORIZATION, USER_AGENT,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri};
use http_body_util::Full;
use jiff::Timestamp;
use jiff::tz::Offset;
use percent_encoding::{CONTROLS, utf8_percent_encode};
use punctual_model::{Firing, HeaderText, HttpAction};

use super::hop::Hop;
use crate::failure::Failure;

static JOB: HeaderName = HeaderName::from_static("x-ms-scheduler-jobid");
static COLLECTION: HeaderName = HeaderName::from_static("x-ms-scheduler-jobcollectionid");
static EXPECTED_AT: HeaderName = HeaderName::from_static("x-ms-scheduler-expected-execution-time");
static REGION: HeaderName = HeaderName::from_static("x-ms-scheduler-execution-region");
static TAG: HeaderName = HeaderName::from_static("x-ms-execution-tag");
static CLIENT_REQUEST: HeaderName = HeaderName::from_static("x-ms-client-request-id");
static ATTEMPT: HeaderName = HeaderName::from_static("x-ms-scheduler-attempt");

/// Initial capacity: our own headers and a few of the user's.
const HEADERS_EXPECTED: usize = 16;

/// Initial capacity for the values of our own headers.
const OWN_BYTES_EXPECTED: usize = 256;

/// Builds the request of a hop.
pub(crate) fn build(
    firing: &Firing,
    action: &HttpAction,
    hop: &Hop,
    authorization: Option<HeaderValue>,
    user_agent: &HeaderValue,
) -> Result<Request<Full<Bytes>>, Failure> {
    let body = match &action.body {
        Some(text) if !hop.without_body => Bytes::copy_from_slice(text.as_bytes()),
        _ => Bytes::new(),
    };
    let mut headers = HeaderMap::with_capacity(HEADERS_EXPECTED);
    for (name, text) in &action.headers {
        add_user_header(&mut headers, hop, name, text)?;
    }
    if let Some(authorization) = authorization {
        headers.insert(AUTHORIZATION, authorization);
    }
    for (name, value) in own_headers(firing) {
        add_own_header(&mut headers, name, value);
    }
    add_own_header(&mut headers, USER_AGENT, user_agent.clone());
    if !body.is_empty() {
        add_own_header(&mut headers, CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    } else if [Method::POST, Method::PUT, Method::PATCH].contains(&hop.method) {
        // hyper sends no Content-Length without a body, and some servers answer 411 to that.
        add_own_header(&mut headers, CONTENT_LENGTH, HeaderValue::from_static("0"));
    }
    let uri = Uri::try_from(hop.url.as_str())
        .map_err(|error| Failure::unusable(format!("The URI can't be sent: {error}")))?;
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = hop.method.clone();
    *request.uri_mut() = uri;
    *request.headers_mut() = headers;
    Ok(request)
}

/// Adds a header of the user's, unless users may not set it or this hop must not see it.
fn add_user_header(headers: &mut HeaderMap, hop: &Hop, name: &str, text: &HeaderText) -> Result<(), Failure> {
    let unusable =
        |what| Failure::unusable(format!("The {what} of the header '{}' is not valid", name.escape_debug()));
    let name = HeaderName::from_bytes(name.trim().as_bytes()).map_err(|_| unusable("name"))?;
    let mut value =
        HeaderValue::from_bytes(text.expose().trim().as_bytes()).map_err(|_| unusable("value"))?;
    let credential = matches!(text, HeaderText::Credential(_));
    value.set_sensitive(credential);
    let sent = match name.as_str() {
        // Users must not control framing and connections: they could smuggle a second request into a connection that
        // other jobs use next.
        "connection" | "content-length" | "expect" | "keep-alive" | "proxy-connection" | "te" | "trailer"
        | "transfer-encoding" | "upgrade" => false,
        _ if !hop.credentials_allowed
            && (credential || [AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION, HOST].contains(&name)) =>
        {
            false
        }
        text => !(hop.without_body && text.starts_with("content-")),
    };
    if sent {
        headers.append(name, value);
    }
    Ok(())
}

/// Adds a header of our own, unless the user has set it.
fn add_own_header(headers: &mut HeaderMap, name: HeaderName, value: HeaderValue) {
    if let Entry::Vacant(vacant) = headers.entry(name) {
        vacant.insert(value);
    }
}

/// Returns the scheduler's own headers. Their values share one allocation, since every attempt has them.
fn own_headers(firing: &Firing) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
    let mut text = String::with_capacity(OWN_BYTES_EXPECTED);
    let mut ends = Vec::with_capacity(8);
    let mut end = |name: &HeaderName, text: &String| ends.push((name.clone(), text.len()));
    write_text(&mut text, firing.job.name.as_str());
    end(&JOB, &text);
    write_text(&mut text, firing.job.collection.name.as_str());
    end(&COLLECTION, &text);
    text.push_str(&expected_time(firing.nominal_at));
    end(&EXPECTED_AT, &text);
    write_text(&mut text, &firing.region);
    end(&REGION, &text);
    // Writing to a string can't fail.
    let _ = write!(text, "{}", firing.tag);
    end(&TAG, &text);
    write_text(&mut text, &firing.client_request_id);
    end(&CLIENT_REQUEST, &text);
    let _ = write!(text, "{}", firing.attempt);
    end(&ATTEMPT, &text);
    let (bytes, mut start_at) = (Bytes::from(text), 0);
    ends.into_iter().map(move |(name, end_at)| {
        let value = bytes.slice(std::mem::replace(&mut start_at, end_at)..end_at);
        (name, HeaderValue::from_maybe_shared(value).expect("it holds printable ASCII only"))
    })
}

/// Formats an instant as `yyyy-MM-ddTHH:mm:ss` in UTC, truncated to the second.
pub(crate) fn expected_time(at: Timestamp) -> String {
    let whole = Timestamp::from_second(at.as_nanosecond().div_euclid(1_000_000_000) as i64).unwrap_or(at);
    Offset::UTC.to_datetime(whole).to_string()
}

/// Appends a name as a header value. Letters that headers can't contain are percent-encoded. This is unambiguous,
/// since names contain no percent sign.
fn write_text(value: &mut String, text: &str) {
    if text.bytes().all(|byte| byte == b'\t' || (b' '..=b'~').contains(&byte)) {
        value.push_str(text);
    } else {
        value.extend(utf8_percent_encode(text, CONTROLS));
    }
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
        let text_value = |text| {
            let mut value = String::new();
            write_text(&mut value, text);
            value
        };
        assert_eq!(text_value("plain name"), "plain name");
        assert_eq!(text_value("güneş"), "g%C3%BCne%C5%9F");
        assert_eq!(text_value("a\r\nb"), "a%0D%0Ab");
    }
}
