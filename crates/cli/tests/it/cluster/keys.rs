//! Keys of nodes that share a database.

use serde_json::{Value, json};

use super::{Cluster, put, write_keys};
use crate::command::punctual;
use crate::scheduler::wait_for;
use crate::server::Server;

const KEYS: &str = "/keys?api-version=2026-11-01";
const ROTATE: &str = "/keys/rotate?api-version=2026-11-01";

fn sealing(node: &Server) -> Option<u64> {
    let keys = node.call("GET", KEYS, None).body;
    let seals = keys["keys"].as_array()?.iter().find(|key| key["state"] == "seals")?;
    seals["id"].as_u64()
}

fn start(cluster: &Cluster, name: &str) -> Server {
    let mut command = cluster.command(name);
    command.env("PUNCTUAL_DATA__KEY_FILE", cluster.folder.path().join(format!("keys-{name}")));
    Server::start_as(&mut command, &cluster.data(name), &[])
}

#[test]
fn a_new_key_seals_when_all_nodes_know_it_and_the_old_one_goes() {
    let Some(cluster) = Cluster::new() else { return };
    let file = |name: &str| cluster.folder.path().join(format!("keys-{name}"));
    let old = std::fs::read_to_string(cluster.folder.path().join("keys")).unwrap();
    write_keys(&file("a"), &old);
    write_keys(&file("b"), &old);
    let (a, b) = (start(&cluster, "a"), start(&cluster, "b"));
    a.put_collection("c");
    let secret = json!({"type": "Http", "request": {"method": "GET", "uri": cluster.receiver.url("/ok"),
        "authentication": {"type": "Basic", "username": "u", "password": "p-4-s-s"}}});
    put(&b, "j", &json!({ "action": secret }));

    let refused = a.call("POST", ROTATE, None);
    assert_eq!(refused.status, 409, "{}", refused.body);
    let told = refused.body["error"]["message"].as_str().unwrap();
    assert!(told.contains("ther nodes share the store (b)") && told.contains("keys generate 2"), "{told}");

    let line = punctual().args(["keys", "generate", "2"]).output().unwrap().stdout;
    let both = format!("{old}{}", String::from_utf8(line).unwrap());
    write_keys(&file("a"), &both);
    let waits = a.call("POST", ROTATE, None);
    assert_eq!(waits.status, 409, "{}", waits.body);
    let told = waits.body["error"]["message"].as_str().unwrap();
    assert!(told.contains("ey 2 seals as soon as all nodes know it, and these don't yet: b"), "{told}");
    assert_eq!((sealing(&a), sealing(&b)), (Some(1), Some(1)));
    put(&a, "k", &json!({ "action": secret }));

    write_keys(&file("b"), &both);
    let rotated = b.call("POST", ROTATE, None);
    assert_eq!(rotated.status, 200, "{}", rotated.body);
    wait_for("both seal with it", || (sealing(&a) == Some(2) && sealing(&b) == Some(2)).then_some(()));
    wait_for("everything is sealed anew", || {
        let keys: Value = a.call("GET", KEYS, None).body;
        (keys["resealing"]["done"] == true && keys["keys"][0]["jobCount"] == 0).then_some(())
    });
    let retired = a.call("POST", "/keys/1/retire?api-version=2026-11-01", None);
    assert_eq!(retired.status, 200, "{}", retired.body);
    wait_for("the other node forgets it as well", || {
        (b.call("GET", KEYS, None).body["keys"].as_array()?.len() == 1).then_some(())
    });
    for job in ["j", "k"] {
        assert_eq!(b.call("POST", &Server::path(&format!("/c/jobs/{job}/run")), None).status, 200);
        let hit = cluster.receiver.wait_for(job, 1).remove(0);
        assert!(hit.header("authorization").starts_with("Basic "), "its secret is as it was");
    }
}
