//! Translates errors of TLS: certificates that are not trusted, and handshakes that fail.

use std::io::{self, ErrorKind};

use jiff::Timestamp;
use rustls::pki_types::UnixTime;
use rustls::{AlertDescription, CertificateError, Error, InvalidMessage, PeerIncompatible};

use super::{Failure, find};
use crate::peer::Peer;

/// How many names of a certificate are shown, and how many characters of each. The target chooses them.
const NAMES_MAX: usize = 5;
const NAME_CHARACTERS_MAX: usize = 100;

impl Failure {
    /// Translates an error of a TLS handshake.
    pub(super) fn of_handshake(peer: &Peer, error: &io::Error) -> Self {
        if let Some(error) = find::<Error>(error) {
            return Self::of_tls(peer, error);
        }
        let what = match error.kind() {
            ErrorKind::UnexpectedEof => "closed the connection",
            ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::ConnectionAborted => {
                "reset the connection"
            }
            _ => return secure_channel(&format!("{}: {error}", peer.address)),
        };
        secure_channel(&format!(
            "{} {what} during the TLS handshake; if that port speaks no TLS, the address must begin with {}",
            peer.address,
            peer.protocol.scheme(false)
        ))
    }

    /// Translates an error of TLS, during the handshake or later.
    pub(super) fn of_tls(peer: &Peer, error: &Error) -> Self {
        let address = peer.address;
        let what = match error {
            Error::InvalidCertificate(error) => {
                return Self::new(
                    "TrustFailure",
                    format!(
                        "The underlying connection was closed: Could not establish trust relationship for the \
                         SSL/TLS secure channel: {address} {}",
                        distrust(error)
                    ),
                );
            }
            Error::InvalidMessage(InvalidMessage::InvalidContentType) => format!(
                "answers in plain text and not with TLS; the address must begin with {}, or the port is wrong",
                peer.protocol.scheme(false)
            ),
            Error::AlertReceived(alert) => alerted(*alert),
            Error::PeerIncompatible(reason) => incompatible(reason),
            Error::NoApplicationProtocol => "offers neither HTTP/2 nor HTTP/1.1".to_owned(),
            other => format!("broke the rules of TLS: {other}"),
        };
        secure_channel(&format!("{address} {what}"))
    }
}

fn secure_channel(what: &str) -> Failure {
    let text = format!("The request was aborted: Could not create SSL/TLS secure channel: {what}");
    Failure::new("SecureChannelFailure", text)
}

/// Says what is wrong with a certificate. The subject of the sentence is the target.
fn distrust(error: &CertificateError) -> String {
    match error {
        CertificateError::UnknownIssuer => {
            "shows a certificate from an authority that this server does not trust; the operator of this server \
             can add the authority with actions.ca_file"
                .to_owned()
        }
        CertificateError::ExpiredContext { not_after, .. } => {
            format!("shows a certificate that expired on {}; the target needs a new one", date(*not_after))
        }
        CertificateError::Expired => {
            "shows a certificate that has expired; the target needs a new one".to_owned()
        }
        CertificateError::NotValidYetContext { not_before, .. } => format!(
            "shows a certificate that is not valid before {}; check the clock of this server",
            date(*not_before)
        ),
        CertificateError::NotValidYet => {
            "shows a certificate that is not valid yet; check the clock of this server".to_owned()
        }
        CertificateError::NotValidForNameContext { expected, presented } => format!(
            "shows a certificate for {}, not for '{}'; use a name that it has, or give the target another one",
            names(presented),
            expected.to_str()
        ),
        CertificateError::NotValidForName => "shows a certificate for another name".to_owned(),
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "shows a certificate that is not made for servers: its extended key usage lacks serverAuth".to_owned()
        }
        CertificateError::Revoked => "shows a certificate that was revoked".to_owned(),
        CertificateError::BadSignature => {
            "shows a certificate that its authority did not sign".to_owned()
        }
        CertificateError::BadEncoding => "shows a certificate that can't be read".to_owned(),
        CertificateError::UnsupportedSignatureAlgorithmContext { .. }
        | CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => {
            "shows a certificate that is signed in a way that is not supported, such as with SHA-1".to_owned()
        }
        CertificateError::Other(other) => misuse(&other.to_string()),
        other => format!("shows a certificate that can't be used: {other}"),
    }
}

/// Explains errors of the library that it reports by name only.
fn misuse(name: &str) -> String {
    let what = match name {
        "CaUsedAsEndEntity" => {
            "shows the certificate of an authority (CA:TRUE) as its own; it needs one that is made for a server \
             (CA:FALSE)"
        }
        "EndEntityUsedAsCa" => {
            "shows a certificate that was signed by another one that is not an authority's (CA:FALSE)"
        }
        "NameConstraintViolation" => {
            "shows a certificate for a name that its authority may not sign for (name constraints)"
        }
        "PathLenConstraintViolated" => {
            "shows a certificate with more authorities above it than the first of them allows (path length)"
        }
        "UnsupportedCertVersion" => {
            "shows a certificate of an old form; it needs one of X.509 version 3, with a subjectAltName"
        }
        other => return format!("shows a certificate that can't be used: {other}"),
    };
    what.to_owned()
}

