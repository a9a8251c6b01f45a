//! What a server prints when it starts.

use std::borrow::Cow;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

use jiff::Timestamp;

use super::tls::{Name, Tls};
use crate::config::{Config, Role};

/// Prints it. If nobody reads it any more, the server goes on.
pub(super) fn print(
    config: &Config,
    bound: SocketAddr,
    echo: Option<SocketAddr>,
    tls: Option<&Tls>,
    now: Timestamp,
    asked: bool,
) {
    let _ = write(&mut std::io::stdout().lock(), config, bound, echo, tls, now, asked);
}

fn write(
    output: &mut impl Write,
    config: &Config,
    bound: SocketAddr,
    echo: Option<SocketAddr>,
    tls: Option<&Tls>,
    now: Timestamp,
    asked: bool,
) -> io::Result<()> {
    writeln!(
        output,
        "Punctual {} listens on {}://{bound}, data in {}",
        env!("CARGO_PKG_VERSION"),
        if tls.is_some() { "https" } else { "http" },
        match &config.store.url {
            // It shows no password.
            Some(url) => url.to_string(),
            None => config.data.dir.display().to_string(),
        }
    )?;
    if config.clock.start.is_some() || (config.clock.speed - 1.0).abs() > f64::EPSILON {
        writeln!(
            output,
            "*** VIRTUAL CLOCK: the schedule's time is {now}, {} times as fast as real time ***",
            config.clock.speed
        )?;
    }
    let mut curl = match tls {
        None => Curl { base: format!("http://{}", local(bound)), options: String::new() },
        Some(tls) => Curl::secure(local(bound), &tls.names, &tls.certificate_file),
    };
    if config.server.page && config.server.role != Role::Runner {
        let public = config.server.public_url.trim_end_matches('/');
        let base = if public.is_empty() { curl.base.as_str() } else { public };
        writeln!(output, "The web page is at {base}/")?;
    }
    if asked {
        curl.options += "-H \"Authorization: Bearer $PUNCTUAL_TOKEN\" ";
        writeln!(
            output,
            "Callers need a token, made by `punctual token create`; here it is in PUNCTUAL_TOKEN"
        )?;
    }
    match config.server.role {
        Role::All => {}
        Role::Api => writeln!(output, "Role api: nothing fires")?,
        // It serves no API for jobs, so nobody is told how to create one.
        Role::Runner => {
            writeln!(output, "Role runner: only health is served, at {}/healthz", curl.base)?;
            return output.flush();
        }
    }
    match echo {
        Some(echo) => {
            writeln!(output, "Create a first job, which calls the echo target on {echo}:")?;
            writeln!(output, "  {}", curl.first_job(&format!("http://{echo}/hello")))?;
        }
        None => {
            writeln!(output, "Create a first job:\n  {}", curl.first_job("https://example.com/"))?;
        }
    }
    output.flush()
}

/// How curl reaches this server from the same machine.
struct Curl {
    /// The beginning of every URL.
    base: String,
    /// What comes before the URL, with a blank at the end.
    options: String,
}

impl Curl {
    /// Over TLS: uses a name of the certificate, and trusts that certificate.
    fn secure(address: SocketAddr, names: &[Name], certificate_file: &Path) -> Self {
        let path = std::path::absolute(certificate_file);
        let path = path.as_deref().unwrap_or(certificate_file).to_string_lossy();
        let trust = format!("--cacert {} ", quoted(&path));
        let port = address.port();
        if !names.contains(&Name::Ip(address.ip()))
            && let Some(name) = names.iter().find_map(host_name)
        {
            // The name may lead elsewhere, or nowhere: tells curl that it is here.
            let ip = SocketAddr::new(address.ip(), 0).to_string();
            let ip = ip.trim_end_matches(":0");
            let options = format!("{trust}--resolve '{name}:{port}:{ip}' ");
            return Self { base: format!("https://{name}:{port}"), options };
        }
        Self { base: format!("https://{address}"), options: trust }
    }

