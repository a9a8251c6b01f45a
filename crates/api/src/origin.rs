//! Whether a request comes from a page of another site, in the browser of somebody who can reach this server.
//!
//! Browsers say so themselves, and pages can't make them say something else: by `Sec-Fetch-Site` where the connection
//! counts as trustworthy (TLS, or the machine itself), and by `Origin` on whatever may change something. Clients that
//! are no browsers send neither.

use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use punctual_arm::ApiError;

use crate::host::Authority;
use crate::state::Settings;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Refuses what a page of another site asks for: everything with a foreign `Origin`, and what may change something also
/// where `Sec-Fetch-Site` says that another site has sent it. A link that somebody follows to this server is such a
/// request, too, and changes nothing.
pub(crate) fn check(
    parts: &Parts,
    addressed: Option<&Authority>,
    settings: &Settings,
) -> Result<(), ApiError> {
    let reads = parts.method == Method::GET || parts.method == Method::HEAD;
    let site = Site::of(&parts.headers);
    if site == Site::Other && !reads {
        return Err(ApiError::cross_origin());
    }
    let mut origins = parts.headers.get_all(header::ORIGIN).iter();
    let Some(origin) = origins.next() else { return Ok(()) };
    // A page of ours that hides where it is sends "null", and so do pages of everybody.
    let hidden = origin == "null" && site == Site::Same;
    let own = || origin.to_str().is_ok_and(|origin| is_own(origin, addressed, settings));
    if origins.next().is_none() && (hidden || own()) { Ok(()) } else { Err(ApiError::cross_origin()) }
}

/// What our own page sends along with whatever changes something. Another site's page can't: a browser asks us first
/// whether it may, and we never say so.
pub(crate) const X_PUNCTUAL_PAGE: HeaderName = HeaderName::from_static("x-punctual-page");

/// Refuses a request with the cookie of a session, unless it shows that a page of this server sent it. It must have
/// passed [`check`], so that an `Origin` is ours if there is one.
///
/// Browsers say where a request comes from by `Sec-Fetch-Site`. Those that don't send it say so by `Origin` when something
/// may be changed; a request that only reads has the header of our page then. So that a request is never served for what it
/// lacks.
pub(crate) fn check_page(method: &Method, headers: &HeaderMap) -> Result<(), ApiError> {
    let marked = headers.contains_key(X_PUNCTUAL_PAGE);
    let own_origin = headers.get(header::ORIGIN).is_some_and(|origin| origin != "null");
    let reads = method == Method::GET || method == Method::HEAD;
    let ours = match (Site::of(headers), reads) {
        // Somebody wrote the address, or has a bookmark.
        (Site::Same | Site::User, true) => true,
        (Site::Same, false) => marked,
        (Site::Unknown, true) => marked || own_origin,
        (Site::Unknown, false) => marked && own_origin,
        (Site::User, false) | (Site::Other, _) => false,
    };
    if ours { Ok(()) } else { Err(ApiError::not_our_page(X_PUNCTUAL_PAGE.as_str())) }
}

/// Whether the browser says that another site has sent somebody here.
pub(crate) fn from_elsewhere(headers: &HeaderMap) -> bool {
    Site::of(headers) == Site::Other
}

/// Where the browser says that a request comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Site {
    /// It does not say.
    Unknown,
    /// No page: the user did it.
    User,
    /// A page of this server.
    Same,
    /// Another page. One of the same domain is another, too.
    Other,
}

impl Site {
    fn of(headers: &HeaderMap) -> Self {
        let mut values = headers.get_all(SEC_FETCH_SITE).iter().map(HeaderValue::as_bytes);
        match (values.next(), values.next()) {
            (None, _) => Self::Unknown,
            (Some(b"none"), None) => Self::User,
            (Some(b"same-origin"), None) => Self::Same,
            // No browser sends two.
            (Some(_), _) => Self::Other,
        }
    }
}

/// Whether an origin is that of this server: the one that the request is addressed to, or that of `public_url`, which a
/// proxy may hide from us. A port that is not written is the usual one of the scheme.
fn is_own(origin: &str, addressed: Option<&Authority>, settings: &Settings) -> bool {
    let Some((scheme, found)) = Authority::of_url(origin) else { return false };
    let usual = match scheme {
        "http" => 80,
        "https" => 443,
        _ => return false,
    };
    let port = |authority: &Authority| authority.port.unwrap_or(usual);
    let same = |other: &Authority| other.host == found.host && port(other) == port(&found);
    // Without TLS of our own a proxy may have it.
    let reached = (scheme == "https" || !settings.secure) && addressed.is_some_and(same);
    let public = settings.public_url.as_deref().and_then(Authority::of_url);
    reached || public.is_some_and(|(public_scheme, public)| public_scheme == scheme && same(&public))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_ours_if_scheme_host_and_port_are() {
        let check = |origin: &str, host: &str, secure: bool, public_url: Option<&str>, expected: bool| {
            let settings =
                Settings { secure, public_url: public_url.map(str::to_owned), ..Settings::default() };
            let addressed = Authority::parse(host);
            let own = is_own(origin, addressed.as_ref(), &settings);
            assert_eq!(own, expected, "{origin} at {host}, secure: {secure}, {public_url:?}");
        };
        check("http://localhost:8380", "localhost:8380", false, None, true);
        check("http://LOCALHOST.:8380", "localhost:8380", false, None, true);
        check("http://localhost", "localhost:80", false, None, true);
        check("http://localhost:80", "localhost", false, None, true);
        check("https://a.example", "a.example:443", true, None, true);
        check("https://[::1]:8380", "[0:0::1]:8380", true, None, true);
        check("https://a.example", "a.example", false, None, true);
        check("http://a.example", "a.example", true, None, false);
        check("http://localhost:8381", "localhost:8380", false, None, false);
        check("http://localhost", "localhost:443", false, None, false);
        check("http://evil.example", "localhost", false, None, false);
        check("http://localhost.evil.example:8380", "localhost:8380", false, None, false);
        check("http://localhost:8380@evil.example", "localhost:8380", false, None, false);
        check("chrome-extension://localhost:8380", "localhost:8380", false, None, false);
        check("null", "localhost", false, None, false);
        check("localhost", "localhost", false, None, false);
        check("", "localhost", false, None, false);
        let public = Some("https://a.example/base");
        check("https://a.example", "10.0.0.7:8380", false, public, true);
        check("https://a.example:443", "10.0.0.7:8380", false, public, true);
        check("http://a.example", "10.0.0.7:8380", false, public, false);
        check("https://a.example:8443", "10.0.0.7:8380", false, public, false);
    }
}
