//! Jobs don't call the server that they run on, and the echo target is what a first job calls instead.

use std::process::Stdio;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::command::punctual;
use crate::scheduler::wait_for;
use crate::server::Server;

fn start(folder: &TempDir, allow_self: &str) -> Server {
    let mut command = punctual();
    command.env("PUNCTUAL_LOG__LEVEL", "info,punctual_runner=warn").stderr(Stdio::inherit());
    command.env("PUNCTUAL_ACTIONS__ALLOW_SELF", allow_self);
    Server::start_as(&mut command, folder.path(), &[])
}

/// Has a job call this URI once; its first history record.
fn record_of(server: &Server, job: &str, uri: &str) -> Value {
    let path = Server::path(&format!("/c/jobs/{job}"));
    let body = json!({"properties": {"action": {"type": "Http",
        "request": {"method": "PUT", "uri": uri, "body": r#"{"location": "West US"}"#},
        "retryPolicy": {"retryType": "none"}}}});
    assert_eq!(server.call("PUT", &path, Some(&body)).status, 201);
    let history = Server::path(&format!("/c/jobs/{job}/history"));
    wait_for("the job has run", || {
        server.call("GET", &history, None).body["value"].as_array()?.first().cloned()
    })
}

/// The URL of a collection that a job tries to create.
fn stolen(server: &Server) -> String {
    format!("http://{}{}", server.address, Server::path("/stolen"))
}

#[test]
fn a_job_can_not_change_the_server_that_it_runs_on() {
    let folder = TempDir::new().unwrap();
    let server = start(&folder, "false");
    server.put_collection("c");
    let port = server.address.rsplit(':').next().unwrap();
    let by_name = stolen(&server).replace("127.0.0.1", "localhost");
    let by_number = stolen(&server).replace("127.0.0.1", "2130706433");
    for (job, uri) in [("a", stolen(&server)), ("b", by_name), ("d", by_number)] {
        let record = record_of(&server, job, &uri);
        assert_eq!(record["properties"]["status"], "failed", "{record}");
        let message = record["properties"]["message"].as_str().unwrap();
        let expected = format!(
            ":{port} leads to this server itself, which jobs may not call; have the job call something else, or ask \
             the operator of this server to allow it with actions.allow_self"
        );
        assert!(message.contains(&expected), "{message}");
    }
    assert_eq!(server.call("GET", &Server::path("/stolen"), None).status, 404);
}

#[test]
fn an_operator_can_allow_jobs_to_call_the_server() {
    let folder = TempDir::new().unwrap();
    let server = start(&folder, "true");
    server.put_collection("c");
    let record = record_of(&server, "a", &stolen(&server));
    assert_eq!(record["properties"]["status"], "completed", "{record}");
    assert_eq!(server.call("GET", &Server::path("/stolen"), None).status, 200);
}

#[test]
fn the_echo_target_answers_what_a_job_sent_but_no_credentials() {
    let folder = TempDir::new().unwrap();
    let mut server = start(&folder, "false");
    server.put_collection("c");
    let line = server.wait_for_line("which calls the echo target on ");
    let echo = line.split(" on ").nth(1).unwrap().trim_end_matches(':');
    let body = json!({"properties": {"action": {"type": "Http", "request": {
        "method": "POST", "uri": format!("http://{echo}/some/path"), "body": "hello to you",
        "headers": {"Authorization": "Bearer abcdefgh", "x-own": "not repeated"}}}}});
    assert_eq!(server.call("PUT", &Server::path("/c/jobs/j"), Some(&body)).status, 201);
    let record = wait_for("the job has run", || {
        server.call("GET", &Server::path("/c/jobs/j/history"), None).body["value"]
            .as_array()?
            .first()
            .cloned()
    });
    let message = record["properties"]["message"].as_str().unwrap();
    assert!(message.contains("Body: POST /some/path\n") && message.ends_with("\nhello to you"), "{message}");
    assert!(message.contains("x-ms-scheduler-jobid: j\n"), "{message}");
    assert!(!message.contains("abcdefgh") && !message.contains("not repeated"), "{message}");
}

#[test]
fn the_echo_target_is_on_loopback_only_and_can_be_left_out() {
    let folder = TempDir::new().unwrap();
    let refused =
        punctual().args(["serve"]).env("PUNCTUAL_SERVER__ECHO_LISTEN", "0.0.0.0:1").output().unwrap();
    let error = String::from_utf8(refused.stderr).unwrap();
    assert!(error.contains("server.echo_listen: '0.0.0.0:1' is not a loopback address and port"), "{error}");
    let mut command = punctual();
    command.env("PUNCTUAL_SERVER__ECHO_LISTEN", "").stderr(Stdio::inherit());
    let mut server = Server::start_as(&mut command, folder.path(), &[]);
    assert_eq!(server.wait_for_line("Create a first job"), "Create a first job:");
}
