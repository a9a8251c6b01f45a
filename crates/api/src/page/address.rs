//! Which requests are for the web page, and which for the API.
//!
//! Both have addresses of their own, and some in common: `/`, `/jobs`, `/audit` and `/bulk/{id}` are places of the page that
//! people open and share, and operations that programs call. The rule, for GET and HEAD:
//!
//! 1. A file of the page is the page's. What begins like one and is none is gone.
//! 2. Whatever names an `api-version` is the API's, also in the address bar of a browser.
//! 3. A browser that opens an address, to show what is there, gets the page if the address is a place of it. That it does is
//!    said by `Sec-Fetch-Dest: document`, or, where the browser does not send this, by an `Accept` that names `text/html`.
//! 4. It also gets the page, with status 404, where the API has nothing either: the page says so in better words.
//! 5. Everything else is the API's.

use http::header::{self, HeaderMap, HeaderName};
use http::request::Parts;
use http::{Method, Uri};
use punctual_arm::Query;

use super::{HASHED, accept};
use crate::request::TARGET_BYTES_MAX;

/// The first segments of places of the page; whatever is below them is one, too.
const PLACES: [&str; 10] =
    ["", "audit", "bulk", "cluster", "collections", "import", "jobs", "settings", "signin", "timetable"];

const SEC_FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// What a request for the page is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted<'a> {
    /// A file.
    File(&'a str),
    /// A file that this build does not have.
    Gone,
    /// A place of the page.
    Place,
    /// Something that neither the page nor the API has.
    Nowhere,
}

/// What of the page a request wants; none if it is for the API. `known` says whether there is a file, `unknown` whether the API
/// has no such path.
pub(super) fn wanted(parts: &Parts, known: impl Fn(&str) -> bool, unknown: bool) -> Option<Wanted<'_>> {
    if parts.method != Method::GET && parts.method != Method::HEAD {
        return None;
    }
    let path = parts.uri.path();
    let path = path.strip_prefix('/').unwrap_or(path);
    if known(path) {
        return Some(Wanted::File(path));
    }
    if path.starts_with(HASHED) {
        return Some(Wanted::Gone);
    }
    if names_version(&parts.uri) || !opens(&parts.headers) {
        return None;
    }
    if is_place(path) {
        return Some(Wanted::Place);
    }
    unknown.then_some(Wanted::Nowhere)
}

/// Whether this is a place of the page.
fn is_place(path: &str) -> bool {
    PLACES.contains(&path.trim_start_matches('/').split('/').next().unwrap_or_default())
}

/// The first segments of everything that the page has.
pub(crate) fn first_segments() -> impl Iterator<Item = &'static str> {
    PLACES.into_iter().chain([HASHED.trim_end_matches('/')]).filter(|segment| !segment.is_empty())
}

fn names_version(uri: &Uri) -> bool {
    let query = uri.query().filter(|query| query.len() <= TARGET_BYTES_MAX).unwrap_or_default();
    Query::decode(query).get("api-version").is_some()
}

/// Whether a browser opens the address to show what is there.
fn opens(headers: &HeaderMap) -> bool {
    match headers.get(SEC_FETCH_DEST) {
        Some(destination) => destination == "document",
        None => accept::takes(headers, &header::ACCEPT, "text/html"),
    }
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    const BROWSER: &[(&str, &str)] = &[("accept", "text/html,application/xhtml+xml,*/*;q=0.8")];
    const DOCUMENT: &[(&str, &str)] = &[("accept", "text/html"), ("sec-fetch-dest", "document")];
    const SCRIPT: &[(&str, &str)] = &[("accept", "*/*"), ("sec-fetch-dest", "empty")];
    const FRAME: &[(&str, &str)] = &[("accept", "text/html"), ("sec-fetch-dest", "iframe")];
    const CURL: &[(&str, &str)] = &[("accept", "*/*")];
    const CLIENT: &[(&str, &str)] = &[("accept", "application/json")];

    #[track_caller]
    fn check(
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        unknown: bool,
        expected: Option<Wanted<'_>>,
    ) {
        let mut request = Request::builder().method(method).uri(target);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        let known = |path: &str| ["assets/a-1.js", "favicon.svg"].contains(&path);
        assert_eq!(wanted(&parts, known, unknown), expected, "{method} {target} {headers:?}");
    }

    #[test]
    fn a_browser_that_opens_a_place_gets_the_page() {
        for path in [
            "/",
            "/jobs",
            "/jobs/s/g/c/j",
            "/jobs/s/g/c/j/edit?x=1",
            "/collections/s/g/c",
            "/timetable?range=24h",
        ] {
            for browser in [BROWSER, DOCUMENT] {
                check("GET", path, browser, false, Some(Wanted::Place));
                check("HEAD", path, browser, false, Some(Wanted::Place));
                check("POST", path, browser, false, None);
            }
            for other in [SCRIPT, FRAME, CURL, CLIENT, &[]] {
                check("GET", path, other, false, None);
            }
        }
        check("GET", "/jobsx", DOCUMENT, false, None);
        check("GET", "/doctor", DOCUMENT, false, None);
        check("GET", "//jobs", DOCUMENT, false, Some(Wanted::Place));
    }

    #[test]
    fn whoever_names_an_api_version_is_for_the_api() {
        for headers in [BROWSER, DOCUMENT, CURL] {
            check("GET", "/jobs?api-version=2026-11-01", headers, false, None);
            check("GET", "/jobs?x=1&API-Version=2026-11-01", headers, false, None);
            check("GET", "/nowhere?api-version=2026-11-01", headers, true, None);
        }
    }

    #[test]
    fn files_are_for_whoever_asks() {
        for headers in [BROWSER, SCRIPT, CURL, CLIENT, &[]] {
            check("GET", "/assets/a-1.js", headers, true, Some(Wanted::File("assets/a-1.js")));
            check("HEAD", "/favicon.svg?api-version=x", headers, true, Some(Wanted::File("favicon.svg")));
            check("GET", "/assets/a-2.js", headers, true, Some(Wanted::Gone));
            check("PUT", "/assets/a-1.js", headers, true, None);
        }
    }

    #[test]
    fn what_is_nowhere_is_shown_as_such_by_the_page() {
        check("GET", "/nowhere", DOCUMENT, true, Some(Wanted::Nowhere));
        check("GET", "/nowhere", CURL, true, None);
        check("GET", "/doctor", DOCUMENT, false, None);
    }
}
