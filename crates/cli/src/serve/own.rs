//! Where this server itself can be reached, so that jobs don't call it.

use std::net::SocketAddr;

use hyper::Uri;
use punctual_actions::OwnAddresses;

use crate::config::Config;

/// The addresses of its listeners, and of the names by which callers reach it. The echo target is exempt.
pub(super) fn addresses(config: &Config, listeners: &[SocketAddr], echo: Option<SocketAddr>) -> OwnAddresses {
    let mut own = OwnAddresses::default();
    for bound in listeners {
        own.add_listener(*bound);
        for name in &config.server.hosts {
            own.add_name(name, bound.port());
        }
    }
    if let Some((host, port)) = public_host(&config.server.public_url) {
        own.add_name(&host, port);
    }
    if let Some(echo) = echo {
        own.exempt(echo);
    }
    own
}

/// The host and port of the public URL.
fn public_host(url: &str) -> Option<(String, u16)> {
    let uri: Uri = url.parse().ok()?;
    let port = uri.port_u16().unwrap_or(if uri.scheme_str() == Some("http") { 80 } else { 443 });
    Some((uri.host()?.to_owned(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_public_url_has_the_port_of_its_scheme() {
        let check = |url: &str, expected: Option<(&str, u16)>| {
            let found = public_host(url);
            assert_eq!(found.as_ref().map(|(host, port)| (host.as_str(), *port)), expected, "{url}");
        };
        check("https://scheduler.example", Some(("scheduler.example", 443)));
        check("http://scheduler.example/base", Some(("scheduler.example", 80)));
        check("https://[2001:db8::1]:8443", Some(("[2001:db8::1]", 8443)));
        check("", None);
    }
}
