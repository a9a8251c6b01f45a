//! What one node is told holds on all of them, and the work is shared.

use serde_json::{Value, json};

use super::{Cluster, in_seconds, put, wait_for_history};
use crate::raw;
use crate::scheduler::wait_for;
use crate::server::Server;

/// How many attempts each node has in flight.
fn in_flight(cluster: &Cluster) -> Vec<i64> {
    ["a", "b", "c"]
        .map(|name| {
            cluster.number(&format!(
                "SELECT coalesce(sum(in_flight), 0)::bigint FROM nodes WHERE name = '{name}'"
            ))
        })
        .into_iter()
        .filter(|count| *count > 0)
        .collect()
}

fn shares_the_work(names: &[&str]) {
    let Some(cluster) = Cluster::new() else { return };
    let nodes: Vec<Server> = names.iter().map(|name| cluster.node(name)).collect();
    nodes[0].put_collection("c");
    let due = in_seconds(5);
    const COUNT: usize = 60;
    for number in 0..COUNT {
        let job = json!({"startTime": due, "action": cluster.action("/hang")});
        put(&nodes[number % nodes.len()], &format!("j{number}"), &job);
    }
    wait_for("all are under way, on every node", || {
        let counts = in_flight(&cluster);
        (counts.iter().sum::<i64>() == COUNT as i64 && counts.len() == nodes.len()).then_some(())
    });
    cluster.receiver.let_go(u32::try_from(COUNT).unwrap());
    for number in 0..COUNT {
        let job = format!("j{number}");
        assert_eq!(wait_for_history(&nodes[0], &job, 1).len(), 1);
        assert_eq!(cluster.receiver.hits_of(&job).len(), 1, "{job} was fired by one node, once");
    }
    nodes.into_iter().for_each(|node| drop(node.stop()));
    assert_eq!(cluster.node_count(), 0, "whoever stops leaves");
}

#[test]
fn two_nodes_share_the_work() {
    shares_the_work(&["a", "b"]);
}

#[test]
fn three_nodes_share_the_work() {
    shares_the_work(&["a", "b", "c"]);
}

#[test]
fn an_edit_on_one_node_holds_on_the_other() {
    let Some(cluster) = Cluster::new() else { return };
    let (a, b) = (cluster.node("a"), cluster.node("b"));
    a.put_collection("c");
    let due = in_seconds(3);
    for number in 0..20 {
        put(&a, &format!("j{number}"), &json!({"startTime": due, "action": cluster.action("/old")}));
    }
    wait_for("they are claimed", || {
        (cluster.number("SELECT count(*) FROM agenda WHERE holder IS NOT NULL") > 0).then_some(())
    });
    let mut edited = 0;
    for number in 0..20 {
        let path = Server::path(&format!("/c/jobs/j{number}"));
        let body = json!({"properties": {"action": {"request": {"uri": cluster.receiver.url("/new")}}}});
        // What was due meanwhile has run.
        if cluster.receiver.hits_of(&format!("j{number}")).is_empty() {
            assert_eq!(b.call("PATCH", &path, Some(&body)).status, 200);
            let old = cluster.receiver.hits_of(&format!("j{number}"));
            edited += usize::from(old.is_empty());
        }
    }
    assert!(edited > 0, "the test was too slow for its own jobs");
    for number in 0..20 {
        wait_for_history(&a, &format!("j{number}"), 1);
        let hits = cluster.receiver.hits_of(&format!("j{number}"));
        assert_eq!(hits.len(), 1, "j{number}");
    }
    let new = cluster.receiver.hits().iter().filter(|hit| hit.path == "/new").count();
    assert!(
        new >= edited,
        "{new} of {edited}: what was not fired when the edit was acknowledged is fired anew"
    );
}

fn create(cluster: &Cluster, name: &str) -> String {
    let created = cluster.run(&["token", "create", name, "--role", "owner", "--scope", "/"]);
    assert!(created.status.success(), "{created:?}");
    String::from_utf8(created.stdout).unwrap().trim().to_owned()
}

