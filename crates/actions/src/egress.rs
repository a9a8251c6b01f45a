//! Which addresses actions may connect to.
//!
//! The rules apply to addresses, not to names. The address that is about to be connected to is checked, so a name
//! that resolves differently the second time, a redirect, or an address written in octal can't bypass them. An IPv6
//! address that contains an IPv4 address (mapped, compatible, translated, NAT64, 6to4, Teredo) must pass with both.
//!
//! The most specific rule decides. Between equally specific rules, the operator's denials win over the operator's
//! permissions, and these over the built-in rules. An address without a rule is allowed.

mod metadata;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

use self::metadata::METADATA;

/// Networks that are denied unless the operator allows them: they are never legitimate targets, and reachable only
/// from inside. The metadata services of clouds come on top.
const BUILT_IN: &[(&str, &str)] = &[
    ("0.0.0.0/8", "unspecified address"),
    ("::/128", "unspecified address"),
    ("169.254.0.0/16", "link-local address"),
    ("fe80::/10", "link-local address"),
    ("224.0.0.0/4", "multicast address"),
    ("ff00::/8", "multicast address"),
    ("255.255.255.255/32", "broadcast address"),
];

/// Why metadata services are denied.
const METADATA_REASON: &str = "cloud metadata address";

/// The rules about outgoing connections.
#[derive(Clone, Debug)]
pub struct Egress {
    /// Most specific first, so that the first match decides.
    rules: Vec<Rule>,
}

#[derive(Clone, Debug)]
struct Rule {
    network: IpNet,
    /// Among equally specific rules the smallest rank wins.
    rank: u8,
    /// Why it is denied; `None` if it is allowed.
    denied: Option<&'static str>,
}

/// An address that may not be connected to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The address that would have been connected to.
    pub address: IpAddr,
    /// Why it is denied.
    pub reason: &'static str,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the address {} is not allowed by the egress rules ({})", self.address, self.reason)
    }
}

impl std::error::Error for Refusal {}

impl Default for Egress {
    fn default() -> Self {
        Self::new(&[], &[])
    }
}

impl Egress {
    /// The built-in rules and the operator's.
    pub fn new(allow: &[IpNet], deny: &[IpNet]) -> Self {
        let metadata = METADATA.iter().map(|one| (one.network, METADATA_REASON));
        let built_in = BUILT_IN.iter().copied().chain(metadata).map(|(network, reason)| Rule {
            network: network.parse().expect("the tables hold networks"),
            rank: 2,
            denied: Some(reason),
        });
        let allow = allow.iter().map(|network| Rule { network: network.trunc(), rank: 1, denied: None });
        let deny = deny.iter().map(|network| Rule {
            network: network.trunc(),
            rank: 0,
            denied: Some("denied by actions.egress_deny"),
        });
        let mut rules: Vec<Rule> = built_in.chain(allow).chain(deny).collect();
        rules.sort_by_key(|rule| (std::cmp::Reverse(rule.network.prefix_len()), rule.rank));
        Self { rules }
    }

    /// Returns a refusal if an address must not be connected to.
    pub fn check(&self, address: IpAddr) -> Result<(), Refusal> {
        let address = address.to_canonical();
        let judge = |view: IpAddr| {
            let rule = self.rules.iter().find(|rule| rule.network.contains(&view));
            match rule.and_then(|rule| rule.denied) {
                Some(reason) => Err(Refusal { address, reason }),
                None => Ok(()),
            }
        };
        views(address).try_for_each(judge)
    }

    /// Whether the operator allows exactly this address, not just a network that contains it.
    pub(crate) fn allows_exactly(&self, address: IpAddr) -> bool {
        let single = IpNet::from(address.to_canonical());
        let rule = self.rules.iter().find(|rule| rule.network == single);
        rule.is_some_and(|rule| rule.denied.is_none())
    }
}

/// An address, and the IPv4 addresses that may be meant by it.
pub(crate) fn views(address: IpAddr) -> impl Iterator<Item = IpAddr> {
    let address = address.to_canonical();
    let inner = match address {
        IpAddr::V4(_) => [None; 4],
        IpAddr::V6(outer) => embedded(outer),
    };
    std::iter::once(address).chain(inner.into_iter().flatten().map(IpAddr::V4))
}

