//! URIs as users write them.

use std::net::Ipv4Addr;

/// The authority of a URI, if parsing would certainly not change it: a host in lower case whose last part is no
/// number, or an address of four plain numbers, and a port that is not the default of its scheme. Every write
/// and every firing of a job needs it, and parsing is expensive.
pub fn usual_authority(uri: &str) -> Option<&str> {
    let rest = uri.strip_prefix("https://").or_else(|| uri.strip_prefix("http://"))?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let (name, port) = authority.split_once(':').map_or((authority, None), |(name, port)| (name, Some(port)));
    let of_name =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.');
    let named = name.bytes().all(of_name) && !name.contains("xn--");
    let last = name.rsplit('.').next()?;
    let worded = last.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase());
    let of_port = |port: &str| {
        (1..=5).contains(&port.len())
            && port.bytes().all(|byte| byte.is_ascii_digit())
            && !port.starts_with('0')
            && !matches!(port, "80" | "443")
            && port.parse::<u16>().is_ok()
    };
    let address = || name.parse::<Ipv4Addr>().is_ok();
    (named && (worded || address()) && port.is_none_or(of_port)).then_some(authority)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_parsing_would_change_is_not_usual() {
        for uri in [
            "http://A.b",
            "http://127.1",
            "http://a.0x7f",
            "http://a:80",
            "http://a:",
            "http://u@a",
            "http://",
            "http://[::1]",
        ] {
            assert_eq!(usual_authority(uri), None, "{uri}");
        }
        assert_eq!(usual_authority("https://a.b.c:8080/x?y#z"), Some("a.b.c:8080"));
    }
}
