//! The address of a request: scheme, host and port, path and query, as they go over the wire.

use std::ops::Range;

use punctual_model::usual_authority;
use url::Url;

use crate::failure::Failure;

/// An address. Without user information and fragment.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Place {
    /// As the URL standard writes it.
    text: String,
    host: Range<usize>,
    origin_end: usize,
}

/// A user name and a password in a URI, as they were written.
pub(crate) struct UserInfo {
    pub(crate) username: String,
    pub(crate) password: String,
}

impl Place {
    /// The address that a user wrote.
    pub(crate) fn written(uri: &str) -> Result<(Self, Option<UserInfo>), Failure> {
        let uri = uri.trim();
        if let Some(plain) = Self::plain(uri) {
            return Ok((plain, None));
        }
        let url =
            Url::parse(uri).map_err(|error| Failure::unusable(format!("The URI is not valid: {error}")))?;
        let user_info = (!url.username().is_empty() || url.password().is_some()).then(|| UserInfo {
            username: url.username().to_owned(),
            password: url.password().unwrap_or_default().to_owned(),
        });
        Ok((Self::of(url)?, user_info))
    }

    /// Where a redirect leads from here.
    pub(crate) fn join(&self, location: &str) -> Result<Self, Failure> {
        let here = Url::parse(&self.text);
        let url = here.and_then(|here| here.join(location)).map_err(|error| {
            Failure::new("ProtocolError", format!("The answer redirects to an invalid URI: {error}"))
        })?;
        Self::of(url)
    }

    fn of(mut url: Url) -> Result<Self, Failure> {
        match url.scheme() {
            "http" | "https" => {}
            other => {
                let text = format!("The scheme '{other}' is not supported: use http or https");
                return Err(Failure::unusable(text));
            }
        }
        // These fail for URLs without a host only, which http and https URLs always have.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        url.set_fragment(None);
        let host = url[..url::Position::BeforeHost].len()..url[..url::Position::AfterHost].len();
        let origin_end = url[..url::Position::BeforePath].len();
        Ok(Self { text: url.into(), host, origin_end })
    }

    /// An address of which it is plain to see that parsing would not change it. Nearly all are, and parsing
    /// costs as much as all of the request's headers.
    fn plain(uri: &str) -> Option<Self> {
        let authority = usual_authority(uri)?;
        let start = uri.find("://")? + 3;
        let origin_end = start + authority.len();
        let path = &uri.as_bytes()[origin_end..];
        let stays = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~!$&()*+,;=:@/?%".contains(&byte);
        // A segment that begins with a dot, also if it is encoded, may lead elsewhere.
        let dotted = path.windows(2).any(|two| two == b"/.") || path.windows(3).any(is_encoded_dot);
        if path.first() != Some(&b'/') || dotted || !path.iter().all(|&byte| stays(byte)) {
            return None;
        }
        let host_length = authority.find(':').unwrap_or(authority.len());
        Some(Self { text: uri.to_owned(), host: start..start + host_length, origin_end })
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// The host as it is told in the history: without port, IPv6 in brackets.
    pub(crate) fn host(&self) -> &str {
        &self.text[self.host.clone()]
    }

    pub(crate) fn is_secure(&self) -> bool {
        self.text.starts_with("https:")
    }

    /// Scheme, host and port are the same.
    pub(crate) fn is_of_origin(&self, other: &Self) -> bool {
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
    fn what_is_plain_is_what_parsing_makes_of_it() {
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
                        let Some(plain) = Place::plain(&uri) else { continue };
                        let parsed = Place::of(Url::parse(&uri).unwrap()).unwrap();
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
    fn an_address_has_no_user_information_and_no_fragment() {
        let (place, user_info) = Place::written(" http://us%40er:p%3aw@Host:81/a%2db?q#f ").unwrap();
        assert_eq!((place.as_str(), place.host()), ("http://host:81/a%2db?q", "host"));
        let user_info = user_info.unwrap();
        assert_eq!((user_info.username.as_str(), user_info.password.as_str()), ("us%40er", "p%3aw"));
        assert_eq!(place.join("http://x:y@z/#f").unwrap().as_str(), "http://z/");
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        let place = |uri: &str| Place::written(uri).unwrap().0;
        let check = |one: &str, other: &str, same| {
            assert_eq!(place(one).is_of_origin(&place(other)), same, "{one} {other}");
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