/// Returns the IPv4 addresses that a gateway or tunnel may extract from an IPv6 address.
fn embedded(address: Ipv6Addr) -> [Option<Ipv4Addr>; 4] {
    let parts = address.segments();
    let bits = address.to_bits();
    let at = |shift: u32| Some(Ipv4Addr::from_bits((bits >> shift) as u32));
    let low = at(0);
    match parts {
        // The unspecified address and loopback are themselves.
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => [None; 4],
        // Compatible; mapped (canonical addresses have none left); translated (RFC 2765).
        [0, 0, 0, 0, 0, 0 | 0xffff, ..] | [0, 0, 0, 0, 0xffff, 0, ..] => [low, None, None, None],
        // NAT64, well known (RFC 6052).
        [0x64, 0xff9b, 0, 0, 0, 0, ..] => [low, None, None, None],
        // NAT64, local (RFC 8215): the prefix has 48, 56, 64 or 96 bits, and the address comes after it, around the
        // octet from bit 64 to 71, which is reserved (RFC 6052, 2.2).
        [0x64, 0xff9b, 1, ..] => {
            let after_48 = ((bits >> 64) as u32) << 16 | ((bits >> 40) as u32 & 0xffff);
            let after_56 = ((bits >> 64) as u32) << 24 | ((bits >> 32) as u32 & 0x00ff_ffff);
            [low, Some(Ipv4Addr::from_bits(after_48)), Some(Ipv4Addr::from_bits(after_56)), at(24)]
        }
        // 6to4.
        [0x2002, ..] => [at(80), None, None, None],
        // Teredo: its server, and the client's address with all bits inverted.
        [0x2001, 0, ..] => [at(64), Some(Ipv4Addr::from_bits(!(bits as u32))), None, None],
        // ISATAP (RFC 5214): in any network, by the interface's identifier.
        [_, _, _, _, 0 | 0x200, 0x5efe, ..] => [low, None, None, None],
        _ => [None; 4],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn networks(list: &[&str]) -> Vec<IpNet> {
        list.iter().map(|text| text.parse().unwrap()).collect()
    }

    fn allowed(egress: &Egress, address: &str) -> bool {
        egress.check(address.parse().unwrap()).is_ok()
    }

    #[test]
    fn default_denies_what_is_never_a_target_and_allows_the_rest() {
        let egress = Egress::default();
        let check = |address, expected| assert_eq!(allowed(&egress, address), expected, "{address}");
        check("127.0.0.1", true);
        check("::1", true);
        check("10.1.2.3", true);
        check("192.168.0.1", true);
        check("172.16.0.1", true);
        check("fd12::1", true);
        check("8.8.8.8", true);
        check("2606:4700::1111", true);
        check("169.254.169.254", false);
        check("169.254.0.1", false);
        check("fe80::1", false);
        check("febf::1", false);
        check("fec0::1", true);
        check("fd00:ec2::254", false);
        check("100.100.100.200", false);
        check("168.63.129.16", false);
        check("0.0.0.0", false);
        check("0.1.2.3", false);
        check("::", false);
        check("224.0.0.1", false);
        check("ff02::1", false);
        check("255.255.255.255", false);
    }

    #[test]
    fn every_metadata_service_is_denied_in_every_spelling() {
        let egress = Egress::default();
        let denied = |address: IpAddr| {
            assert_eq!(egress.check(address).unwrap_err().reason, METADATA_REASON, "{address}");
        };
        for one in METADATA {
            assert!(one.source.starts_with("https://") && !one.clouds.is_empty(), "{}", one.network);
            let network: IpNet = one.network.parse().unwrap();
            denied(network.addr());
            if let IpAddr::V4(address) = network.addr() {
                let low = u128::from(address.to_bits());
                denied(address.to_ipv6_mapped().into());
                denied(address.to_ipv6_compatible().into());
                let nat64: Ipv6Addr = "64:ff9b::".parse().unwrap();
                denied(Ipv6Addr::from_bits(nat64.to_bits() | low).into());
                denied(Ipv6Addr::from_bits(0x2002 << 112 | low << 80 | 1).into());
            }
        }
        for address in ["fd00:ec2::23", "fd00:ec2::254", "fd00:ec2:0:1::9"] {
            denied(address.parse().unwrap());
        }
    }

    #[test]
    fn allowing_link_local_networks_does_not_open_the_metadata_services() {
        let egress = Egress::new(&networks(&["169.254.0.0/16", "fe80::/10", "fd00::/8"]), &[]);
        for one in METADATA {
            let network: IpNet = one.network.parse().unwrap();
            assert!(egress.check(network.addr()).is_err(), "{}", one.network);
        }
        assert!(allowed(&egress, "169.254.7.7"));
    }

    #[test]
    fn an_ipv4_address_inside_an_ipv6_one_is_judged_too() {
        let egress = Egress::default();
        let check = |address, expected| assert_eq!(allowed(&egress, address), expected, "{address}");
        check("::ffff:169.254.169.254", false);
        check("::169.254.169.254", false);
        check("::ffff:0:169.254.169.254", false);
        check("64:ff9b::169.254.169.254", false);
        check("64:ff9b:1::169.254.169.254", false);
        // RFC 6052 with a /48 prefix: the address around the reserved octet.
        check("64:ff9b:1:a9fe:a9:fe00::", false);
        // The same with prefixes of 56 and 64 bits.
        check("64:ff9b:1:7a9:fe:a9fe::", false);
        check("64:ff9b:1:7:a9:fea9:fe00:0", false);
        check("2001:db8::5efe:169.254.169.254", false);
        check("2001:db8::200:5efe:169.254.169.254", false);
        check("2001:db8::5efe:8.8.8.8", true);
        check("2002:a9fe:a9fe::1", false);
        check("2001:0:a9fe:a9fe::1", false);
        check("2001::5601:5601", false);
        check("::ffff:127.0.0.1", true);
        check("::ffff:8.8.8.8", true);
        check("64:ff9b::8.8.8.8", true);
        check("2002:808:808::1", true);
    }

    #[test]
    fn the_most_specific_rule_decides() {
        let egress = Egress::new(
            &networks(&["10.1.0.0/16", "169.254.7.0/24", "168.63.129.16/32"]),
            &networks(&["10.0.0.0/8", "10.1.9.0/24", "::/0"]),
        );
        let check = |address, expected| assert_eq!(allowed(&egress, address), expected, "{address}");
        check("10.2.0.1", false);
        check("10.1.0.1", true);
        check("10.1.9.1", false);
        check("::ffff:10.1.0.1", true);
        check("::ffff:10.2.0.1", false);
        check("169.254.7.1", true);
        check("169.254.8.1", false);
        check("168.63.129.16", true);
        check("2606:4700::1111", false);
        check("9.9.9.9", true);
    }

    #[test]
    fn only_a_list_can_be_allowed_by_denying_everything() {
        let egress = Egress::new(&networks(&["192.0.2.0/24"]), &networks(&["0.0.0.0/0", "::/0"]));
        assert!(allowed(&egress, "192.0.2.7"));
        assert!(!allowed(&egress, "127.0.0.1"));
        assert!(!allowed(&egress, "::1"));
    }

    #[test]
    fn allowing_everything_does_not_open_the_metadata_addresses_by_accident() {
        let egress = Egress::new(&networks(&["0.0.0.0/0"]), &[]);
        assert!(!allowed(&egress, "169.254.169.254"));
    }

    #[test]
    fn of_equal_rules_the_refusal_wins() {
        let same = networks(&["192.0.2.0/24"]);
        assert!(!allowed(&Egress::new(&same, &same), "192.0.2.1"));
    }

    #[test]
    fn a_refusal_says_which_address_and_why() {
        let refusal = Egress::default().check("::ffff:169.254.169.254".parse().unwrap()).unwrap_err();
        assert_eq!(
            refusal.to_string(),
            "the address 169.254.169.254 is not allowed by the egress rules (cloud metadata address)"
        );
    }
}
