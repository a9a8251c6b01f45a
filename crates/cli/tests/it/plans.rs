//! Limits of the plans as settings of a server.

use serde_json::{Value, json};

use crate::server::Server;

#[test]
fn limits_come_from_the_configuration_and_the_setting_that_a_refusal_names_raises_them() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("punctual.toml");
    let data = folder.path().join("data");
    let job = json!({"properties": {"startTime": "2100-01-01T00:00:00Z", "action": {"type": "Http",
        "request": {"method": "GET", "uri": "http://127.0.0.1/x"}}}});
    let put = |server: &Server, name: &str| {
        let answer = server.call("PUT", &Server::path(&format!("/c1/jobs/{name}")), Some(&job));
        (answer.status, answer.body["error"]["message"].as_str().unwrap_or_default().to_owned())
    };
    std::fs::write(&file, "[plans]\nstart_ahead_months = 1200\n[plans.p20premium]\njobs = 2\n").unwrap();
    let arguments = ["--role", "api", "--config", file.to_str().unwrap()];
    let server = Server::start(&data, &arguments);
    server.put_collection("c1");
    assert_eq!(put(&server, "one").0, 201);
    assert_eq!(put(&server, "two").0, 201);
    let (status, message) = put(&server, "three");
    assert_eq!(status, 409);
    let setting = "The limit is the setting plans.p20premium.jobs; no larger plan allows more.";
    assert!(message.contains("has reached its quota of '2'") && message.contains(setting), "{message}");
    server.signal("-TERM");
    server.wait();

    std::fs::write(&file, "[plans]\nstart_ahead_months = 1200\n[plans.p20premium]\njobs = 3\n").unwrap();
    let server = Server::start(&data, &arguments);
    assert_eq!(put(&server, "three").0, 201);
    assert_eq!(put(&server, "four").0, 409);
    // A limit below what there is keeps what there is.
    server.signal("-TERM");
    server.wait();
    std::fs::write(&file, "[plans.p20premium]\njobs = 1\n").unwrap();
    let server = Server::start(&data, &arguments);
    let listed = server.call("GET", &Server::path("/c1/jobs"), None);
    assert_eq!(listed.body["value"].as_array().map(Vec::len), Some(3));
    assert_eq!(listed.body["nextLink"], Value::Null);
    assert_eq!(server.call("POST", &Server::path("/c1/disable"), None).status, 200);
}