fn date(at: UnixTime) -> String {
    let at = i64::try_from(at.as_secs()).ok().and_then(|second| Timestamp::from_second(second).ok());
    at.map_or_else(|| "a day that no calendar has".to_owned(), |at| at.strftime("%Y-%m-%d").to_string())
}

/// Formats the names of a certificate. The library gives them as `DnsName("a.example")` and `IpAddress(10.0.0.1)`.
fn names(presented: &[String]) -> String {
    let shown = presented.iter().take(NAMES_MAX).map(|name| {
        let inner = name.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')')).unwrap_or(name);
        let clean = inner.chars().filter(|letter| !letter.is_control() && !matches!(letter, '"' | '\''));
        format!("'{}'", clean.take(NAME_CHARACTERS_MAX).collect::<String>())
    });
    let shown = shown.collect::<Vec<_>>().join(", ");
    match presented.len() {
        0 => "no name at all (it has no subjectAltName)".to_owned(),
        count if count > NAMES_MAX => format!("{shown} and {} more", count - NAMES_MAX),
        _ => shown,
    }
}

/// Explains an alert that the target sent.
fn alerted(alert: AlertDescription) -> String {
    let what = match alert {
        AlertDescription::ProtocolVersion => "speaks neither TLS 1.2 nor TLS 1.3",
        AlertDescription::HandshakeFailure | AlertDescription::InsufficientSecurity => {
            "refused the TLS handshake: it may want a client certificate, or speak only older versions or other \
             ciphers of TLS"
        }
        AlertDescription::UnrecognisedName => "has no certificate for this host name",
        AlertDescription::CertificateRequired => {
            "wants a client certificate, and the action has none for it (authentication of the type \
             ClientCertificate)"
        }
        AlertDescription::BadCertificate
        | AlertDescription::UnsupportedCertificate
        | AlertDescription::CertificateRevoked
        | AlertDescription::CertificateExpired
        | AlertDescription::CertificateUnknown
        | AlertDescription::UnknownCA
        | AlertDescription::AccessDenied => {
            return format!("did not accept the client certificate, or wants one ({alert:?})");
        }
        AlertDescription::NoApplicationProtocol => "offers neither HTTP/2 nor HTTP/1.1",
        other => return format!("ended TLS with the alert {other:?}"),
    };
    what.to_owned()
}

fn incompatible(reason: &PeerIncompatible) -> String {
    match reason {
        PeerIncompatible::ServerDoesNotSupportTls12Or13
        | PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig => {
            "speaks neither TLS 1.2 nor TLS 1.3".to_owned()
        }
        other => format!("has nothing of TLS in common with this server: {other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use rustls::OtherError;

    use super::*;
    use crate::peer::Protocol;

    fn peer(protocol: Protocol) -> Peer {
        Peer::new("192.0.2.1:443".parse().unwrap(), protocol, true)
    }

    #[test]
    fn names_are_bounded_and_can_not_leave_their_quotes() {
        let presented: Vec<String> = (0..8).map(|index| format!("DnsName(\"{index}.example\")")).collect();
        let shown = "'0.example', '1.example', '2.example', '3.example', '4.example'";
        assert_eq!(names(&presented), format!("{shown} and 3 more"));
        assert_eq!(names(&["IpAddress(10.0.0.1)".into()]), "'10.0.0.1'");
        assert_eq!(names(&["DnsName(\"a'b\r\nc\")".into()]), "'abc'");
        assert_eq!(names(&[]), "no name at all (it has no subjectAltName)");
        assert!(names(&["x".repeat(10_000)]).len() < 200);
    }

    #[test]
    fn a_certificate_that_is_not_valid_now_is_told_with_its_date() {
        let time = UnixTime::since_unix_epoch(Duration::from_secs(1_700_000_000));
        let expired = CertificateError::ExpiredContext { time, not_after: time };
        assert!(distrust(&expired).contains("expired on 2023-11-14"));
        let early = CertificateError::NotValidYetContext { time, not_before: time };
        assert!(distrust(&early).contains("not valid before 2023-11-14"));
    }

    #[test]
    fn what_the_library_only_names_is_told_in_a_sentence() {
        for name in ["CaUsedAsEndEntity", "EndEntityUsedAsCa", "NameConstraintViolation"] {
            let other = OtherError(Arc::new(io::Error::other(name)));
            let text = distrust(&CertificateError::Other(other));
            assert!(!text.contains(name) && text.starts_with("shows "), "{text}");
        }
    }

    #[test]
    fn the_hint_names_the_scheme_of_the_protocol() {
        let plain = Error::InvalidMessage(InvalidMessage::InvalidContentType);
        let text = |protocol| Failure::of_tls(&peer(protocol), &plain).to_string();
        assert!(text(Protocol::Http).contains("192.0.2.1:443 answers in plain text and not with TLS"));
        assert!(text(Protocol::Http).contains("must begin with http://"));
        assert!(text(Protocol::Amqp).contains("must begin with amqp://"));
    }
}
