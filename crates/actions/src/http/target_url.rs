//! The URL of a request.

use std::ops::Range;

use punctual_model::usual_authority;
use url::Url;

use crate::failure::Failure;

/// A normalized http or https URL without user information and fragment.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TargetUrl {
    /// As the URL standard serializes it.
    text: String,
    host: Range<usize>,
    origin_end: usize,
}

/// The user name and the password of a URI, still percent-encoded.
pub(crate) struct UserInfo {
    pub(crate) username: String,
    pub(crate) password: String,
}

impl UserInfo {
    /// Takes user information apart as a parser of URLs would, which ignores tabs and line breaks.
    pub(crate) fn of(text: &str) -> Self {
        let text = text.replace(['\t', '\n', '\r'], "");
        let (username, password) = text.split_once(':').unwrap_or((&text, ""));
        Self { username: username.to_owned(), password: password.to_owned() }
    }
}

impl TargetUrl {
    /// Parses a URI that a user wrote.
    pub(crate) fn parse(uri: &str) -> Result<(Self, Option<UserInfo>), Failure> {
        let uri = uri.trim();
        if let Some(url) = Self::already_normal(uri) {
            return Ok((url, None));
        }
        let url =
            Url::parse(uri).map_err(|error| Failure::unusable(format!("The URI is not valid: {error}")))?;
        let user_info = (!url.username().is_empty() || url.password().is_some()).then(|| UserInfo {
            username: url.username().to_owned(),
            password: url.password().unwrap_or_default().to_owned(),
        });
        Ok((Self::from_url(url)?, user_info))
    }

    /// Resolves the location of a redirect.
    pub(crate) fn join(&self, location: &str) -> Result<Self, Failure> {
        let here = Url::parse(&self.text);
        let url = here.and_then(|here| here.join(location)).map_err(|error| {
            Failure::new("ProtocolError", format!("The answer redirects to an invalid URI: {error}"))
        })?;
        Self::from_url(url)
    }

    fn from_url(mut url: Url) -> Result<Self, Failure> {
        match url.scheme() {
            "http" | "https" => {}
            other => {
                let text = format!("The scheme '{other}' is not supported: use http or https");
                return Err(Failure::unusable(text));
            }
        }
        // These only fail for URLs without a host, and http and https URLs always have one.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        url.set_fragment(None);
        let host = url[..url::Position::BeforeHost].len()..url[..url::Position::AfterHost].len();
        let origin_end = url[..url::Position::BeforePath].len();
        Ok(Self { text: url.into(), host, origin_end })
    }

    /// Returns a URI as it is, if parsing would not change it. This is a fast path: it applies to nearly all URIs, and
    /// parsing costs as much as building all of the request's headers.
    fn already_normal(uri: &str) -> Option<Self> {
        let authority = usual_authority(uri)?;
        let start = uri.find("://")? + 3;
        let origin_end = start + authority.len();
        let path = &uri.as_bytes()[origin_end..];
        let unchanged = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~!$&()*+,;=:@/?%".contains(&byte);
        // Parsing resolves segments such as `.` and `..`, also if the dot is percent-encoded.
        let dotted = path.windows(2).any(|two| two == b"/.") || path.windows(3).any(is_encoded_dot);
        if path.first() != Some(&b'/') || dotted || !path.iter().all(|&byte| unchanged(byte)) {
            return None;
        }
        let host_length = authority.find(':').unwrap_or(authority.len());
        Some(Self { text: uri.to_owned(), host: start..start + host_length, origin_end })
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the host as the history shows it: without port, IPv6 in brackets.
    pub(crate) fn host(&self) -> &str {
        &self.text[self.host.clone()]
    }

    pub(crate) fn is_secure(&self) -> bool {
        self.text.starts_with("https:")
    }

    /// Whether scheme, host and port are the same.
    pub(crate) fn same_origin(&self, other: &Self) -> bool {
        self.text[..self.origin_end] == other.text[..other.origin_end]
    }
}

fn is_encoded_dot(three: &[u8]) -> bool {
    three.eq_ignore_ascii_case(b"%2e")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_on_the_fast_path_is_what_parsing_makes_of_it() {
        let schemes = ["http://", "https://", "HTTP://", "ftp://", "http:/", ""];
        let hosts =
            ["a.example", "A.example", "localhost", "10.0.0.1", "10.1", "[::1]", "u@a.example", "a_b.c"];
        let ports = ["", ":8080", ":80", ":443", ":", ":08", ":99999"];
        let rests = [
            "",
            "/",
            "/a/b.c",
            "/a?b=c&d=%20e",
            "?q",
            "/#f",
            "/a/./b",
            "/a/../b",
            "/.",
            "/a/%2E%2e/b",
            "/a b",
            "/\u{e4}",
            "/a'b",
            "/a?b'c",
            "/a\\b",
            "/a|b",
            "/a^b",
            "/[a]",
            "/{a}",
            "/a;b=c,d:@!$&()*+~_-",
            "/a%zz",
            "//a",
            "/a//b?c/d?e",
            "/...",
            "/a./b",
        ];
        let mut plain_count = 0;
        for scheme in schemes {
            for host in hosts {
                for port in ports {
                    for rest in rests {
                        let uri = format!("{scheme}{host}{port}{rest}");
                        let Some(plain) = TargetUrl::already_normal(&uri) else { continue };
                        let parsed = TargetUrl::from_url(Url::parse(&uri).unwrap()).unwrap();
                        assert_eq!(plain, parsed, "{uri}");
                        plain_count += 1;
                    }
                }
            }
        }
        let (scheme_count, host_count, port_count, rest_count) = (2, 3, 2, 8);
        assert_eq!(plain_count, scheme_count * host_count * port_count * rest_count);
    }

    #[test]
    fn a_url_has_no_user_information_and_no_fragment() {
        let (url, user_info) = TargetUrl::parse(" http://us%40er:p%3aw@Host:81/a%2db?q#f ").unwrap();
        assert_eq!((url.as_str(), url.host()), ("http://host:81/a%2db?q", "host"));
        let user_info = user_info.unwrap();
        assert_eq!((user_info.username.as_str(), user_info.password.as_str()), ("us%40er", "p%3aw"));
        assert_eq!(url.join("http://x:y@z/#f").unwrap().as_str(), "http://z/");
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        let url = |uri: &str| TargetUrl::parse(uri).unwrap().0;
        let check = |one: &str, other: &str, same| {
            assert_eq!(url(one).same_origin(&url(other)), same, "{one} {other}");
        };
        check("https://a/b?c", "https://A:443/", true);
        check("http://127.0.0.1/", "http://0x7f.1/x", true);
        check("http://a/", "http://a:80", true);
        check("http://a/", "https://a/", false);
        check("http://a/", "http://a:81/", false);
        check("http://a/", "http://a.b/", false);
        check("http://[::1]:8/", "http://[0:0::1]:8/x", true);
    }
}
