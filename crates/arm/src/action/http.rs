//! HTTP requests.

use crate::json::{Json, Members};
use punctual_model::{ActionKind, HttpAction};
use url::Url;

use super::authentication::AUTHENTICATION;
use super::retry::RETRY_POLICY;
use super::{Reading, authentication, insert_text, texts};
use crate::reader::{Object, Problems, shown};
use crate::shape::{Member, object, value};

pub(super) const REQUEST: &[Member] = &[
    value("uri"),
    value("method"),
    value("headers"),
    value("body"),
    object("authentication", AUTHENTICATION),
    // Published templates put it here by mistake, and it is read.
    object("retryPolicy", RETRY_POLICY),
];

/// Limits of the original service.
const URI_CHARS_MAX: usize = 2048;
const HEADER_COUNT_MAX: usize = 50;
const HEADER_CHARS_MAX: usize = 4096;
const BODY_CHARS_MAX: usize = 8192;

const METHODS: [&str; 7] = ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"];

pub(super) fn read(
    request: &Object<'_>,
    declared_https: bool,
    reading: Reading<'_>,
    problems: &mut Problems,
) -> Option<HttpAction> {
    let uri = request.required_text("uri", problems);
    if let Some(uri) = uri {
        check_uri(request, uri, problems);
    }
    let method = request.required_text("method", problems);
    if let Some(method) = method
        && !METHODS.iter().any(|known| known.eq_ignore_ascii_case(method))
    {
        let message = format!("'{}' is not one of {}", shown(method), METHODS.join(", "));
        request.note("method", message, problems);
    }
    let headers = request.texts("headers", problems);
    check_headers(request, &headers, problems);
    let body = request.text("body", problems);
    if let Some(length) = body.map(|body| body.chars().count()).filter(|length| *length > BODY_CHARS_MAX) {
        let message = format!("must have at most {BODY_CHARS_MAX} characters, not {length}");
        request.note("body", message, problems);
    }
    let kept = match reading.kept_kind() {
        Some(ActionKind::Http(http)) => http.authentication.as_ref(),
        _ => None,
    };
    let authentication = authentication::read(request, kept, reading, problems);
    if authentication.is_some() && headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"))
    {
        let message = "cannot provide both an 'Authorization' header and an authentication";
        request.note("headers", message, problems);
    }
    Some(HttpAction {
        declared_https,
        uri: uri?.to_owned(),
        method: method?.to_owned(),
        headers,
        body: body.map(str::to_owned),
        authentication,
    })
}

fn check_uri(request: &Object<'_>, uri: &str, problems: &mut Problems) {
    let length = uri.chars().count();
    if length > URI_CHARS_MAX {
        let message = format!("must have at most {URI_CHARS_MAX} characters, not {length}");
        return request.note("uri", message, problems);
    }
    let usable = Url::parse(uri).is_ok_and(|url| {
        matches!(url.scheme(), "http" | "https") && url.host_str().is_some_and(|host| !host.is_empty())
    });
    if !usable {
        // The URI is not repeated in the message: its query may contain a key.
        request.note("uri", "must be an absolute http or https URI", problems);
    }
}

fn check_headers(request: &Object<'_>, headers: &[(String, String)], problems: &mut Problems) {
    if headers.len() > HEADER_COUNT_MAX {
        let message = format!("must be at most {HEADER_COUNT_MAX}, not {}", headers.len());
        request.note("headers", message, problems);
    }
    let length: usize =
        headers.iter().map(|(name, value)| name.chars().count() + value.chars().count()).sum();
    if length > HEADER_CHARS_MAX {
        let message = format!("must have at most {HEADER_CHARS_MAX} characters together, not {length}");
        request.note("headers", message, problems);
    }
    for (name, value) in headers {
        let token = !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte));
        if !token {
            request.note("headers", format!("'{}' is not a header name", shown(name)), problems);
        }
        if value.chars().any(|one| one.is_control() && one != '\t') {
            let message = format!("the value of '{}' has a control character", shown(name));
            request.note("headers", message, problems);
        }
    }
}

pub(super) fn render(http: &HttpAction) -> Json<'_> {
    let mut members = Members::new();
    members.insert("uri", http.uri.as_str().into());
    members.insert("method", http.method.as_str().into());
    if !http.headers.is_empty() {
        members.insert("headers", texts(&http.headers));
    }
    insert_text(&mut members, "body", http.body.as_deref());
    if let Some(authentication) = &http.authentication {
        members.insert("authentication", authentication::render(authentication));
    }
    members.into()
}