#[test]
fn a_token_that_is_made_or_revoked_is_so_on_every_node() {
    let Some(cluster) = Cluster::new() else { return };
    let admin = create(&cluster, "admin");
    let (a, b) = (cluster.node("a"), cluster.node("b"));
    let tokens = "/tokens?api-version=2026-11-01";
    let body = json!({"name": "guest", "grants": [{"role": "reader", "scope": "/"}]});
    let made = a.call_as(Some(&admin), "POST", tokens, Some(&body)).body;
    let (guest, id) = (made["token"].as_str().unwrap(), made["id"].as_str().unwrap());
    let me = |node: &Server| node.call_as(Some(guest), "GET", "/me?api-version=2026-11-01", None).status;
    wait_for("the other node knows it", || (me(&b) == 200).then_some(()));
    assert_eq!(
        a.call_as(Some(&admin), "DELETE", &format!("/tokens/{id}?api-version=2026-11-01"), None).status,
        200
    );
    assert_eq!(me(&a), 401);
    wait_for("the other node refuses it", || (me(&b) == 401).then_some(()));
}

#[test]
fn who_signs_out_on_one_node_is_signed_out_on_the_other() {
    let Some(cluster) = Cluster::new() else { return };
    let admin = create(&cluster, "admin");
    let (a, b) = (cluster.node("a"), cluster.node("b"));
    let send = |node: &Server, method: &str, path: &str, more: &str, body: &str| {
        let headers = format!(
            "Sec-Fetch-Site: same-origin\r\nX-Punctual-Page: 1\r\nContent-Type: application/json\r\n{more}"
        );
        raw::exchange(&node.address, raw::request(method, &node.address, path, &headers, body).as_bytes())
    };
    let session = "/session?api-version=2026-11-01";
    let signed_in = send(&a, "POST", session, "", &json!({ "token": admin }).to_string());
    assert_eq!(signed_in.status, 201, "{}", signed_in.text);
    let cookie = signed_in.head.split("__Host-punctual-session=").nth(1).unwrap().split(';').next().unwrap();
    let cookie = format!("Cookie: __Host-punctual-session={cookie}\r\n");
    let me = |node: &Server| send(node, "GET", "/me?api-version=2026-11-01", &cookie, "").status;
    assert_eq!((me(&a), me(&b)), (200, 200));
    assert_eq!(send(&b, "DELETE", session, &cookie, "").status, 200);
    assert_eq!((me(&a), me(&b)), (401, 401));
}

#[test]
fn the_audit_log_of_two_nodes_is_one_chain() {
    let Some(cluster) = Cluster::new() else { return };
    let (a, b) = (cluster.node("a"), cluster.node("b"));
    a.put_collection("c");
    for number in 0..10 {
        let job = json!({"startTime": "2099-01-01T00:00:00Z", "action": cluster.action("/ok")});
        let node = if number % 2 == 0 { &a } else { &b };
        let path = Server::path(&format!("/c/jobs/j{number}"));
        // Nobody may be 18 months ahead.
        assert_eq!(node.call("PUT", &path, Some(&json!({ "properties": job }))).status, 400);
        put(
            node,
            &format!("j{number}"),
            &json!({"startTime": in_seconds(3_600), "action": cluster.action("/ok")}),
        );
    }
    a.stop();
    b.stop();
    let verified = cluster.run(&["audit", "verify", "--output", "json"]);
    assert!(verified.status.success(), "{verified:?}");
    let verified: Value = serde_json::from_slice(&verified.stdout).unwrap();
    assert!(verified["checked"].as_u64() >= Some(11) && verified["unsealed"] == 0, "{verified}");
    let checked = cluster.run(&["doctor"]);
    assert!(checked.status.success(), "{checked:?}");
}

#[test]
fn a_job_can_not_change_another_node() {
    let Some(cluster) = Cluster::new() else { return };
    let (a, b) = (cluster.node("a"), cluster.node_with("b", &["--role", "api"]));
    a.put_collection("c");
    let uri = format!("http://{}{}", b.address, Server::path("/stolen"));
    wait_for("the first node knows the second", || {
        let job = json!({"action": {"type": "Http", "retryPolicy": {"retryType": "none"},
            "request": {"method": "PUT", "uri": uri, "body": r#"{"location": "West US"}"#}}});
        put(&a, "j", &job);
        let record = wait_for_history(&a, "j", 1).remove(0);
        let message = record["properties"]["message"].as_str().unwrap().to_owned();
        a.call("DELETE", &Server::path("/c/jobs/j"), None);
        message.contains("which jobs may not call").then_some(())
    });
}
