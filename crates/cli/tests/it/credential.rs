//! Credentials in headers and URIs: in no answer, log, history record or file.

use std::fs::{self, File};
use std::path::Path;

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::command::punctual;
use crate::receiver::Receiver;
use crate::scheduler::wait_for;
use crate::server::Server;

const CANARY: &str = "c4n4ry";

/// An action with a canary at each place, which the target refuses.
fn action(receiver: &Receiver) -> Value {
    let uri = receiver.url("/fail").replace("http://", &format!("http://user:{CANARY}-uri@"));
    json!({"type": "Http", "retryPolicy": {"retryType": "none"}, "request": {"method": "GET", "uri": uri,
        "headers": {"Authorization": format!("Bearer {CANARY}-bearer"), "X-Api-Key": format!("{CANARY}-key"),
            "Cookie": format!("session={CANARY}-cookie"), "X-Mine": format!("{CANARY}-mine")}}})
}

/// The files below a folder that contain a text.
fn files_with(folder: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_with(&path, text));
        } else if fs::read(&path).unwrap().windows(text.len()).any(|window| window == text.as_bytes()) {
            found.push(path.display().to_string());
        }
    }
    found
}

#[test]
fn credentials_of_a_request_are_nowhere_in_the_clear() {
    let folder = tempfile::tempdir().unwrap();
    let (data, log) = (folder.path().join("data"), folder.path().join("server.log"));
    let receiver = Receiver::start();
    let mut command = punctual();
    command.env("PUNCTUAL_LOG__LEVEL", "trace").stderr(File::create(&log).unwrap());
    command.env("PUNCTUAL_ACTIONS__CREDENTIAL_HEADERS", "X-Mine,X-Api-Key");
    let server = Server::start_as(&mut command, &data, &[]);
    server.put_collection("c");
    let mut action_and_error = action(&receiver);
    action_and_error["errorAction"] = action(&receiver);
    let body = json!({"properties": {"action": action_and_error}});
    let job = Server::path("/c/jobs/j");
    let created = server.call("PUT", &job, Some(&body));
    assert_eq!(created.status, 201, "{}", created.body);
    let history = wait_for("both actions were carried out", || {
        let page = server.call("GET", &Server::path("/c/jobs/j/history"), None).body;
        (page["value"].as_array()?.len() == 2).then_some(page)
    });
    let sent = receiver.wait_for("j", 2);
    assert_eq!(sent[0].header("x-mine"), format!("{CANARY}-mine"));
    assert_eq!(sent[1].header("authorization"), format!("Bearer {CANARY}-bearer"));
    let listed = server.call("GET", &Server::path("/c/jobs"), None).body;
    let refused = server.call(
        "PATCH",
        &job,
        Some(&json!({"properties": {"action": {"type": "Http", "request":
        {"uri": "http://other.example/"}}}})),
    );
    assert_eq!(refused.status, 409, "a job that has ended is final: {}", refused.body);
    server.stop();
    for answer in [created.body, history, listed, refused.body] {
        assert!(!answer.to_string().contains(CANARY), "{answer}");
    }
    assert_eq!(files_with(folder.path(), CANARY), Vec::<String>::new());
}

#[test]
fn what_was_stored_in_the_clear_is_masked_and_sealed_at_its_next_write() {
    let folder = tempfile::tempdir().unwrap();
    let receiver = Receiver::start();
    let server = Server::start(folder.path(), &["--role", "api"]);
    server.put_collection("c");
    let job = Server::path("/c/jobs/j");
    let plain = json!({"properties": {"action": {"type": "Http", "request": {"method": "GET", "uri": receiver.url("/ok")}}}});
    assert_eq!(server.call("PUT", &job, Some(&plain)).status, 201);
    server.stop();
    // As it was stored before.
    let uri = receiver.url("/ok");
    let old_uri = uri.replace("http://", &format!("http://user:{CANARY}@"));
    let document = format!(
        r#"1{{"action":{{"kind":{{"http":{{"uri":"{old_uri}","method":"GET","headers":[["x-api-key","{CANARY}"]]}}}}}},"enabled":true}}"#
    );
    let database = folder.path().join("punctual.db");
    let connection = Connection::open(&database).unwrap();
    assert_eq!(connection.execute("UPDATE jobs SET document = ?1", [document.as_bytes()]).unwrap(), 1);
    connection.close().unwrap();

    let server = Server::start(folder.path(), &["--role", "api"]);
    let shown = server.call("GET", &job, None).body;
    assert_eq!(shown["properties"]["action"]["request"]["headers"], json!({"x-api-key": "********"}));
    let masked = uri.replace("http://", "http://********@");
    assert_eq!(shown["properties"]["action"]["request"]["uri"], masked);
    // What was read is sent back: masks stand for what is stored.
    assert_eq!(server.call("PUT", &job, Some(&shown)).status, 200);
    server.stop();
    let connection = Connection::open(&database).unwrap();
    connection.execute_batch("VACUUM").unwrap();
    let (document, sealed): (Vec<u8>, Option<Vec<u8>>) = connection
        .query_row("SELECT document, sealed FROM jobs", [], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap();
    connection.close().unwrap();
    assert!(!String::from_utf8(document).unwrap().contains(CANARY) && sealed.is_some());

    let _server = Server::start(folder.path(), &[]);
    let hit = receiver.wait_for("j", 1).remove(0);
    assert_eq!(hit.header("x-api-key"), CANARY);
    assert_eq!(hit.header("authorization"), "Basic dXNlcjpjNG40cnk=");
}
