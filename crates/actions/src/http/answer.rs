//! Formats an answer for the history.

use std::borrow::Cow;
use std::fmt::Write;

use http::{HeaderMap, HeaderName};

use super::status;
use crate::client::Answer;
use crate::redact::Redactor;

/// How much of a body is read (CONTRACT 17.1 #21). The rest is dropped.
pub(crate) const BODY_BYTES_MAX: usize = 2048;

/// How many characters of it are kept.
const BODY_CHARACTERS_MAX: usize = 1024;

/// How much of the headers is kept. A target may send up to 64 kilobytes of them.
const HEADERS_BYTES_MAX: usize = 8192;

impl Answer {
    /// Returns the text of CONTRACT 9.1.
    pub(crate) fn message(&self, host: &str, redactor: &Redactor) -> String {
        let mut text = String::with_capacity(256 + self.body.len());
        let status = status::name(self.status);
        // Writing to a string can't fail.
        let _ = write!(text, "Http Action - Response from host '{host}': '{status}' Response Headers: ");
        write_headers(&mut text, &self.headers, redactor);
        text.push_str(" Body: ");
        let body = decode(&self.body);
        // Redacting comes before cutting to what is kept. What was cut when it was read may have the beginning of a
        // secret at its end.
        let body = if self.body.len() < BODY_BYTES_MAX {
            redactor.redact(body)
        } else {
            redactor.redact_cut(body).into()
        };
        text.extend(body.chars().take(BODY_CHARACTERS_MAX).map(storable));
        text
    }
}

fn write_headers(text: &mut String, headers: &HeaderMap, redactor: &Redactor) {
    let limit = text.len() + HEADERS_BYTES_MAX;
    let mut read = 0;
    for name in headers.keys().filter(|name| !describes_content(name)) {
        let mut line = String::with_capacity(64);
        write_name(&mut line, name.as_str());
        for (index, value) in headers.get_all(name).iter().enumerate() {
            // Redacting makes a text shorter, but what is far more than can be kept is not searched for secrets.
            read += value.len();
            if read > 2 * HEADERS_BYTES_MAX {
                return;
            }
            line.push_str(if index == 0 { ": " } else { ", " });
            line.extend(redactor.redact(String::from_utf8_lossy(value.as_bytes())).chars().map(storable));
        }
        if text.len() + line.len() > limit {
            return;
        }
        text.push_str(&line);
        text.push_str("\r\n");
    }
}

/// .NET separates these content headers from the other headers, and the history contains only the others.
fn describes_content(name: &HeaderName) -> bool {
    matches!(
        name.as_str(),
        "allow"
            | "content-disposition"
            | "content-encoding"
            | "content-language"
            | "content-length"
            | "content-location"
            | "content-md5"
            | "content-range"
            | "content-type"
            | "expires"
            | "last-modified"
    )
}

/// Appends a header's name, which is in lower case here, in its usual spelling.
fn write_name(text: &mut String, name: &str) {
    let usual = match name {
        "etag" => "ETag",
        "www-authenticate" => "WWW-Authenticate",
        "te" => "TE",
        "p3p" => "P3P",
        "x-aspnet-version" => "X-AspNet-Version",
        "x-aspnetmvc-version" => "X-AspNetMvc-Version",
        "x-ua-compatible" => "X-UA-Compatible",
        "x-xss-protection" => "X-XSS-Protection",
        _ if name.starts_with("x-ms-") => name,
        _ => {
            let mut first = true;
            for letter in name.chars() {
                text.push(if first { letter.to_ascii_uppercase() } else { letter });
                first = letter == '-';
            }
            return;
        }
    };
    text.push_str(usual);
}

/// Decodes UTF-8; invalid bytes become the replacement character. A byte order mark is left out, and so is a
/// character that is cut off at the end.
fn decode(bytes: &[u8]) -> Cow<'_, str> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let whole = match std::str::from_utf8(bytes) {
        Ok(text) => return text.into(),
        Err(error) if error.error_len().is_none() => &bytes[..error.valid_up_to()],
        // There is an error before the end. If the last character is cut off, too, it becomes a replacement character.
        Err(_) => bytes,
    };
    String::from_utf8_lossy(whole)
}

