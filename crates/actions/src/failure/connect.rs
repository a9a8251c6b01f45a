//! Translates errors of connecting.

use std::fmt::Write;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;

use super::{Failure, Within};
use crate::connector::ConnectError;
use crate::dial::DialError;
use crate::egress::Refusal;
use crate::resolve::Unresolved;

impl Failure {
    /// Translates an error of connecting.
    pub(crate) fn of_connect(error: &ConnectError) -> Self {
        match error {
            ConnectError::Dial(error) => Self::of_dial(error),
            ConnectError::Tls { peer, source } => Self::of_handshake(peer, source),
            ConnectError::TlsTimedOut { peer, after } => Self::timeout(format_args!(
                "{} accepted the connection, but the TLS handshake was not done within {}; it may not speak TLS \
                 on that port",
                peer.address,
                Within(*after)
            )),
            ConnectError::NoHost => Self::unusable("The URI names no host that can be connected to"),
        }
    }

    fn of_dial(error: &DialError) -> Self {
        match error {
            DialError::Unresolved { name, why } => Self::new(
                "NameResolutionFailure",
                format!("The remote name could not be resolved: '{name}': {}", unresolved(*why)),
            ),
            DialError::Refused { refusal: Refusal { address, reason }, port } => connect(&format!(
                "{} is not allowed by the egress rules ({reason}); the operator of this server can allow it with \
                 actions.egress_allow",
                SocketAddr::new(*address, *port)
            )),
            DialError::Own(address) => connect(&format!(
                "{address} leads to this server itself, which jobs may not call; have the job call something else, or \
                 ask the operator of this server to allow it with actions.allow_self"
            )),
            DialError::Unreachable(errors) => connect(&causes(errors)),
            DialError::TimedOut { addresses, after } => {
                let addresses = list(addresses.iter());
                connect(&format!(
                    "{addresses} did not answer within {}; check the address, the port and the firewalls between",
                    Within(*after)
                ))
            }
        }
    }
}

fn connect(why: &str) -> Failure {
    Failure::new("ConnectFailure", format!("Unable to connect to the remote server: {why}"))
}

fn unresolved(why: Unresolved) -> &'static str {
    match why {
        Unresolved::NoSuchName => "there is no address for it in the DNS of this server; check its spelling",
        Unresolved::NoAnswer => "the name servers did not answer; check the DNS settings of this server",
    }
}

/// Says what went wrong at each address. Addresses with the same error share a sentence.
fn causes(errors: &[(SocketAddr, io::Error)]) -> String {
    let mut reported: Vec<ErrorKind> = Vec::new();
    let mut text = String::new();
    for (_, error) in errors {
        if reported.contains(&error.kind()) {
            continue;
        }
        reported.push(error.kind());
        let alike = errors.iter().filter(|(_, other)| other.kind() == error.kind());
        if !text.is_empty() {
            text.push_str("; ");
        }
        text.push_str(&cause(&list(alike.map(|(address, _)| address)), error));
    }
    text
}

/// `EMFILE` and `ENFILE`, which have no `ErrorKind`.
const TOO_MANY_FILES: [i32; 2] = [24, 23];

fn cause(addresses: &str, error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::ConnectionRefused => {
            format!("{addresses} refused the connection; nothing listens there, or a firewall rejects it")
        }
        ErrorKind::TimedOut => {
            format!("{addresses} did not answer; check the address, the port and the firewalls between")
        }
        ErrorKind::NetworkUnreachable | ErrorKind::HostUnreachable => {
            format!("{addresses} can't be reached from this server; check the address and the routes to it")
        }
        ErrorKind::ConnectionReset => format!("{addresses} reset the connection"),
        ErrorKind::PermissionDenied => {
            format!("this server is forbidden to connect to {addresses}, perhaps by a firewall of its own")
        }
        ErrorKind::AddrNotAvailable => {
            format!("this server has no address or no free port to connect to {addresses} from")
        }
        _ if error.raw_os_error().is_some_and(|code| TOO_MANY_FILES.contains(&code)) => format!(
            "this server has too many files open to connect to {addresses}; raise its limit of open files"
        ),
        _ => format!("{addresses}: {error}"),
    }
}

