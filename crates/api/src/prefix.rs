//! The path of `public_url`, behind which a proxy may have this server.
//!
//! The proxy may leave that path away when it passes a request on, or not: both is understood, since no path of this server
//! begins like it ([`check_prefix`] sees to that).

use std::collections::BTreeSet;

use http::Uri;
use http::uri::PathAndQuery;
use punctual_model::Level;

use crate::page::first_segments;
use crate::route::ROUTES;

/// What stands in the place of a tenant in paths of signing in.
const TENANTS: [&str; 4] = ["adfs", "common", "consumers", "organizations"];

/// The path of a URL without the slash at its end; empty if it has none.
pub(crate) fn of_url(url: &str) -> &str {
    let path = url.split_once("://").and_then(|(_, rest)| rest.find('/').map(|at| &rest[at..]));
    path.unwrap_or_default().trim_end_matches('/')
}

/// The target of a request without the prefix, if it has it.
pub(crate) fn without(uri: &Uri, prefix: &str) -> Option<Uri> {
    if prefix.is_empty() {
        return None;
    }
    let rest = uri.path().strip_prefix(prefix)?;
    if !rest.is_empty() && !rest.starts_with('/') {
        return None;
    }
    let path = if rest.is_empty() { "/" } else { rest };
    let target = match uri.query() {
        Some(query) => PathAndQuery::try_from(format!("{path}?{query}")),
        None => PathAndQuery::try_from(path),
    };
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(target.ok()?);
    Uri::from_parts(parts).ok()
}

/// Says what is wrong with a path of `server.public_url`, if something is: it stands in the page, and must not be taken for a
/// path of this server's own.
pub fn check_prefix(public_url: &str) -> Result<(), String> {
    let prefix = of_url(public_url);
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    if !prefix.bytes().all(plain)
        || prefix.contains("//")
        || prefix.split('/').any(|part| part == "." || part == "..")
    {
        return Err(format!(
            "the path '{prefix}' of '{public_url}' has something else in it than letters, digits, '-', '_', '.', '~' and single slashes"
        ));
    }
    let Some(first) = prefix.split('/').nth(1) else { return Ok(()) };
    if taken().iter().any(|taken| taken.eq_ignore_ascii_case(first)) {
        return Err(format!(
            "'/{first}' is also the beginning of paths of this server itself: choose another path for '{public_url}'"
        ));
    }
    Ok(())
}

/// The first segments of the paths of this server.
fn taken() -> BTreeSet<&'static str> {
    let first = |route: &'static crate::Route| route.tail.split('/').next().unwrap_or_default();
    let operations = ROUTES.iter().filter(|route| route.level == Level::Everything).map(first);
    let operations = operations.filter(|segment| !segment.is_empty() && !segment.starts_with('{'));
    operations.chain(first_segments()).chain(TENANTS).chain(["subscriptions"]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_a_url_is_what_is_behind_its_host() {
        for (url, path) in [
            ("https://a.example", ""),
            ("https://a.example/", ""),
            ("https://a.example:8443/punctual/", "/punctual"),
            ("https://a.example/a/b", "/a/b"),
            ("", ""),
        ] {
            assert_eq!(of_url(url), path, "{url}");
        }
    }

    #[test]
    fn a_prefix_is_left_away_only_as_a_whole() {
        let check = |target: &str, expected: Option<&str>| {
            let found = without(&target.parse().unwrap(), "/tools/punctual").map(|uri| uri.to_string());
            assert_eq!(found.as_deref(), expected, "{target}");
        };
        check("/tools/punctual", Some("/"));
        check("/tools/punctual/", Some("/"));
        check("/tools/punctual?x=1", Some("/?x=1"));
        check("/tools/punctual/jobs?a=%2f&b", Some("/jobs?a=%2f&b"));
        check("http://a.example/tools/punctual/jobs", Some("http://a.example/jobs"));
        check("/tools/punctualjobs", None);
        check("/tools", None);
        check("/jobs", None);
        assert_eq!(without(&"/jobs".parse().unwrap(), ""), None);
    }

    #[test]
    fn a_path_that_could_be_one_of_ours_is_refused() {
        for fine in [
            "",
            "https://a.example",
            "https://a.example/",
            "https://a.example/punctual",
            "https://a.example/x/jobs",
        ] {
            assert_eq!(check_prefix(fine), Ok(()), "{fine}");
        }
        for taken in
            ["jobs", "Jobs", "subscriptions/x", "session", "assets", "adfs", "tokens", "healthz", "bulk"]
        {
            let refused = check_prefix(&format!("https://a.example/{taken}")).unwrap_err();
            assert!(refused.contains("choose another path"), "{refused}");
        }
        for odd in ["a\"b", "a b", "a<b>", "a//b", "a/../b", "jöb", "a?b", "a#b"] {
            assert!(check_prefix(&format!("https://a.example/{odd}")).is_err(), "{odd}");
        }
    }
}
