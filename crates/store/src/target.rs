//! The target of an action, as a short text by which slots are counted.

use punctual_model::{ActionKind, Job, Target, usual_authority};
use url::Url;

/// The target of the step that the entry of a job is at.
pub(crate) fn of_job(job: &Job) -> String {
    let step = job.progress.entry.map_or(0, |entry| entry.step);
    let action = job.spec.action.step(step).unwrap_or(&job.spec.action);
    match action.kind.target() {
        Target::Uri(uri) => authority(uri),
        Target::Named { service, name } => format!("{service}:{}", name.to_lowercase()),
    }
}

/// Host and port of a URI in canonical form, so that one host is one target in every spelling: letter case,
/// forms of addresses and the default port make no difference.
fn authority(uri: &str) -> String {
    if let Some(authority) = usual_authority(uri) {
        return authority.to_owned();
    }
    let parsed = Url::parse(uri).ok();
    let host = parsed.as_ref().and_then(|url| Some((url.host_str()?, url.port())));
    match host {
        Some((host, Some(port))) => format!("{host}:{port}"),
        Some((host, None)) => host.to_owned(),
        // It can't be called, but it is counted, without what may be secret.
        None => {
            let rest = uri.split_once("://").map_or(uri, |(_, rest)| rest);
            let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
            authority.rsplit('@').next().unwrap_or_default().to_lowercase()
        }
    }
}

/// Whom an action calls, as lists show it: a host and port such as `example.com:443`, or a part of a service such as
/// `queue:account`.
pub fn shown_target(action: &ActionKind) -> String {
    shown(action.target())
}

/// A target as lists show and filter it: the host and port of a URI, also if the port is the usual one, or the service and the
/// name.
pub(crate) fn shown(target: Target<'_>) -> String {
    let uri = match target {
        Target::Uri(uri) => uri,
        Target::Named { service, name } => return format!("{service}:{}", name.to_lowercase()),
    };
    let parsed = Url::parse(uri).ok();
    let place = parsed.as_ref().and_then(|url| Some((url.host_str()?, url.port_or_known_default()?)));
    place.map_or_else(|| authority(uri), |(host, port)| format!("{host}:{port}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_one_target_however_it_is_spelled() {
        let check = |uri: &str, expected: &str| assert_eq!(authority(uri), expected, "{uri}");
        check("http://example.com/a", "example.com");
        check("http://Example.COM/a", "example.com");
        check("http://example.com:80?x", "example.com");
        check("https://example.com:443#x", "example.com");
        check("https://example.com:80", "example.com:80");
        check("https://user:pw@example.com:8443?x", "example.com:8443");
        check("https://example.com:08443/", "example.com:8443");
        check("https://example.com:8443/", "example.com:8443");
        check("http://example.com\\@other.example/", "example.com");
        check("http://ex%61mple.com/", "example.com");
        check("http://bücher.example/", "xn--bcher-kva.example");
        check("http://xn--bcher-kva.example/", "xn--bcher-kva.example");
        for spelling in [
            "127.0.0.1",
            "127.1",
            "127.0.1",
            "0x7f.1",
            "0177.0.0.1",
            "2130706433",
            "0x7F000001",
            "127.0.0.1.",
        ] {
            check(&format!("http://{spelling}/a"), "127.0.0.1");
            check(&format!("http://{spelling}:9000/a"), "127.0.0.1:9000");
        }
        for spelling in ["[::1]", "[0:0:0:0:0:0:0:1]", "[0::0001]"] {
            check(&format!("http://{spelling}:80/"), "[::1]");
        }
        check("http://a1.b2c/", "a1.b2c");
        check("nonsense", "nonsense");
        check("http://user:pw@Example.com:99999/x?y", "example.com:99999");
    }

    #[test]
    fn a_shown_target_has_its_port() {
        let check = |target: Target<'_>, expected: &str| assert_eq!(shown(target), expected);
        check(Target::Uri("https://Example.com/a?b"), "example.com:443");
        check(Target::Uri("http://user:pw@example.com/"), "example.com:80");
        check(Target::Uri("https://example.com:8443"), "example.com:8443");
        check(Target::Uri("nonsense"), "nonsense");
        check(Target::Named { service: "queue", name: "Account" }, "queue:account");
    }

    #[test]
    fn the_quick_way_tells_what_the_thorough_one_would() {
        for uri in [
            "http://example.com",
            "https://a.b.c:8080/x?y#z",
            "http://localhost:3000",
            "http://a-b.c1",
            "http://1.a/",
            "http://a..b/",
        ] {
            let quick = usual_authority(uri).unwrap_or_else(|| panic!("{uri}")).to_owned();
            let url = Url::parse(uri).unwrap();
            let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
            assert_eq!(quick, format!("{}{port}", url.host_str().unwrap()), "{uri}");
        }
    }
}
