//! Who is there, and having one fire nothing.

use std::process::Output;

use serde_json::{Value, json};

use super::{Cluster, in_seconds, put, wait_for_history};
use crate::command::punctual;
use crate::scheduler::wait_for;
use crate::server::Server;

const NODES: &str = "/nodes?api-version=2026-11-01";

fn nodes(server: &Server) -> Value {
    let answer = server.call("GET", NODES, None);
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.body
}

fn ask(server: &Server, arguments: &[&str]) -> Output {
    let url = format!("http://{}", server.address);
    punctual().arg("nodes").args(arguments).args(["--server", &url]).output().unwrap()
}

#[test]
fn nodes_are_shown_and_a_drained_one_serves_and_fires_nothing() {
    let Some(cluster) = Cluster::new() else { return };
    let (a, b) = (cluster.node("a"), cluster.node("b"));
    a.put_collection("c");
    let shown = wait_for("both are seen", || {
        Some(nodes(&b))
            .filter(|shown| shown["value"][1]["fires"] == true && shown["value"][0]["fires"] == true)
    });
    assert_eq!(shown["store"]["kind"], "postgres");
    assert!(shown["store"]["detail"].as_str().unwrap().starts_with("PostgreSQL "), "{shown}");
    assert_eq!((&shown["takeoverSeconds"], &shown["clockAllowanceMs"]), (&json!(4), &json!(250)));
    let names: Vec<&Value> = shown["value"].as_array().unwrap().iter().map(|node| &node["name"]).collect();
    assert_eq!(names, ["a", "b"]);
    let (one, other) = (&shown["value"][0], &shown["value"][1]);
    assert_eq!((&one["self"], &other["self"]), (&json!(false), &json!(true)));
    assert_eq!((&one["rank"], &other["rank"]), (&json!(0), &json!(1)));
    assert_eq!(one["url"], format!("http://{}", a.address));

    let drained = ask(&b, &["drain", "a"]);
    assert!(drained.status.success(), "{drained:?}");
    wait_for("it fires nothing", || {
        let shown = nodes(&b);
        let a = &shown["value"][0];
        (a["fires"] == false && a["reason"] == "drained" && a["rank"] == Value::Null).then_some(())
    });
    assert_eq!(a.call("GET", "/readyz", None).status, 200, "it serves on");
    for number in 0..8 {
        let job = json!({"startTime": in_seconds(2), "action": cluster.action("/hang")});
        put(&a, &format!("j{number}"), &job);
    }
    wait_for("the other one has all of them", || {
        let shown = nodes(&a);
        (shown["value"][1]["inFlight"] == 8 && shown["value"][0]["held"] == 0).then_some(())
    });
    cluster.receiver.let_go(8);
    for number in 0..8 {
        wait_for_history(&b, &format!("j{number}"), 1);
    }

    let shown = String::from_utf8(ask(&b, &[]).stdout).unwrap();
    assert!(shown.contains("no: drained") && shown.lines().count() == 3, "{shown}");
    let shown = String::from_utf8(cluster.run(&["nodes"]).stdout).unwrap();
    assert!(shown.contains("no: drained") && shown.lines().count() == 3, "{shown}");
    assert!(ask(&a, &["undrain", "a"]).status.success());
    wait_for("it fires again", || (nodes(&b)["value"][0]["fires"] == true).then_some(()));
    let unknown = ask(&a, &["drain", "nobody"]);
    assert!(String::from_utf8(unknown.stderr).unwrap().contains("There is no node 'nobody'"));
}
