//! The cookies of the web page.
//!
//! `__Host-` has browsers hold to it: such a cookie is set by this host alone, over https alone (or by the machine itself),
//! and is for all of its paths, so that no other host of the same domain can plant one. `HttpOnly` keeps both from scripts.
//! That of a session is `SameSite=Strict`: no request that another site causes carries it. That of a sign-in under way is
//! `Lax`, since it must come along when the provider sends somebody back.

use http::{HeaderMap, HeaderValue, header};
use punctual_model::access::SessionSecret;

/// The cookie of a session.
const SESSION: &str = "__Host-punctual-session";

/// The cookie of a sign-in under way.
const LOGIN: &str = "__Host-punctual-login";

/// Takes the cookie of a session away.
pub(crate) const SESSION_ENDED: &str =
    "__Host-punctual-session=; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=0";

/// Takes the cookie of a sign-in away.
pub(crate) const LOGIN_ENDED: &str =
    "__Host-punctual-login=; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=0";

/// Sets the cookie of a session. The browser forgets it when it is closed.
pub(crate) fn set_session(secret: &SessionSecret) -> String {
    format!("{SESSION}={}; Path=/; Secure; HttpOnly; SameSite=Strict", secret.expose())
}

/// Sets the cookie of a sign-in under way.
pub(crate) fn set_login(value: &str, seconds: i64) -> String {
    format!("{LOGIN}={value}; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age={seconds}")
}

/// What the cookie of a session holds; nothing that could be a secret if there are several.
pub(crate) fn session(headers: &HeaderMap) -> Option<&str> {
    find(headers, SESSION)
}

/// What the cookie of a sign-in under way holds; nothing that could be one if there are several.
pub(crate) fn login(headers: &HeaderMap) -> Option<&str> {
    find(headers, LOGIN)
}

/// The value of a cookie; empty if there are several of the name, which no browser sends.
fn find<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    // HTTP/2 may have a header for each cookie. Others on the same host, on any port, may have set some that are no text.
    let lines = headers.get_all(header::COOKIE).iter().map(HeaderValue::as_bytes);
    let pairs = lines.flat_map(|line| line.split(|byte| *byte == b';'));
    let pairs = pairs.filter_map(|pair| std::str::from_utf8(pair).ok()?.split_once('='));
    let mut values = pairs.filter(|(found, _)| found.trim() == name).map(|(_, value)| value.trim());
    let first = values.next()?;
    Some(if values.next().is_none() { first } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_found_by_its_name_among_others() {
        let check = |lines: &[&str], expected: Option<&str>| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(header::COOKIE, HeaderValue::from_bytes(line.as_bytes()).unwrap());
            }
            assert_eq!(session(&headers), expected, "{lines:?}");
        };
        check(&[], None);
        check(&["a=b"], None);
        check(&["__Host-punctual-session"], None);
        check(&["__Host-punctual-session=x"], Some("x"));
        check(&["a=b; __Host-punctual-session=x=y; c=d"], Some("x=y"));
        check(&["a=b", "__Host-punctual-session=x"], Some("x"));
        check(&["ä=ö; __Host-punctual-session=x; ü"], Some("x"));
        check(&["x__Host-punctual-session=x"], None);
        check(&["__host-punctual-session=x"], None);
        check(&["__Host-punctual-session=x; __Host-punctual-session=y"], Some(""));
        check(&["__Host-punctual-session=x", "__Host-punctual-session=x"], Some(""));
    }

    #[test]
    fn every_cookie_has_what_its_prefix_demands() {
        let (set, login) = (set_login("v", 600), LOGIN_ENDED);
        for cookie in [set.as_str(), login, SESSION_ENDED] {
            assert!(cookie.starts_with("__Host-"), "{cookie}");
            for part in ["; Path=/;", "; Secure", "; HttpOnly", "; SameSite="] {
                assert!(cookie.contains(part), "{cookie}");
            }
            assert!(!cookie.contains("Domain"), "{cookie}");
        }
    }
}
