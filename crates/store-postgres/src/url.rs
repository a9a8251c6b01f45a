//! The URL of the database.
//!
//! `postgres://user:password@host:port,host:port/database?name=value&…`, with the parameters of libpq. The driver
//! knows most of them; `sslmode` (with `verify-ca` and `verify-full`) and `sslrootcert` are read here. What is shown of a
//! URL never has its password.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use thiserror::Error;
use tokio_postgres::Config;
use tokio_postgres::config::{ChannelBinding, Host, TargetSessionAttrs};

/// Where the database is, and how to talk to it.
#[derive(Clone)]
pub struct ServerUrl {
    pub(crate) config: Config,
    /// What is expected of the server's certificate.
    pub ssl_mode: SslMode,
    root_certificate: Option<PathBuf>,
}

/// What is expected of the server's certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SslMode {
    /// No encryption.
    Disable,
    /// Encryption if the server has it, whatever its certificate.
    Prefer,
    /// Encryption, whatever the certificate.
    Require,
    /// Encryption, and a certificate that a trusted authority has signed.
    VerifyCa,
    /// That, and the certificate names the host.
    VerifyFull,
}

/// What is wrong with a URL. It never shows the URL, which may have a password in it.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("the URL of the database is not valid: {0}")]
pub struct UrlError(String);

/// How long to wait for a connection to one host.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

impl ServerUrl {
    /// Reads a URL.
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        let wrong = |what: &str| UrlError(what.to_owned());
        if !text.starts_with("postgres://") && !text.starts_with("postgresql://") {
            return Err(wrong("it must begin with postgres://"));
        }
        let (base, query) = text.split_once('?').unwrap_or((text, ""));
        let (mut ssl_mode, mut root_certificate) = (None, None);
        let mut rest = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("sslmode", value)) => ssl_mode = Some(parse_ssl_mode(value)?),
                Some(("sslrootcert", value)) => {
                    let path = percent_decode_str(value).decode_utf8();
                    root_certificate =
                        Some(PathBuf::from(&*path.map_err(|_| wrong("sslrootcert is not UTF-8"))?));
                }
                Some(("target_session_attrs", "read-write" | "any")) => rest.push(pair),
                Some(("target_session_attrs", _)) => {
                    return Err(wrong("target_session_attrs must be read-write: every node writes"));
                }
                _ => rest.push(pair),
            }
        }
        let known = if rest.is_empty() { base.to_owned() } else { format!("{base}?{}", rest.join("&")) };
        // Its errors name the parameter, never the value of a password.
        let mut config = Config::from_str(&known).map_err(|error| UrlError(chain(&error)))?;
        if config.get_hosts().is_empty() {
            return Err(wrong("it names no host"));
        }
        // The driver ends the password at the first one, and what follows would be shown as a host.
        let stray = |host: &Host| matches!(host, Host::Tcp(name) if name.contains('@'));
        if config.get_hosts().iter().any(stray) || config.get_dbname().is_some_and(|name| name.contains('@'))
        {
            return Err(wrong("it has more than one '@': write the one of a password as %40"));
        }
        if config.get_user().is_none() {
            return Err(wrong("it names no user, as in postgres://user@host/database"));
        }
        if config.get_channel_binding() == ChannelBinding::Require {
            return Err(wrong(
                "channel_binding=require is not supported; leave it out, and use sslmode=verify-full",
            ));
        }
        let ssl_mode =
            ssl_mode.unwrap_or(if all_local(&config) { SslMode::Prefer } else { SslMode::VerifyFull });
        if config.get_hosts().len() > 1 {
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        // A cable that was cut is noticed within seconds, not minutes.
        config
            .keepalives_idle(Duration::from_secs(5))
            .keepalives_interval(Duration::from_secs(2))
            .keepalives_retries(2)
            .tcp_user_timeout(Duration::from_secs(8))
            .ssl_mode(match ssl_mode {
                SslMode::Disable => tokio_postgres::config::SslMode::Disable,
                SslMode::Prefer => tokio_postgres::config::SslMode::Prefer,
                SslMode::Require | SslMode::VerifyCa | SslMode::VerifyFull => {
                    tokio_postgres::config::SslMode::Require
                }
            });
        if config.get_application_name().is_none() {
            config.application_name("punctual");
        }
        Ok(Self { config, ssl_mode, root_certificate })
    }

    /// The same with a password, if it has none.
    #[must_use]
    pub fn with_password(mut self, password: &str) -> Self {
        if self.config.get_password().is_none() {
            self.config.password(password);
        }
        self
    }

    /// The URL as somebody would write it, without its password and parameters.
    pub fn without_password(&self) -> String {
        let user = self.config.get_user().unwrap_or_default();
        self.to_string().replacen("postgres://", &format!("postgres://{user}@"), 1)
    }

    /// The file with the certificates of trusted authorities, if one is named.
    pub fn root_certificate(&self) -> Option<&Path> {
        self.root_certificate.as_deref()
    }
}

