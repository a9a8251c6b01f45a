//! `punctual serve` as its operator sees it.

use std::process::{Command, Stdio};

use serde_json::json;

use crate::command::{punctual, run, stdout};
use crate::server::Server;

fn a_job(uri: &str) -> serde_json::Value {
    json!({"properties": {
        "startTime": "2027-01-01T00:00:00Z",
        "action": {"type": "Http", "request": {"method": "GET", "uri": uri}}}})
}

#[test]
fn the_first_start_makes_its_data_and_prints_a_line_that_creates_a_job() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("new");
    let mut server = Server::start(&data, &["--role", "api"]);
    let line = server.wait_for_line("curl ");
    let ran = Command::new("bash").args(["-c", &line]).stdout(Stdio::piped()).output().unwrap();
    let answers = String::from_utf8(ran.stdout).unwrap();
    assert!(answers.contains("\"name\":\"c1/hello\""), "{line}\n{answers}");
    assert_eq!(server.call("GET", &Server::path("/c1/jobs/hello"), None).status, 200);
}

#[test]
fn sigterm_stops_it_cleanly() {
    let folder = tempfile::tempdir().unwrap();
    for signal in ["-TERM", "-INT"] {
        let server = Server::start(folder.path(), &[]);
        server.signal(signal);
        assert!(server.wait().success(), "{signal}");
    }
}

#[test]
fn a_second_process_on_the_same_data_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    let _first = Server::start(folder.path(), &["--role", "api"]);
    let second = run(&["serve", "--listen", "127.0.0.1:0", "--data", data], "");
    let error = String::from_utf8(second.stderr).unwrap();
    assert_eq!(second.status.code(), Some(1), "{error}");
    assert!(error.contains("is in use by process"), "{error}");
}

#[test]
fn it_does_not_listen_where_strangers_could_come_in() {
    let check = |address: &str, part: &str| {
        let refused = run(&["serve", "--listen", address], "");
        let error = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(2), "{error}");
        assert!(error.contains(part), "{error}");
    };
    check("0.0.0.0:8380", "can be reached from other machines");
    check("[::]:8380", "can be reached from other machines");
    check("192.0.2.1:8380", "can be reached from other machines");
    check("localhost", "is not an address and port");
}

#[test]
fn settings_come_from_file_environment_and_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("punctual.toml");
    std::fs::write(&file, "[server]\nrole = \"api\"\n[clock]\nstart = \"2020-01-01\"\n").unwrap();
    let mut server = Server::start(folder.path(), &["--config", file.to_str().unwrap()]);
    server.wait_for_line("VIRTUAL CLOCK: the schedule's time is 2020-01-01T00:00:0");
    server.wait_for_line("Role api: nothing fires");
    let refused = punctual().args(["serve"]).env("PUNCTUAL_SERVER__LISTN", "x").output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    let error = String::from_utf8(refused.stderr).unwrap();
    assert!(error.contains("server.listn: there is no such setting"), "{error}");
}

#[test]
fn acknowledged_writes_survive_kill_9() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["--role", "api"]);
    server.put_collection("c1");
    for index in 0..20 {
        let path = Server::path(&format!("/c1/jobs/j{index}"));
        assert_eq!(server.call("PUT", &path, Some(&a_job("http://127.0.0.1/x"))).status, 201);
    }
    server.signal("-KILL");
    server.wait();
    let server = Server::start(folder.path(), &["--role", "api"]);
    let listed = server.call("GET", &Server::path("/c1/jobs"), None);
    assert_eq!(listed.body["value"].as_array().unwrap().len(), 20);
}

#[test]
fn secrets_are_nowhere_in_the_data_directory_nor_in_answers() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["--role", "api"]);
    server.put_collection("c1");
    let mut job = a_job("https://127.0.0.1/x");
    job["properties"]["action"]["request"]["authentication"] =
        json!({"type": "Basic", "username": "u", "password": "MARKER-hunter2"});
    job["properties"]["action"]["errorAction"] = json!({"type": "StorageQueue", "queueMessage":
        {"storageAccount": "acc", "queueName": "q", "message": "m", "sasToken": "MARKER-sas"}});
    let path = Server::path("/c1/jobs/j");
    let answers = [
        server.call("PUT", &path, Some(&job)),
        server.call("GET", &path, None),
        server.call("PATCH", &path, Some(&json!({"properties": {"startTime": "2027-02-01"}}))),
        server.call("GET", &Server::path("/c1/jobs"), None),
    ];
    for answer in answers {
        assert!(answer.status < 300 && !answer.body.to_string().contains("MARKER"), "{}", answer.body);
    }
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        let found = bytes.windows(6).any(|part| part == b"MARKER");
        assert!(!found, "{} holds a secret in clear", path.display());
    }
}

#[test]
fn health_is_served_in_every_role() {
    let folder = tempfile::tempdir().unwrap();
    for role in ["all", "api", "runner"] {
        let server = Server::start(folder.path(), &["--role", role]);
        assert_eq!(server.call("GET", "/healthz", None).status, 200, "{role}");
        assert_eq!(server.call("GET", "/readyz", None).status, 200, "{role}");
        let expected = if role == "runner" { 404 } else { 200 };
        let listed = server.call("GET", "/subscriptions/s/providers?api-version=2016-03-01", None);
        assert_eq!(listed.status, expected, "{role}");
        server.signal("-TERM");
        server.wait();
    }
}

#[test]
fn every_answer_has_the_headers_that_clients_look_for() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["--role", "api"]);
    let missing = server.call("GET", &Server::path("/nowhere"), None);
    assert_eq!(missing.status, 404);
    assert_eq!(missing.body["error"]["code"], "ResourceNotFound");
    for header in [
        "content-type: application/json; charset=utf-8",
        "cache-control: no-cache",
        "x-ms-request-id: ",
        "x-ms-correlation-request-id: ",
        "x-ms-routing-request-id: local:",
        "x-ms-failure-cause: gateway",
        "strict-transport-security: ",
    ] {
        assert!(missing.headers.contains(header), "{header} is not in {}", missing.headers);
    }
}

#[test]
fn help_of_serve_is_golden() {
    let shown = stdout(&["serve", "--help"], "");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/serve-help.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, &shown).unwrap();
    }
    assert_eq!(shown, std::fs::read_to_string(path).unwrap_or_default(), "UPDATE_GOLDEN=1 writes it anew");
}

#[test]
fn it_serves_though_nobody_reads_what_it_says() {
    let folder = tempfile::tempdir().unwrap();
    let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let mut child = punctual()
        .args(["serve", "--listen", &address, "--role", "api", "--data"])
        .arg(folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    while std::net::TcpStream::connect(&address).is_err() {
        assert!(child.try_wait().unwrap().is_none(), "it ended instead of listening");
        std::thread::yield_now();
    }
    let sent = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    assert!(child.wait().unwrap().success());
}
