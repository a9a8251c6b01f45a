//! Which addresses actions may connect to.
//!
//! The rules apply to addresses, not to names. The address that is about to be connected to is checked, so a name
//! that resolves differently the second time, a redirect, or an address written in octal can't bypass them. An IPv6
//! address that contains an IPv4 address (mapped, compatible, translated, NAT64, 6to4, Teredo) must pass with both.
//!
//! The most specific rule decides. Between equally specific rules, the operator's denials win over the operator's
//! permissions, and these over the built-in rules. An address without a rule is allowed.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

/// Networks that are denied unless the operator allows them: they are never legitimate targets, and reachable only
/// from inside.
const BUILT_IN: &[(&str, &str)] = &[
    ("0.0.0.0/8", "unspecified address"),
    ("::/128", "unspecified address"),
    ("169.254.0.0/16", "link-local address"),
    ("fe80::/10", "link-local address"),
    ("224.0.0.0/4", "multicast address"),
    ("ff00::/8", "multicast address"),
    ("255.255.255.255/32", "broadcast address"),
    ("169.254.169.254/32", "cloud metadata address"),
    ("fd00:ec2::254/128", "cloud metadata address"),
    ("fd20:ce::254/128", "cloud metadata address"),
    ("100.100.100.200/32", "cloud metadata address"),
    ("168.63.129.16/32", "cloud metadata address"),
    ("192.0.0.192/32", "cloud metadata address"),
];

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
        let built_in = BUILT_IN.iter().map(|(network, reason)| Rule {
            network: network.parse().expect("the table holds networks"),
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
        judge(address)?;
        match address {
            IpAddr::V4(_) => Ok(()),
            IpAddr::V6(outer) => embedded(outer).into_iter().flatten().map(IpAddr::V4).try_for_each(judge),
        }
    }
}

/// Returns the IPv4 addresses that a gateway or tunnel may extract from an IPv6 address.
fn embedded(address: Ipv6Addr) -> [Option<Ipv4Addr>; 2] {
    let parts = address.segments();
    let bits = address.to_bits();
    let low = Ipv4Addr::from_bits(bits as u32);
    match parts {
        // The unspecified address and loopback are themselves.
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => [None, None],
        // Compatible; mapped (canonical addresses have none left); translated (RFC 2765).
        [0, 0, 0, 0, 0, 0 | 0xffff, ..] | [0, 0, 0, 0, 0xffff, 0, ..] => [Some(low), None],
        // NAT64, well known (RFC 6052).
        [0x64, 0xff9b, 0, 0, 0, 0, ..] => [Some(low), None],
        // NAT64, local (RFC 8215): the position of the address is configurable; these are the two usual ones.
        [0x64, 0xff9b, 1, ..] => {
            let split = ((bits >> 64) as u32) << 16 | ((bits >> 40) as u32 & 0xffff);
            [Some(low), Some(Ipv4Addr::from_bits(split))]
        }
        // 6to4.
        [0x2002, ..] => [Some(Ipv4Addr::from_bits((bits >> 80) as u32)), None],
        // Teredo: its server, and the client's address with all bits inverted.
        [0x2001, 0, ..] => {
            [Some(Ipv4Addr::from_bits((bits >> 64) as u32)), Some(Ipv4Addr::from_bits(!(bits as u32)))]
        }
        _ => [None, None],
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
