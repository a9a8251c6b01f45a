//! Hops: the request to the action's URI, then one for each redirect.

use http::header::LOCATION;
use http::{HeaderMap, Method, StatusCode};
use punctual_model::HttpAction;
use url::Url;

use super::target_url::{TargetUrl, UserInfo};
use crate::failure::Failure;

/// One request of an attempt.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Hop {
    pub(crate) url: TargetUrl,
    pub(crate) method: Method,
    /// A redirect has turned the request into a GET without body and without headers that describe a body.
    pub(crate) without_body: bool,
    /// All hops so far went to the action's scheme, host and port. After a redirect to another origin no hop gets
    /// credentials any more, even if it goes back to the action's origin: the other host chose that request.
    pub(crate) credentials_allowed: bool,
}

impl Hop {
    /// Returns the action's own request, and the user information of its URI.
    pub(crate) fn first(action: &HttpAction) -> Result<(Self, Option<UserInfo>), Failure> {
        let (url, written) = TargetUrl::parse(&action.uri)?;
        let user_info = action.user_info.as_ref().map(|secret| UserInfo::of(secret.expose())).or(written);
        let method = method(&action.method)?;
        Ok((Self { url, method, without_body: false, credentials_allowed: true }, user_info))
    }

    /// Returns the next hop if an answer is a redirect.
    pub(crate) fn next(&self, status: StatusCode, headers: &HeaderMap) -> Result<Option<Self>, Failure> {
        let Some(location) = headers.get(LOCATION).filter(|_| redirects(status, headers)) else {
            return Ok(None);
        };
        let location = String::from_utf8_lossy(location.as_bytes());
        let url = self.url.join(&location)?;
        // Like browsers: 303 always continues with GET, 301 and 302 do so after a POST.
        let become_get = match status.as_u16() {
            303 => self.method != Method::HEAD && self.method != Method::GET,
            301 | 302 => self.method == Method::POST,
            _ => false,
        };
        let method = if become_get { Method::GET } else { self.method.clone() };
        let credentials_allowed = self.credentials_allowed && self.url.same_origin(&url);
        Ok(Some(Self { url, method, without_body: self.without_body || become_get, credentials_allowed }))
    }
}

/// Whether an answer with this head is a redirect.
pub(crate) fn redirects(status: StatusCode, headers: &HeaderMap) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) && headers.contains_key(LOCATION)
}

/// Returns the host for a message about a URI that can't be used.
pub(crate) fn host_of(uri: &str) -> String {
    Url::parse(uri.trim()).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default()
}

