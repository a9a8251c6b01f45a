//! URIs as users write them.

use std::net::Ipv4Addr;
use std::ops::Range;

/// The authority of a URI, if parsing would certainly not change it: a host in lower case whose last part is no
/// number, or an address of four plain numbers, and a port that is not the default of its scheme. Every write
/// and every firing of a job needs it, and parsing is expensive.
pub fn usual_authority(uri: &str) -> Option<&str> {
    let rest = uri.strip_prefix("https://").or_else(|| uri.strip_prefix("http://"))?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let (name, port) = authority.split_once(':').map_or((authority, None), |(name, port)| (name, Some(port)));
    let of_name =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.');
    let named = name.bytes().all(of_name) && !name.contains("xn--");
    let last = name.rsplit('.').next()?;
    let worded = last.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase());
    let of_port = |port: &str| {
        (1..=5).contains(&port.len())
            && port.bytes().all(|byte| byte.is_ascii_digit())
            && !port.starts_with('0')
            && !matches!(port, "80" | "443")
            && port.parse::<u16>().is_ok()
    };
    let address = || name.parse::<Ipv4Addr>().is_ok();
    (named && (worded || address()) && port.is_none_or(of_port)).then_some(authority)
}

/// Splits the user information off a URI: the URI without it, and the user information if there is any.
///
/// It is where a parser of URLs finds it: behind the scheme, its colon and any number of slashes, up to the last `@`
/// before the path. What can't be put together again is not taken apart.
pub fn split_user_info(uri: &str) -> (String, Option<String>) {
    let split = || {
        let authority = authority(uri)?;
        let length = uri[authority.clone()].rfind('@').filter(|length| *length > 0)?;
        let (begin, end) = (authority.start, authority.start + length);
        let (without, user_info) = (format!("{}{}", &uri[..begin], &uri[end + 1..]), &uri[begin..end]);
        (with_user_info(&without, user_info) == uri).then(|| (without, Some(user_info.to_owned())))
    };
    split().unwrap_or_else(|| (uri.to_owned(), None))
}

/// A URI with user information: the reverse of [`split_user_info`].
pub fn with_user_info(uri: &str, user_info: &str) -> String {
    let begin = authority(uri).map_or(0, |authority| authority.start);
    format!("{}{user_info}@{}", &uri[..begin], &uri[begin..])
}

/// Where the authority of a URI is, by the rules of the URL standard for http and https: white space that it ignores is
/// ignored, and a backslash is a slash.
fn authority(uri: &str) -> Option<Range<usize>> {
    let behind_scheme = &uri[uri.find(':')? + 1..];
    let rest = behind_scheme.trim_start_matches(['/', '\\', '\t', '\n', '\r']);
    let begin = uri.len() - rest.len();
    let length = rest.find(['/', '\\', '?', '#']).unwrap_or(rest.len());
    Some(begin..begin + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_information_is_split_off_and_put_back() {
        let check = |uri: &str, without: &str, user_info: Option<&str>| {
            let split = split_user_info(uri);
            assert_eq!((split.0.as_str(), split.1.as_deref()), (without, user_info), "{uri}");
            if let Some(user_info) = user_info {
                assert_eq!(with_user_info(without, user_info), uri);
            }
        };
        check("https://a/b@c", "https://a/b@c", None);
        check("https://a?b@c", "https://a?b@c", None);
        check("https://user:pw@a/b", "https://a/b", Some("user:pw"));
        check("https://us%40er:p@w@a:1/b@c", "https://a:1/b@c", Some("us%40er:p@w"));
        check("http:user@a", "http:a", Some("user"));
        check("http:\\\\user@a\\x", "http:\\\\a\\x", Some("user"));
        check(" HTTP://u@[::1]:8/", " HTTP://[::1]:8/", Some("u"));
        check("https://@a/", "https://@a/", None);
        check("https://u@/", "https://u@/", None);
        check("no uri", "no uri", None);
        check("", "", None);
    }

    #[test]
    fn what_parsing_would_change_is_not_usual() {
        for uri in [
            "http://A.b",
            "http://127.1",
            "http://a.0x7f",
            "http://a:80",
            "http://a:",
            "http://u@a",
            "http://",
            "http://[::1]",
        ] {
            assert_eq!(usual_authority(uri), None, "{uri}");
        }
        assert_eq!(usual_authority("https://a.b.c:8080/x?y#z"), Some("a.b.c:8080"));
    }
}
