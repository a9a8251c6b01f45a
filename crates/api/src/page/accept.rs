//! Reads what a request accepts, and what it has already.

use http::header::{self, HeaderMap, HeaderName, HeaderValue};

/// Whether a header with a list of choices, such as `Accept`, names this one and does not refuse it with `q=0`. One that takes
/// anything names nothing: programs send that.
pub(super) fn takes(headers: &HeaderMap, name: &HeaderName, wanted: &str) -> bool {
    let lines = headers.get_all(name).iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',')).any(|choice| {
        let mut parts = choice.split(';').map(str::trim);
        let named = parts.next().is_some_and(|found| found.eq_ignore_ascii_case(wanted));
        let weight = parts.find_map(|part| {
            let (name, value) = part.split_once('=')?;
            name.trim().eq_ignore_ascii_case("q").then(|| value.trim())
        });
        named && weight.is_none_or(|weight| weight.parse::<f32>().is_ok_and(|weight| weight > 0.0))
    })
}

/// Whether the caller has what this tag is of.
pub(super) fn has_tag(headers: &HeaderMap, tag: &HeaderValue) -> bool {
    let lines = headers.get_all(header::IF_NONE_MATCH).iter().map(HeaderValue::as_bytes);
    let mut tags = lines.flat_map(|line| line.split(|byte| *byte == b',')).map(<[u8]>::trim_ascii);
    // A proxy that compresses makes a weak one of it.
    tags.any(|one| one.strip_prefix(b"W/").unwrap_or(one) == tag.as_bytes() || one == b"*")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: &HeaderName, lines: &[&str]) -> HeaderMap {
        lines.iter().map(|line| (name.clone(), HeaderValue::from_str(line).unwrap())).collect()
    }

    #[test]
    fn a_choice_is_taken_if_it_is_named_and_not_refused() {
        let check = |lines: &[&str], expected: bool| {
            let headers = headers(&header::ACCEPT_ENCODING, lines);
            assert_eq!(takes(&headers, &header::ACCEPT_ENCODING, "gzip"), expected, "{lines:?}");
        };
        check(&[], false);
        check(&[""], false);
        check(&["gzip"], true);
        check(&["GZIP"], true);
        check(&["br, gzip;q=0.5"], true);
        check(&["br", "zstd , gzip"], true);
        check(&["gzip; q=1.0"], true);
        check(&["gzip;q=0"], false);
        check(&["gzip; Q=0.000"], false);
        check(&["gzip;q=high"], false);
        check(&["xgzip"], false);
        check(&["*"], false);
    }

    #[test]
    fn a_tag_is_found_in_a_list_and_in_its_weak_form() {
        let check = |lines: &[&str], expected: bool| {
            let headers = headers(&header::IF_NONE_MATCH, lines);
            assert_eq!(has_tag(&headers, &HeaderValue::from_static("\"a\"")), expected, "{lines:?}");
        };
        check(&[], false);
        check(&["\"a\""], true);
        check(&["W/\"a\""], true);
        check(&["\"b\", \"a\""], true);
        check(&["\"b\"", "\"a\""], true);
        check(&["*"], true);
        check(&["\"b\""], false);
        check(&["a"], false);
    }
}
