//! Reads shared access signatures as users paste them.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// How many times a token may be percent-encoded.
const LAYERS_MAX: usize = 4;

/// Returns the query of a token: without anything before a question mark, and with each value percent-encoded exactly
/// once. No value of a signature contains a percent sign, so decoding until nothing changes is safe.
pub(crate) fn query(token: &str) -> String {
    let token = token.trim().trim_matches('"');
    let token = token.rsplit('?').next().unwrap_or(token);
    let pairs = token.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        format!("{}={}", encode_once(name), encode_once(value))
    });
    pairs.collect::<Vec<_>>().join("&")
}

fn encode_once(text: &str) -> String {
    let mut plain = Cow::Borrowed(text);
    for _ in 0..LAYERS_MAX {
        let decoded = percent_decode_str(&plain).decode_utf8_lossy().into_owned();
        if decoded == plain {
            break;
        }
        plain = decoded.into();
    }
    utf8_percent_encode(&plain, UNRESERVED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_encoded_once_however_it_was_given() {
        let expected = "sv=2019-02-02&se=2030-01-01T00%3A00%3A00Z&sig=a%2Bb%2Fc%3D";
        let check = |token: &str| assert_eq!(query(token), expected, "{token}");
        check("sv=2019-02-02&se=2030-01-01T00:00:00Z&sig=a+b/c=");
        check("sv=2019-02-02&se=2030-01-01T00%3A00%3A00Z&sig=a%2Bb%2Fc%3D");
        check("?sv=2019-02-02&se=2030-01-01T00:00:00Z&sig=a%2bb%2fc%3d");
        check("??sv=2019-02-02&se=2030-01-01T00:00:00Z&sig=a+b/c=");
        check("s?sv=2019-02-02&se=2030-01-01T00:00:00Z&sig=a+b/c=");
        check(" &sv=2019-02-02&&se=2030-01-01T00:00:00Z&sig=a%252Bb%252Fc%253D \n");
        check("https://a.queue.core.windows.net/?sv=2019-02-02&se=2030-01-01T00:00:00Z&sig=a+b/c=");
    }

    #[test]
    fn a_token_can_not_reach_beyond_the_query() {
        assert_eq!(query("sig=a#b c/../d"), "sig=a%23b%20c%2F..%2Fd");
        assert_eq!(query("ThIsiSmYtOkeN"), "ThIsiSmYtOkeN=");
    }
}
