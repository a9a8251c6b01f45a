//! HTTP requests. Credentials in headers and in the user information of the URI are rendered as a mask; a mask that is
//! sent back stands for what is stored at the same place, as long as scheme, host and port stay the same.

use punctual_model::{
    ActionKind, CredentialHeaders, HeaderText, HttpAction, MASK, Secret, split_user_info, with_user_info,
};
use url::Url;

use super::authentication::AUTHENTICATION;
use super::retry::RETRY_POLICY;
use super::{Reading, authentication, insert_text};
use crate::json::{Json, Members};
use crate::reader::{Object, Path, Problems, shown};
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
    let stored = match reading.stored_kind() {
        Some(ActionKind::Http(http)) => Some(http),
        _ => None,
    };
    let moved = stored.zip(uri).is_some_and(|(stored, uri)| origin(&stored.uri) != origin(uri));
    let masks = Masks { stored, moved };
    let (uri, user_info) = match uri.map(split_user_info) {
        Some((uri, user_info)) => (Some(uri), read_user_info(request, user_info, masks, problems)),
        None => (None, None),
    };
    let headers = read_headers(request, masks, reading, problems);
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
    let authentication = authentication::read(request, kept, moved, reading, problems);
    if authentication.is_some() && headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"))
    {
        let message = "cannot provide both an 'Authorization' header and an authentication";
        request.note("headers", message, problems);
    }
    Some(HttpAction {
        declared_https,
        uri: uri?,
        user_info,
        method: method?.to_owned(),
        headers,
        body: body.map(str::to_owned),
        authentication,
    })
}

/// What masks stand for.
#[derive(Clone, Copy)]
struct Masks<'a> {
    stored: Option<&'a HttpAction>,
    /// The request goes to another scheme, host or port than the stored one.
    moved: bool,
}

impl Masks<'_> {
    /// The stored value that a mask at this place stands for, or a problem.
    fn resolve(self, stored: Option<&str>, place: Path<'_>, problems: &mut Problems) -> Option<Secret> {
        match stored {
            Some(text) if !self.moved => Some(Secret::new(text)),
            Some(_) => {
                problems.add(place, authentication::sent_again("uri"));
                None
            }
            None => {
                let message =
                    format!("{MASK} stands for a stored value, and none is stored here: send the value");
                problems.add(place, message);
                None
            }
        }
    }
}

/// Scheme, host and port in canonical form; none if it is no URI.
fn origin(uri: &str) -> Option<(String, String, Option<u16>)> {
    let url = Url::parse(uri).ok()?;
    Some((url.scheme().to_owned(), url.host_str()?.to_owned(), url.port_or_known_default()))
}

fn read_user_info(
    request: &Object<'_>,
    given: Option<String>,
    masks: Masks<'_>,
    problems: &mut Problems,
) -> Option<Secret> {
    let given = given?;
    if given != MASK {
        return Some(Secret::new(given));
    }
    let stored = masks.stored.and_then(|stored| stored.user_info.as_ref());
    masks.resolve(stored.map(Secret::expose), request.at("uri"), problems)
}

fn read_headers(
    request: &Object<'_>,
    masks: Masks<'_>,
    reading: Reading<'_>,
    problems: &mut Problems,
) -> Vec<(String, HeaderText)> {
    let given = request.texts("headers", problems);
    let mut headers = Vec::with_capacity(given.len());
    for (name, value) in given {
        let stored = masks.stored.and_then(|stored| {
            stored.headers.iter().find(|(one, _)| one.eq_ignore_ascii_case(&name)).map(|(_, text)| text)
        });
        // A header that was one of the list when it was stored is masked as long as it is stored.
        let credential =
            reading.credential_headers.contains(&name) || matches!(stored, Some(HeaderText::Credential(_)));
        let text = if !credential {
            HeaderText::Plain(value)
        } else if value == MASK {
            let at = request.at("headers");
            let place = Path::Member(&at, &name);
            match masks.resolve(stored.map(HeaderText::expose), place, problems) {
                Some(secret) => HeaderText::Credential(secret),
                None => continue,
            }
        } else {
            HeaderText::Credential(Secret::new(value))
        };
        headers.push((name, text));
    }
    headers
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

fn check_headers(request: &Object<'_>, headers: &[(String, HeaderText)], problems: &mut Problems) {
    if headers.len() > HEADER_COUNT_MAX {
        let message = format!("must be at most {HEADER_COUNT_MAX}, not {}", headers.len());
        request.note("headers", message, problems);
    }
    let length: usize =
        headers.iter().map(|(name, text)| name.chars().count() + text.expose().chars().count()).sum();
    if length > HEADER_CHARS_MAX {
        let message = format!("must have at most {HEADER_CHARS_MAX} characters together, not {length}");
        request.note("headers", message, problems);
    }
    for (index, (name, text)) in headers.iter().enumerate() {
        let token = !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte));
        if !token {
            request.note("headers", format!("'{}' is not a header name", shown(name)), problems);
        }
        if text.expose().chars().any(|one| one.is_control() && one != '\t') {
            let message = format!("the value of '{}' has a control character", shown(name));
            request.note("headers", message, problems);
        }
        // Names are equal in every letter case. A target takes a second Host for an attack, and of two credentials it
        // is not clear which one a mask stands for.
        let once = matches!(text, HeaderText::Credential(_)) || name.eq_ignore_ascii_case("host");
        let before = &headers[..index];
        if once && let Some((same, _)) = before.iter().find(|(one, _)| one.eq_ignore_ascii_case(name)) {
            let message =
                format!("'{}' and '{}' are the same header: send one of them", shown(same), shown(name));
            request.note("headers", message, problems);
        }
    }
}

/// Whether a body sends a credential within a request, other than by its mask.
pub(crate) fn sends_credentials(members: &Members<'_>, credential_headers: &CredentialHeaders) -> bool {
    members.iter().any(|(name, value)| match value {
        Json::Text(uri) if name.eq_ignore_ascii_case("uri") => {
            split_user_info(uri).1.is_some_and(|user_info| user_info != MASK)
        }
        Json::Object(headers) if name.eq_ignore_ascii_case("headers") => headers
            .iter()
            .any(|(name, value)| credential_headers.contains(name) && value.as_str() != Some(MASK)),
        _ => false,
    })
}

pub(super) fn render(http: &HttpAction) -> Json<'_> {
    let mut members = Members::new();
    match &http.user_info {
        None => members.insert("uri", http.uri.as_str().into()),
        Some(_) => members.insert("uri", with_user_info(&http.uri, MASK).into()),
    }
    members.insert("method", http.method.as_str().into());
    if !http.headers.is_empty() {
        let mut headers = Members::new();
        for (name, text) in &http.headers {
            headers.insert(name.as_str(), text.shown().into());
        }
        members.insert("headers", headers.into());
    }
    insert_text(&mut members, "body", http.body.as_deref());
    if let Some(authentication) = &http.authentication {
        members.insert("authentication", authentication::render(authentication));
    }
    members.into()
}

/// The bytes of all secrets of a request.
pub(super) fn secret_bytes(http: &HttpAction) -> usize {
    let headers = http.headers.iter().map(|(_, text)| match text {
        HeaderText::Plain(_) => 0,
        HeaderText::Credential(secret) => secret.expose().len(),
    });
    let user_info = http.user_info.as_ref().map_or(0, |secret| secret.expose().len());
    let authentication = http.authentication.as_ref().map_or(0, authentication::secret_bytes);
    headers.sum::<usize>() + user_info + authentication
}
