//! The audit log as its owner sees it.

use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};

use crate::command::{punctual, run, stdout};
use crate::server::Server;

const COLLECTION: &str =
    "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/c?api-version=2016-03-01";

fn ask(server: &Server, token: &str, arguments: &[&str]) -> Output {
    let server = format!("http://{}", server.address);
    punctual()
        .arg("audit")
        .args(arguments)
        .args(["--server", &server])
        .env("PUNCTUAL_TOKEN", token)
        .output()
        .unwrap()
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

/// The actions of exported entries, the latest first.
fn actions(exported: &str) -> Vec<String> {
    let entries = exported.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    entries
        .map(|entry| format!("{} {}", entry["action"].as_str().unwrap(), entry["outcome"].as_str().unwrap()))
        .collect()
}

fn verify(data: &Path, more: &[&str]) -> (Option<i32>, String) {
    let output = run(&[&["audit", "verify", "--data", data.to_str().unwrap()], more].concat(), "");
    (output.status.code(), text(output.stdout))
}

#[test]
fn who_did_what_is_listed_exported_and_verified() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let directory = data.to_str().unwrap();
    let create = ["token", "create", "root", "--role", "owner", "--scope", "/", "--data", directory];
    let root = stdout(&create, "").trim_end().to_owned();
    let server = Server::start(&data, &["--role", "api"]);
    let body = json!({"location": "West US"});
    assert_eq!(server.call_as(Some(&root), "PUT", COLLECTION, Some(&body)).status, 201);
    assert_eq!(server.call_as(Some("pct_stranger"), "DELETE", COLLECTION, None).status, 401);
    let listed = ask(&server, &root, &["list", "--caller", "root", "--scope", "/subscriptions/s"]);
    assert!(listed.status.success(), "{listed:?}");
    let listed = text(listed.stdout);
    assert!(listed.contains("Microsoft.Scheduler/jobcollections/write"), "{listed}");
    let denied = ask(&server, "pct_stranger", &["list"]);
    assert_eq!(denied.status.code(), Some(2));
    server.stop();

    let exported = stdout(&["audit", "export", "--data", directory], "");
    let mut found = actions(&exported);
    found.sort();
    assert_eq!(
        found,
        [
            "Microsoft.Scheduler/jobcollections/delete unauthenticated",
            "Microsoft.Scheduler/jobcollections/write done",
            "Punctual/tokens/write done",
        ]
    );
    assert!(!exported.contains("pct_"), "no secrets");

    let (code, said) = verify(&data, &[]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.starts_with("3 entries checked, 0 not sealed yet: nothing was changed\n"), "{said}");
    let head = said.split("the chain ends at ").nth(1).unwrap().trim_end().to_owned();
    assert_eq!(verify(&data, &["--head", &head]).0, Some(0));
    let (code, said) = verify(&data, &["--head", "9:00"]);
    assert_eq!(code, Some(1));
    assert!(said.contains("piece 9 of the chain is missing, which once was its end"), "{said}");
    assert_eq!(verify(&data, &["--head", "x"]).0, Some(2));

    let server = Server::start(&data, &["--role", "api"]);
    let verified = ask(&server, &root, &["verify", "--head", &head, "--output", "json"]);
    assert_eq!(verified.status.code(), Some(0), "{verified:?}");
    let verified: Value = serde_json::from_slice(&verified.stdout).unwrap();
    assert_eq!((&verified["checked"], &verified["problems"]), (&json!(3), &json!([])));
    server.stop();
}
