//! The headers `Host`, `Origin` and `Sec-Fetch-Site`: a name of somebody else and a page of another site reach nothing.
//!
//! The input is a line for each, and one that is not empty if something is to be changed. An empty line is a header that is
//! not sent.

use std::net::{Ipv4Addr, Ipv6Addr};

use axum::body::Body;
use http::{HeaderValue, Request, header};
use punctual_api::AccessMode;
use url::Url;

use crate::server::Server;

thread_local! {
    static SERVER: Server = Server::start(AccessMode::Off);
}

pub(crate) fn run(bytes: &[u8]) {
    let mut lines = bytes.split(|byte| *byte == b'\n');
    let mut line = || lines.next().filter(|line| !line.is_empty()).map(HeaderValue::from_bytes).transpose();
    let (Ok(host), Ok(origin), Ok(site), Ok(changes)) = (line(), line(), line(), line()) else { return };
    let changes = changes.is_some();
    let request = if changes {
        Request::put("/subscriptions/s/resourceGroups/g?api-version=1")
    } else {
        Request::get("/tenants?api-version=1")
    };
    let headers = [(header::HOST.as_str(), &host), ("origin", &origin), ("sec-fetch-site", &site)];
    let request = headers.into_iter().fold(request, |request, (name, value)| match value {
        Some(value) => request.header(name, value),
        None => request,
    });
    let body = if changes { Body::from(r#"{"location": "West US"}"#) } else { Body::empty() };
    let status = SERVER.with(|server| server.status(request.body(body).expect("it is a request")));
    assert!([200, 201, 400, 403, 421].contains(&status), "{status}: {host:?} {origin:?} {site:?}");
    let served = status < 300;
    let authority = host.as_ref().and_then(|host| host.to_str().ok()).and_then(authority);
    let ours = authority.as_ref().is_some_and(|(name, _)| is_ours(name));
    assert!(!served || ours, "{host:?} is served");
    let other_site = site.as_ref().is_some_and(|site| site != "none" && site != "same-origin");
    assert!(!(served && changes && other_site), "{site:?} changes something");
    match (&origin, authority) {
        (None, _) if ours && !(changes && other_site) => assert!(served, "{status}: {host:?} {site:?}"),
        (Some(origin), Some((name, port))) if served && origin != "null" => {
            let origin = origin.to_str().expect("what is served is a text");
            // No browser sends what is no URL.
            let Ok(url) = Url::parse(origin) else { return };
            let usual = if url.scheme() == "https" { 443 } else { 80 };
            let own = url.port_or_known_default() == Some(port.unwrap_or(usual)) && same(&url, &name);
            let public = url.scheme() == "https" && url.port().is_none() && same(&url, "public.example");
            assert!(own || public, "{origin} is taken for {name}:{port:?}");
        }
        (Some(origin), _) if served => {
            assert!(origin == "null" && site.is_some_and(|site| site == "same-origin"), "{origin:?}");
        }
        _ => {}
    }
}

fn same(url: &Url, name: &str) -> bool {
    let found = url.host_str().unwrap_or_default().trim_end_matches('.').to_lowercase();
    let literal = name.parse::<Ipv6Addr>().ok().map(|ip| format!("[{ip}]"));
    found == literal.as_deref().unwrap_or(name) || is_same_address(&found, name)
}

/// Two spellings of one address, such as one of IPv4 within IPv6.
fn is_same_address(one: &str, other: &str) -> bool {
    let read =
        |text: &str| text.trim_matches(['[', ']']).parse::<std::net::IpAddr>().map(|ip| ip.to_canonical());
    read(one).is_ok_and(|ip| read(other) == Ok(ip))
}

/// The name and the port of a Host header, told in other words than the server's own.
fn authority(text: &str) -> Option<(String, Option<u16>)> {
    let (name, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (literal, rest) = rest.split_once(']')?;
            let (address, zone) = literal.split_once('%').unwrap_or((literal, ""));
            let ip: Ipv6Addr = address.parse().ok()?;
            if zone.contains(|one: char| !one.is_ascii_alphanumeric() && !"-_.~%".contains(one)) {
                return None;
            }
            (ip.to_string(), rest.strip_prefix(':').or(rest.is_empty().then_some(""))?)
        }
        None => {
            let (name, port) = text.split_once(':').unwrap_or((text, ""));
            (name.strip_suffix('.').unwrap_or(name).to_lowercase(), port)
        }
    };
    if !port.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let port = if port.is_empty() { None } else { Some(port.parse().ok()?) };
    Some((name, port))
}

fn is_ours(name: &str) -> bool {
    let wild = name.strip_suffix(".wild.example").is_some_and(|label| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        (1..=63).contains(&label.len()) && label.bytes().all(plain)
    });
    let literal = name.parse::<Ipv4Addr>().is_ok() || name.parse::<Ipv6Addr>().is_ok();
    literal || wild || name == "localhost" || name == "scheduler.example.com"
}
