//! Where this server itself can be reached, so that jobs don't call it.

use std::net::SocketAddr;

use hyper::Uri;
use punctual_actions::OwnAddresses;

use crate::config::Config;
use crate::store::node_name;

/// The addresses of its listeners, and of the names by which callers reach it. The echo target is exempt.
pub(super) fn addresses(config: &Config, listeners: &[SocketAddr], echo: Option<SocketAddr>) -> OwnAddresses {
    let mut own = OwnAddresses::default();
    for bound in listeners {
        own.add_listener(*bound);
        for name in &config.server.hosts {
            own.add_name(name, bound.port());
        }
    }
    for (host, port) in names(&config.server.public_url, &config.server.hosts, listeners) {
        own.add_name(&host, port);
    }
    if let Some(echo) = echo {
        own.exempt(echo);
    }
    own
}

/// Where others reach this node itself, whatever is in front of it: its address, or the name of its host if it listens on all of
/// them.
pub(super) fn url(config: &Config, bound: SocketAddr, secure: bool) -> String {
    let scheme = if secure { "https" } else { "http" };
    if bound.ip().is_unspecified() {
        return format!("{scheme}://{}:{}", node_name(&config.cluster), bound.port());
    }
    format!("{scheme}://{bound}")
}

/// The ports of a proxy in front of the server, where no URL says which.
const PROXY_PORTS: [u16; 2] = [80, 443];

/// The names by which callers reach the server, with each port at which that may be.
fn names(public_url: &str, hosts: &[String], listeners: &[SocketAddr]) -> Vec<(String, u16)> {
    let public = host_of(public_url);
    let mut ports: Vec<u16> = listeners.iter().map(SocketAddr::port).chain(PROXY_PORTS).collect();
    ports.extend(public.as_ref().map(|(_, port)| *port));
    // What else listens on this machine is not this server.
    let named = hosts.iter().filter(|host| !host.eq_ignore_ascii_case("localhost"));
    let mut names: Vec<(String, u16)> =
        named.flat_map(|host| ports.iter().map(|port| (host.clone(), *port))).chain(public).collect();
    names.sort();
    names.dedup();
    names
}

/// The host and port of a URL.
pub(super) fn host_of(url: &str) -> Option<(String, u16)> {
    let uri: Uri = url.parse().ok()?;
    let port = uri.port_u16().unwrap_or(if uri.scheme_str() == Some("http") { 80 } else { 443 });
    Some((uri.host()?.to_owned(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_the_server_count_at_each_port_where_it_may_be_reached() {
        let listener = ["127.0.0.1:8380".parse().unwrap()];
        let hosts = ["a.example".to_owned(), "Localhost".to_owned()];
        let found = names("https://b.example:8443", &hosts, &listener);
        let found: Vec<(&str, u16)> = found.iter().map(|(host, port)| (host.as_str(), *port)).collect();
        let expected = [
            ("a.example", 80),
            ("a.example", 443),
            ("a.example", 8380),
            ("a.example", 8443),
            ("b.example", 8443),
        ];
        assert_eq!(found, expected);
        assert_eq!(names("", &[], &listener), []);
    }

    #[test]
    fn the_public_url_has_the_port_of_its_scheme() {
        let check = |url: &str, expected: Option<(&str, u16)>| {
            let found = host_of(url);
            assert_eq!(found.as_ref().map(|(host, port)| (host.as_str(), *port)), expected, "{url}");
        };
        check("https://scheduler.example", Some(("scheduler.example", 443)));
        check("http://scheduler.example/base", Some(("scheduler.example", 80)));
        check("https://[2001:db8::1]:8443", Some(("[2001:db8::1]", 8443)));
        check("", None);
    }
}
