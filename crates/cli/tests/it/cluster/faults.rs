//! Nodes that are killed, stopped and started again.

use serde_json::json;

use super::{Cluster, in_seconds, put, wait_for_history};
use crate::receiver::Hit;
use crate::scheduler::wait_for;

#[test]
fn what_a_killed_node_had_in_flight_is_repeated_by_another_with_the_same_tag() {
    let Some(cluster) = Cluster::new() else { return };
    let a = cluster.node("a");
    a.put_collection("c");
    put(&a, "j", &json!({"action": cluster.action("/hang")}));
    cluster.receiver.wait_for("j", 1);
    let b = cluster.node("b");
    a.signal("-KILL");
    assert!(!a.wait().success());
    let hits = cluster.receiver.wait_for("j", 2);
    cluster.receiver.let_go(2);
    let of = |hit: &Hit| (hit.tag().to_owned(), hit.attempt(), hit.expected_at());
    assert_eq!(of(&hits[0]), of(&hits[1]));
    assert_eq!(wait_for_history(&b, "j", 1).len(), 1);
    let took = hits[1].arrived - hits[0].arrived;
    assert!(took > std::time::Duration::from_secs(2), "not before the takeover time: {took:?}");
    assert_eq!(cluster.node_count(), 1);
}

#[test]
fn a_node_that_stops_hands_over_at_once() {
    let Some(cluster) = Cluster::new() else { return };
    let (a, b) = (cluster.node("a"), cluster.node("b"));
    a.put_collection("c");
    let due = in_seconds(4);
    for number in 0..30 {
        put(&a, &format!("j{number}"), &json!({"startTime": due, "action": cluster.action("/ok")}));
    }
    let held = "SELECT coalesce(sum(held), 0)::bigint FROM nodes WHERE name = 'a'";
    wait_for("the node holds some of them", || (cluster.number(held) > 0).then_some(()));
    a.stop();
    assert_eq!(cluster.node_count(), 1, "its lease is gone with it");
    for number in 0..30 {
        let job = format!("j{number}");
        wait_for_history(&b, &job, 1);
        assert_eq!(cluster.receiver.hits_of(&job).len(), 1, "{job} was fired once");
    }
}

#[test]
fn a_node_that_is_started_again_on_its_machine_does_not_wait() {
    let Some(cluster) = Cluster::new() else { return };
    let a = cluster.node("a");
    a.put_collection("c");
    put(&a, "j", &json!({"action": cluster.action("/hang")}));
    cluster.receiver.wait_for("j", 1);
    a.signal("-KILL");
    assert!(!a.wait().success());
    assert_eq!(cluster.node_count(), 1, "it had no chance to leave");
    let before = cluster.number("SELECT lease FROM nodes");
    let again = cluster.node("a");
    assert_eq!(cluster.node_count(), 1, "the lease before is ended by the start");
    assert!(cluster.number("SELECT lease FROM nodes") > before);
    let hits = cluster.receiver.wait_for("j", 2);
    cluster.receiver.let_go(2);
    assert_eq!(hits[0].tag(), hits[1].tag());
    wait_for_history(&again, "j", 1);
}

#[test]
fn a_database_that_is_started_again_costs_nothing_but_time() {
    let Some(cluster) = Cluster::on_its_own_server() else { return };
    let (a, b) = (cluster.node("a"), cluster.node("b"));
    a.put_collection("c");
    for number in 0..10 {
        put(&a, &format!("j{number}"), &json!({"startTime": in_seconds(4), "action": cluster.action("/ok")}));
    }
    cluster.restart_database("immediate");
    for number in 0..10 {
        let job = format!("j{number}");
        wait_for("the nodes serve again", || {
            let path = crate::server::Server::path(&format!("/c/jobs/{job}"));
            (b.call("GET", &path, None).status == 200).then_some(())
        });
        assert_eq!(wait_for_history(&b, &job, 1).len(), 1);
    }
    assert_eq!(cluster.node_count(), 2, "nobody was taken for dead");
    a.stop();
}