/// Reads a method. Known methods are recognized in any letter case; others are kept as written.
fn method(written: &str) -> Result<Method, Failure> {
    const KNOWN: [Method; 8] = [
        Method::GET,
        Method::POST,
        Method::PUT,
        Method::DELETE,
        Method::PATCH,
        Method::HEAD,
        Method::OPTIONS,
        Method::TRACE,
    ];
    let written = written.trim();
    if let Some(known) = KNOWN.into_iter().find(|known| known.as_str().eq_ignore_ascii_case(written)) {
        return Ok(known);
    }
    if written.eq_ignore_ascii_case("CONNECT") {
        return Err(Failure::unusable(
            "The method CONNECT asks for a tunnel, which an action has no use for",
        ));
    }
    Method::from_bytes(written.as_bytes()).map_err(|_| Failure::unusable("The method is not valid"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn action(method: &str, uri: &str) -> HttpAction {
        HttpAction {
            declared_https: false,
            uri: uri.into(),
            user_info: None,
            method: method.into(),
            headers: vec![],
            body: None,
            authentication: None,
        }
    }

    fn first(method: &str, uri: &str) -> Hop {
        Hop::first(&action(method, uri)).unwrap().0
    }

    fn redirected(hop: &Hop, status: u16, location: &str) -> Hop {
        let headers = HeaderMap::from_iter([(LOCATION, location.parse().unwrap())]);
        hop.next(StatusCode::from_u16(status).unwrap(), &headers).unwrap().unwrap()
    }

    #[test]
    fn a_redirect_changes_the_method_as_browsers_do() {
        let check = |method, status, expected: &str, without_body| {
            let hop = redirected(&first(method, "http://a/"), status, "/b");
            assert_eq!(
                (hop.method.as_str(), hop.without_body),
                (expected, without_body),
                "{method} {status}"
            );
        };
        for status in [301, 302] {
            check("POST", status, "GET", true);
            check("GET", status, "GET", false);
            check("HEAD", status, "HEAD", false);
            check("PUT", status, "PUT", false);
            check("DELETE", status, "DELETE", false);
        }
        check("POST", 303, "GET", true);
        check("PUT", 303, "GET", true);
        check("HEAD", 303, "HEAD", false);
        for status in [307, 308] {
            check("POST", status, "POST", false);
            check("PUT", status, "PUT", false);
        }
    }

    #[test]
    fn credentials_stay_at_the_scheme_host_and_port_of_the_action() {
        let check = |from, to, credentials_allowed| {
            assert_eq!(
                redirected(&first("GET", from), 302, to).credentials_allowed,
                credentials_allowed,
                "{from} -> {to}"
            );
        };
        check("https://a/", "/b", true);
        check("https://a/", "https://a:443/b", true);
        check("https://a/", "https://A/b", true);
        check("https://a/", "https://user:pw@a/b", true);
        check("https://a/", "http://a/", false);
        check("http://a/", "https://a/", false);
        check("https://a/", "https://a:444/", false);
        check("https://a/", "https://b.a/", false);
        check("https://a/", "//b/", false);
        check("http://127.0.0.1/", "http://0x7f.1/", true);
    }

    #[test]
    fn credentials_do_not_come_back_once_another_host_decided() {
        let away = redirected(&first("GET", "https://a/"), 302, "https://b/");
        assert!(!redirected(&away, 302, "https://a/").credentials_allowed);
    }

    #[test]
    fn only_an_answer_with_a_location_redirects() {
        let hop = first("GET", "http://a/");
        for status in [200, 300, 304, 305, 404] {
            let headers = HeaderMap::from_iter([(LOCATION, "/b".parse().unwrap())]);
            assert_eq!(hop.next(StatusCode::from_u16(status).unwrap(), &headers).unwrap(), None, "{status}");
        }
        assert_eq!(hop.next(StatusCode::FOUND, &HeaderMap::new()).unwrap(), None);
    }

    #[test]
    fn a_redirect_leads_to_http_and_https_only() {
        let hop = first("GET", "http://a/");
        for location in ["ftp://b/", "file:///etc/passwd", "javascript:1", "http://[::g]/"] {
            let headers = HeaderMap::from_iter([(LOCATION, location.parse().unwrap())]);
            assert!(hop.next(StatusCode::FOUND, &headers).is_err(), "{location}");
        }
    }

    #[test]
    fn methods_are_known_in_any_case_and_others_kept() {
        let check = |written, expected: Option<&str>| {
            let method = method(written).ok();
            assert_eq!(method.as_ref().map(Method::as_str), expected, "{written}");
        };
        check("get", Some("GET"));
        check("Patch", Some("PATCH"));
        check("PURGE", Some("PURGE"));
        check("purge", Some("purge"));
        check("connect", None);
        check("A B", None);
        check("", None);
    }

    #[test]
    fn a_number_as_a_host_is_an_address() {
        let check = |uri, expected: &str| assert_eq!(first("GET", uri).url.host(), expected, "{uri}");
        check("http://2130706433/", "127.0.0.1");
        check("http://0x7f.1/", "127.0.0.1");
        check("http://0177.0.0.1/", "127.0.0.1");
        check("http://[::ffff:a9fe:a9fe]/", "[::ffff:a9fe:a9fe]");
        check("http://bücher.example/", "xn--bcher-kva.example");
    }
}
