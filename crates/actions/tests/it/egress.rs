//! The egress rules hold for whatever is dialled.

use std::time::Duration;

use ipnet::IpNet;
use punctual_actions::{Actions, Egress, Settings};
use tokio::time::timeout;

use crate::receiver::{Receiver, ok};
use crate::world::{actions, assert_succeeded, build, get, settings};

fn denying(networks: &[&str]) -> Actions {
    let deny: Vec<IpNet> = networks.iter().map(|network| network.parse().unwrap()).collect();
    build(Settings { egress: Egress::new(&[], &deny), ..settings() }).unwrap()
}

#[tokio::test]
async fn a_denied_address_is_refused_in_every_spelling() {
    let receiver = Receiver::start(|_| ok()).await;
    let actions = denying(&["127.0.0.0/8", "::1/128"]);
    let port = receiver.address.port();
    for host in [
        "127.0.0.1",
        "127.1",
        "0x7f.1",
        "0x7f000001",
        "2130706433",
        "0177.0.0.1",
        "017700000001",
        "127.0.0.1.",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[::1]",
        "localhost",
        "LOCALHOST",
        "%31%32%37.0.0.1",
        "①②⑦.0.0.1",
    ] {
        let outcome = get(format!("http://{host}:{port}/")).fire(&actions).await;
        assert!(!outcome.succeeded, "{host}");
        assert!(
            outcome.message.contains("is not allowed by the egress rules"),
            "{host}: {}",
            outcome.message
        );
    }
    assert_eq!(receiver.connection_count(), 0);
}

#[tokio::test]
async fn metadata_and_link_local_addresses_are_refused_by_default() {
    let actions = actions();
    for host in [
        "169.254.169.254",
        "2852039166",
        "0xa9fea9fe",
        "[::ffff:169.254.169.254]",
        "[fe80::1]",
        "[fd00:ec2::254]",
        "100.100.100.200",
        "168.63.129.16",
        "0.0.0.0",
        "0",
        "[::]",
        "[64:ff9b::169.254.169.254]",
        "224.0.0.1",
    ] {
        let fired = get(format!("http://{host}/")).fire(&actions);
        let outcome = timeout(Duration::from_secs(2), fired).await.unwrap();
        assert!(
            outcome.message.contains("is not allowed by the egress rules"),
            "{host}: {}",
            outcome.message
        );
    }
}

#[tokio::test]
async fn loopback_is_allowed_by_default() {
    let receiver = Receiver::start(|_| ok()).await;
    let port = receiver.address.port();
    let actions = actions();
    for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "2130706433"] {
        assert_succeeded(&get(format!("http://{host}:{port}/")).fire(&actions).await);
    }
}

#[tokio::test]
async fn only_the_allowed_addresses_of_a_name_are_dialled() {
    let receiver = Receiver::start(|_| ok()).await;
    let actions = denying(&["::1/128"]);
    let outcome = get(format!("http://localhost:{}/", receiver.address.port())).fire(&actions).await;
    assert_succeeded(&outcome);
}