/// Replaces NUL, which PostgreSQL can't store in a text.
fn storable(letter: char) -> char {
    if letter == '\0' { char::REPLACEMENT_CHARACTER } else { letter }
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::*;

    fn answer(status: u16, headers: &[(&'static str, &str)], body: &[u8]) -> Answer {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().unwrap());
        }
        Answer { status: StatusCode::from_u16(status).unwrap(), headers: map, body: body.to_vec() }
    }

    #[test]
    fn the_message_of_an_answer_is_the_recorded_one() {
        let headers = [("date", "Mon, 09 Nov 2015 20:33:59 GMT"), ("server", "Microsoft-IIS/8.5")];
        assert_eq!(
            answer(503, &headers, b"").message("www.bing.com", &Redactor::default()),
            "Http Action - Response from host 'www.bing.com': 'ServiceUnavailable' Response Headers: \
             Date: Mon, 09 Nov 2015 20:33:59 GMT\r\nServer: Microsoft-IIS/8.5\r\n Body: "
        );
    }

    #[test]
    fn content_headers_are_left_out_and_repeated_ones_joined() {
        let headers = [
            ("set-cookie", "a=1"),
            ("content-type", "text/html"),
            ("content-length", "2"),
            ("allow", "GET"),
            ("expires", "0"),
            ("last-modified", "x"),
            ("set-cookie", "b=2"),
            ("x-ms-request-id", "7"),
            ("etag", "e"),
            ("content-security-policy", "self"),
        ];
        assert_eq!(
            answer(200, &headers, b"ok").message("h", &Redactor::default()),
            "Http Action - Response from host 'h': 'OK' Response Headers: Set-Cookie: a=1, b=2\r\n\
             x-ms-request-id: 7\r\nETag: e\r\nContent-Security-Policy: self\r\n Body: ok"
        );
    }

    #[test]
    fn an_answer_without_headers_keeps_the_shape() {
        let message = answer(204, &[], b"").message("h", &Redactor::default());
        assert_eq!(message, "Http Action - Response from host 'h': 'NoContent' Response Headers:  Body: ");
    }

    #[test]
    fn a_thousand_and_twenty_four_characters_are_kept() {
        let kept = |body: &[u8]| {
            let message = answer(200, &[], body).message("h", &Redactor::default());
            message.split_once("Body: ").unwrap().1.to_owned()
        };
        assert_eq!(kept(&[b'x'; 2048]).len(), 1024);
        assert_eq!(kept("ş".repeat(1024).as_bytes()), "ş".repeat(1024));
        assert_eq!(kept(&"€".repeat(1000).as_bytes()[..2048]), "€".repeat(682), "the cut letter is left out");
        assert_eq!(kept(b"\xef\xbb\xbfmark"), "mark");
        assert_eq!(kept(b"a\xffb\0c"), "a\u{fffd}b\u{fffd}c");
    }

    #[test]
    fn headers_are_bounded_by_whole_lines() {
        let value = "v".repeat(3000);
        let headers = [("a", value.as_str()), ("b", &value), ("c", &value), ("d", "short")];
        let message = answer(200, &headers, b"body").message("h", &Redactor::default());
        assert!(message.len() < HEADERS_BYTES_MAX + 200, "{}", message.len());
        assert!(message.contains("\r\nB: v") && !message.contains("C: v"));
        assert!(message.ends_with("\r\n Body: body"));
    }

    #[test]
    fn a_secret_at_the_edge_of_what_is_read_is_not_kept() {
        let secret = "0123456789abcdef".repeat(16);
        let mut redactor = Redactor::default();
        redactor.add(&secret);
        // Redacting what comes before makes room for the edge.
        let whole = format!("{}{}", secret.repeat(7), secret);
        for cut in 1..secret.len() {
            let body = format!("{}{}", "x".repeat(cut), whole);
            let message = answer(200, &[], &body.as_bytes()[..BODY_BYTES_MAX]).message("h", &redactor);
            assert!(!message.contains("0123"), "{cut}: {message}");
        }
    }

    #[test]
    fn an_echoed_secret_is_not_kept() {
        let mut redactor = Redactor::default();
        redactor.add("hunter22");
        let body = format!("{}hunter22", "x".repeat(1020));
        let message = answer(200, &[("x-echo", "got hunter22")], body.as_bytes()).message("h", &redactor);
        assert!(!message.contains("hunt"), "{message}");
        assert!(message.contains("X-Echo: got ***\r\n"));
    }
}