    /// One line that creates a collection and a job in it, which calls this URI.
    fn first_job(&self, uri: &str) -> String {
        let Self { base, options } = self;
        let collection = format!(
            "{base}/subscriptions/s1/resourceGroups/g1/providers/Microsoft.Scheduler/jobCollections/c1"
        );
        let options = format!("{options}-sS -X PUT -H 'Content-Type: application/json'");
        let job = format!(
            r#"{{"properties": {{"action": {{"type": "Http", "request": {{"method": "GET", "uri": "{uri}"}}}}, "recurrence": {{"frequency": "Minute"}}}}}}"#
        );
        format!(
            "curl {options} '{collection}?api-version=2016-03-01' -d '{{\"location\": \"West US\"}}' \
             --next {options} '{collection}/jobs/hello?api-version=2016-03-01' -d '{job}'"
        )
    }
}

/// An address that a client on this machine can connect to: an address that stands for all of them is replaced.
fn local(bound: SocketAddr) -> SocketAddr {
    let ip = match bound.ip() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, bound.port())
}

/// A host name that a certificate's name covers; none if it is no name of a host.
fn host_name(name: &Name) -> Option<String> {
    let Name::Dns(name) = name else { return None };
    let host = name.strip_prefix("*.").map_or_else(|| name.clone(), |rest| format!("punctual.{rest}"));
    let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '.' | '_');
    (!host.is_empty() && host.chars().all(plain)).then_some(host)
}

/// Quotes a text as one word of a shell.
pub(super) fn quoted(text: &str) -> Cow<'_, str> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "/-._~+:@%,".contains(letter);
    if !text.is_empty() && text.chars().all(plain) {
        return text.into();
    }
    format!("'{}'", text.replace('\'', r"'\''")).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dns(name: &str) -> Name {
        Name::Dns(name.to_owned())
    }

    #[test]
    fn an_address_that_stands_for_all_is_reached_by_loopback() {
        let check =
            |bound: &str, expected: &str| assert_eq!(local(bound.parse().unwrap()).to_string(), expected);
        check("0.0.0.0:8380", "127.0.0.1:8380");
        check("[::]:8380", "[::1]:8380");
        check("127.0.0.1:8380", "127.0.0.1:8380");
        check("192.0.2.1:1", "192.0.2.1:1");
    }

    #[test]
    fn a_name_that_the_certificate_has_is_used() {
        let own = [dns("localhost"), Name::Ip([127, 0, 0, 1].into()), Name::Ip(Ipv6Addr::LOCALHOST.into())];
        let check = |address: &str, names: &[Name], base: &str, options: &str| {
            let curl = Curl::secure(address.parse().unwrap(), names, Path::new("/d/c.pem"));
            assert_eq!((curl.base.as_str(), curl.options.as_str()), (base, options), "{address} {names:?}");
        };
        let trust = "--cacert /d/c.pem ";
        check("127.0.0.1:1", &own, "https://127.0.0.1:1", trust);
        check("[::1]:1", &own, "https://[::1]:1", trust);
        let elsewhere = format!("{trust}--resolve 'localhost:1:127.0.0.2' ");
        check("127.0.0.2:1", &own, "https://localhost:1", &elsewhere);
        let there = format!("{trust}--resolve 'a.example:1:[::1]' ");
        check("[::1]:1", &[dns("a.example")], "https://a.example:1", &there);
        let below = format!("{trust}--resolve 'punctual.a.example:1:127.0.0.1' ");
        check("127.0.0.1:1", &[dns("it's"), dns("*.a.example")], "https://punctual.a.example:1", &below);
        check("127.0.0.1:1", &[], "https://127.0.0.1:1", trust);
    }

    #[test]
    fn a_path_is_one_word_of_a_shell() {
        let check = |text: &str, expected: &str| assert_eq!(quoted(text), expected);
        check("/var/lib/punctual/tls-cert.pem", "/var/lib/punctual/tls-cert.pem");
        check("/it's here/$x", r"'/it'\''s here/$x'");
        check("", "''");
    }
}
