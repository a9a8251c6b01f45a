//! Credentials in headers and URIs that were stored before these were sealed.

use rusqlite::Connection;
use serde_json::json;

use crate::receiver::Receiver;
use crate::server::Server;

const CANARY: &str = "c4n4ry";

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
