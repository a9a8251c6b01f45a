//! The query of a request: decoded once, names compared without regard to letter case.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// The characters that are escaped in our own queries.
const ESCAPED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b'$').remove(b':');

/// The parameters of a request, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// Decodes the text after the question mark. Text that is not UTF-8 is replaced, not refused: no known
    /// parameter needs it.
    pub fn decode(raw: &str) -> Self {
        let pairs = raw.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(name), decode(value))
        });
        Self(pairs.collect())
    }

    /// A parameter by its name in any letter case; the first, if there are several.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(one, _)| one.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// How often a parameter is given.
    pub fn count(&self, name: &str) -> usize {
        self.0.iter().filter(|(one, _)| one.eq_ignore_ascii_case(name)).count()
    }

    /// The link to the next page: `url` (absolute, without a query) with these parameters, in which the
    /// parameter that says where a page begins is replaced.
    pub fn next_link(&self, url: &str, place_name: &str, place: &str) -> String {
        let others = self.0.iter().filter(|(name, _)| {
            !["$skip", "$skiptoken"].iter().any(|place| place.eq_ignore_ascii_case(name))
        });
        let pairs = others.map(|(name, value)| (name.as_str(), value.as_str())).chain([(place_name, place)]);
        let encoded: Vec<_> = pairs
            .map(|(name, value)| {
                format!("{}={}", utf8_percent_encode(name, ESCAPED), utf8_percent_encode(value, ESCAPED))
            })
            .collect();
        format!("{url}?{}", encoded.join("&"))
    }
}

fn decode(text: &str) -> String {
    let text: Cow<'_, str> = if text.contains('+') { text.replace('+', " ").into() } else { text.into() };
    percent_decode_str(&text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded_and_found_in_any_case() {
        let query = Query::decode("$filter=state%20eq+Disabled&$top=5&API-Version=2016-03-01&&flag");
        let check = |name, expected: Option<&str>| assert_eq!(query.get(name), expected, "{name}");
        check("$filter", Some("state eq Disabled"));
        check("$TOP", Some("5"));
        check("api-version", Some("2016-03-01"));
        check("flag", Some(""));
        check("$skip", None);
    }

    #[test]
    fn next_link_keeps_everything_but_the_place() {
        let query =
            Query::decode("api-version=2016-03-01&$filter=status%20eq%20Failed&$skip=7&$SkipToken=old");
        assert_eq!(
            query.next_link("https://h/x/history", "$skiptoken", "new"),
            "https://h/x/history?api-version=2016-03-01&$filter=status%20eq%20Failed&$skiptoken=new"
        );
    }
}
