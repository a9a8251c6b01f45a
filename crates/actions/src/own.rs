//! The addresses at which this server itself can be reached.
//!
//! An action that calls them would come from loopback, or from inside of the network, and so past whatever keeps
//! others away: a job could create, change and delete what its author may not. The dialer refuses them. What counts
//! is the address that is connected to, so a name, a redirect or another spelling makes no difference.

use std::net::{IpAddr, SocketAddr, UdpSocket};

use crate::egress::views;

/// The addresses at which this server itself can be reached.
#[derive(Clone, Debug, Default)]
pub struct OwnAddresses {
    listeners: Vec<SocketAddr>,
    names: Vec<(Box<str>, u16)>,
    exempt: Vec<SocketAddr>,
}

impl OwnAddresses {
    /// Adds the address of a listener. One that stands for all addresses of this machine stands for each of them.
    pub fn add_listener(&mut self, bound: SocketAddr) {
        self.listeners.push(bound);
    }

    /// Adds a name (or an address) under which callers reach this server. What it resolves to when an action connects
    /// is refused, at this port.
    pub fn add_name(&mut self, host: &str, port: u16) {
        self.names.push((host.into(), port));
    }

    /// Exempts an address, although it is one of the others.
    pub fn exempt(&mut self, address: SocketAddr) {
        self.exempt.push(address);
    }

    /// Whether a listener is reached at this address.
    pub(crate) fn listens_at(&self, address: SocketAddr) -> bool {
        let (ip, port) = (address.ip().to_canonical(), address.port());
        if self.exempt.contains(&SocketAddr::new(ip, port)) {
            return false;
        }
        let at_port = self.listeners.iter().filter(|listener| listener.port() == port);
        at_port.map(|listener| listener.ip().to_canonical()).any(|listener| {
            views(ip).any(|view| {
                if listener.is_unspecified() {
                    local(view)
                } else {
                    view == listener || view.is_unspecified()
                }
            })
        })
    }

    /// The names that lead to this server at a port.
    pub(crate) fn names_at(&self, port: u16) -> impl Iterator<Item = &str> {
        self.names.iter().filter(move |(_, one)| *one == port).map(|(name, _)| &**name)
    }
}

/// Whether an address is one of this machine's: only those can be bound. Addresses come and go, so the system is
/// asked each time, which costs two calls and only where the port is one of ours.
fn local(address: IpAddr) -> bool {
    address.is_loopback() || address.is_unspecified() || UdpSocket::bind((address, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_listener_is_known_in_every_spelling() {
        let check = |listener: &str, address: &str, expected: bool| {
            let mut own = OwnAddresses::default();
            own.add_listener(at(listener));
            assert_eq!(own.listens_at(at(address)), expected, "{listener} {address}");
        };
        check("127.0.0.1:8380", "127.0.0.1:8380", true);
        check("127.0.0.1:8380", "[::ffff:127.0.0.1]:8380", true);
        check("127.0.0.1:8380", "0.0.0.0:8380", true);
        check("127.0.0.1:8380", "[64:ff9b::127.0.0.1]:8380", true);
        check("127.0.0.1:8380", "127.0.0.1:8381", false);
        check("127.0.0.1:8380", "127.0.0.2:8380", false);
        check("0.0.0.0:8380", "127.0.0.1:8380", true);
        check("0.0.0.0:8380", "127.9.9.9:8380", true);
        check("[::]:8380", "127.0.0.1:8380", true);
        check("[::]:8380", "[::1]:8380", true);
        check("[::]:8380", "[::]:8380", true);
        check("0.0.0.0:8380", "127.0.0.1:1", false);
        check("0.0.0.0:8380", "192.0.2.1:8380", false);
        check("[::]:8380", "[2001:db8::1]:8380", false);
    }

    #[test]
    fn what_is_exempt_is_none_of_them() {
        let mut own = OwnAddresses::default();
        own.add_listener(at("0.0.0.0:8380"));
        own.exempt(at("127.0.0.1:8380"));
        assert!(!own.listens_at(at("127.0.0.1:8380")));
        assert!(own.listens_at(at("127.0.0.2:8380")));
    }

    #[test]
    fn names_are_known_by_their_port() {
        let mut own = OwnAddresses::default();
        own.add_name("scheduler.example", 443);
        own.add_name("localhost", 8380);
        assert_eq!(own.names_at(443).collect::<Vec<_>>(), ["scheduler.example"]);
        assert_eq!(own.names_at(80).count(), 0);
    }
}