/// Formats addresses for a sentence.
fn list<'a>(addresses: impl Iterator<Item = &'a SocketAddr>) -> String {
    let addresses: Vec<&SocketAddr> = addresses.collect();
    let mut text = String::new();
    for (index, address) in addresses.iter().enumerate() {
        let separator = match index {
            0 => "",
            _ if index + 1 == addresses.len() => " and ",
            _ => ", ",
        };
        // Writing to a string can't fail.
        let _ = write!(text, "{separator}{address}");
    }
    text
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn each_cause_is_reported_with_address_and_port() {
        let check = |errors: &[(&str, ErrorKind)], expected: &str| {
            let errors = errors.iter().map(|(address, kind)| (at(address), io::Error::from(*kind))).collect();
            let failure = Failure::of_dial(&DialError::Unreachable(errors));
            let text = failure.to_string();
            assert_eq!(text, format!("ConnectFailure Unable to connect to the remote server: {expected}"));
        };
        check(
            &[("10.0.0.1:81", ErrorKind::ConnectionRefused)],
            "10.0.0.1:81 refused the connection; nothing listens there, or a firewall rejects it",
        );
        check(
            &[
                ("[::1]:1", ErrorKind::ConnectionRefused),
                ("10.0.0.1:1", ErrorKind::ConnectionRefused),
                ("10.0.0.2:1", ErrorKind::ConnectionRefused),
            ],
            "[::1]:1, 10.0.0.1:1 and 10.0.0.2:1 refused the connection; nothing listens there, or a firewall \
             rejects it",
        );
        check(
            &[("[::1]:1", ErrorKind::NetworkUnreachable), ("10.0.0.1:1", ErrorKind::TimedOut)],
            "[::1]:1 can't be reached from this server; check the address and the routes to it; 10.0.0.1:1 did \
             not answer; check the address, the port and the firewalls between",
        );
        check(
            &[("10.0.0.1:1", ErrorKind::PermissionDenied)],
            "this server is forbidden to connect to 10.0.0.1:1, perhaps by a firewall of its own",
        );
        check(
            &[("10.0.0.1:1", ErrorKind::AddrNotAvailable)],
            "this server has no address or no free port to connect to 10.0.0.1:1 from",
        );
    }

    #[test]
    fn too_many_open_files_are_reported_as_such() {
        let errors = vec![(at("10.0.0.1:1"), io::Error::from_raw_os_error(24))];
        let text = Failure::of_dial(&DialError::Unreachable(errors)).to_string();
        assert!(text.contains("this server has too many files open to connect to 10.0.0.1:1"), "{text}");
    }

    #[test]
    fn a_time_limit_is_reported_with_the_addresses_that_were_tried() {
        let addresses = vec![at("[2001:db8::1]:443"), at("192.0.2.1:443")];
        let text =
            Failure::of_dial(&DialError::TimedOut { addresses, after: Duration::from_secs(45) }).to_string();
        assert_eq!(
            text,
            "ConnectFailure Unable to connect to the remote server: [2001:db8::1]:443 and 192.0.2.1:443 did not \
             answer within 45 s; check the address, the port and the firewalls between"
        );
    }

    #[test]
    fn an_unresolved_name_is_reported_with_its_cause() {
        let check = |why, expected: &str| {
            let text = Failure::of_dial(&DialError::Unresolved { name: "a.example".into(), why }).to_string();
            let start = "NameResolutionFailure The remote name could not be resolved: 'a.example': ";
            assert_eq!(text, format!("{start}{expected}"));
        };
        check(
            Unresolved::NoSuchName,
            "there is no address for it in the DNS of this server; check its spelling",
        );
        check(Unresolved::NoAnswer, "the name servers did not answer; check the DNS settings of this server");
    }
}