fn parse_ssl_mode(text: &str) -> Result<SslMode, UrlError> {
    Ok(match text {
        "disable" => SslMode::Disable,
        "prefer" => SslMode::Prefer,
        "require" => SslMode::Require,
        "verify-ca" => SslMode::VerifyCa,
        "verify-full" => SslMode::VerifyFull,
        _ => {
            let known = "use disable, prefer, require, verify-ca or verify-full";
            return Err(UrlError(format!("unknown sslmode; {known}")));
        }
    })
}

/// Whether all hosts are this machine, so that nobody stands between.
fn all_local(config: &Config) -> bool {
    config.get_hosts().iter().all(|host| match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            name == "localhost" || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
        }
    })
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}

/// Hosts and database; no user, no password, no parameters.
impl fmt::Display for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("postgres://")?;
        for (index, host) in self.config.get_hosts().iter().enumerate() {
            let ports = self.config.get_ports();
            let port = ports.get(index).or(ports.first()).copied().unwrap_or(5432);
            let comma = if index == 0 { "" } else { "," };
            match host {
                Host::Tcp(name) => write!(f, "{comma}{name}:{port}")?,
                Host::Unix(path) => write!(f, "{comma}{}:{port}", path.display())?,
            }
        }
        write!(f, "/{}", self.config.get_dbname().unwrap_or_default())
    }
}

impl fmt::Debug for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_has_no_secret() {
        let check = |text: &str, expected: &str| {
            let url = ServerUrl::parse(text).unwrap();
            assert_eq!((url.to_string().as_str(), format!("{url:?}").as_str()), (expected, expected));
        };
        check(
            "postgres://me:pa%20ss@a:5433,b/punctual?connect_timeout=9",
            "postgres://a:5433,b:5432/punctual",
        );
        check("postgresql://me@%2Frun%2Fpg/x?sslmode=disable", "postgres:///run/pg:5432/x");
    }

    #[test]
    fn a_password_with_an_at_sign_is_not_taken_for_a_host() {
        for text in ["postgres://me:p@qz@db.example/x", "postgres://me:p@qz/r@db.example/x"] {
            let error = ServerUrl::parse(text).unwrap_err().to_string();
            assert!(error.contains("%40") && !error.contains("qz"), "{error}");
        }
        assert_eq!(
            ServerUrl::parse("postgres://me:p%40ss@db/x").unwrap().to_string(),
            "postgres://db:5432/x"
        );
    }

    #[test]
    fn certificates_are_checked_unless_nobody_stands_between() {
        let check = |text: &str, expected: SslMode| {
            assert_eq!(ServerUrl::parse(text).unwrap().ssl_mode, expected, "{text}");
        };
        check("postgres://u@db.example/x", SslMode::VerifyFull);
        check("postgres://u@localhost,db.example/x", SslMode::VerifyFull);
        check("postgres://u@localhost,127.0.0.2/x", SslMode::Prefer);
        check("postgres://u@%2Frun/x", SslMode::Prefer);
        for (name, mode) in [
            ("disable", SslMode::Disable),
            ("prefer", SslMode::Prefer),
            ("require", SslMode::Require),
            ("verify-ca", SslMode::VerifyCa),
            ("verify-full", SslMode::VerifyFull),
        ] {
            check(&format!("postgres://u@db.example/x?sslmode={name}"), mode);
        }
    }

    #[test]
    fn the_file_of_authorities_is_named() {
        let url =
            ServerUrl::parse("postgres://u@h/x?sslrootcert=%2Fa%20b%2Fc.pem&application_name=q").unwrap();
        assert_eq!(url.root_certificate(), Some(Path::new("/a b/c.pem")));
        assert_eq!(url.config.get_application_name(), Some("q"));
    }

    #[test]
    fn several_hosts_are_searched_for_the_one_that_writes() {
        let attrs = |text: &str| ServerUrl::parse(text).unwrap().config.get_target_session_attrs();
        assert_eq!(attrs("postgres://u@a,b/x"), TargetSessionAttrs::ReadWrite);
        assert_eq!(attrs("postgres://u@a/x?target_session_attrs=read-write"), TargetSessionAttrs::ReadWrite);
        assert_eq!(attrs("postgres://u@a/x"), TargetSessionAttrs::Any);
    }

    #[test]
    fn what_is_wrong_is_said_without_the_url() {
        let check = |text: &str, expected: &str| {
            let error = ServerUrl::parse(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
            assert!(!error.contains("hush"), "{error}");
        };
        check("mysql://u:hush@h/x", "must begin with postgres://");
        check(
            "postgres://u:hush@h/x?sslmode=maybe",
            "use disable, prefer, require, verify-ca or verify-full",
        );
        check("postgres://u:hush@h/x?colour=hush", "unknown option");
        check("postgres://h:hush@/x", "it names no host");
        check("postgres://h/x", "it names no user");
        check("postgres://u:hush@h/x?target_session_attrs=read-only", "every node writes");
        check("postgres://u:hush@h:70000/x", "not valid");
        check("postgres://u:hush@h/x?channel_binding=require", "channel_binding=require is not supported");
    }
}
