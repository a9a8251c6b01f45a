//! Service principals over a real server: what was issued outlives restarts, and what is stored gives nothing away.

use std::path::Path;

use serde_json::Value;

use crate::command::{punctual, stdout};
use crate::raw;
use crate::server::Server;

/// Makes a token on the data of a stopped server: its id and its secret.
fn create(data: &Path) -> (String, String) {
    let data = data.to_str().unwrap();
    let scope = ["--role", "contributor", "--scope", "/subscriptions/s1"];
    let made =
        stdout(&[&["token", "create", "ci", "--data", data, "--output", "json"], &scope[..]].concat(), "");
    let made: Value = serde_json::from_str(&made).unwrap();
    (made["id"].as_str().unwrap().to_owned(), made["token"].as_str().unwrap().to_owned())
}

/// Signs in: the answer to a form.
fn sign_in(server: &Server, id: &str, secret: &str) -> (u16, Value) {
    let form = format!("grant_type=client_credentials&client_id={id}&client_secret={secret}");
    let kind = "Content-Type: application/x-www-form-urlencoded\r\n";
    let request = raw::request("POST", &server.address, "/adfs/oauth2/token", kind, &form);
    let answer = raw::exchange(&server.address, request.as_bytes());
    (answer.status, serde_json::from_str(&answer.text).unwrap())
}

#[test]
fn what_was_issued_outlives_a_restart_and_not_its_token() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let (id, secret) = create(&data);
    let server = Server::start(&data, &["--role", "api"]);
    let (status, answer) = sign_in(&server, &id, &secret);
    assert_eq!(status, 200, "{answer}");
    let token = answer["access_token"].as_str().unwrap().to_owned();
    let groups = "/subscriptions/s1/resourcegroups?api-version=2021-04-01";
    let status = |server: &Server| server.call_as(Some(&token), "GET", groups, None).status;
    assert_eq!(status(&server), 200);
    let keys = server.call("GET", "/common/discovery/keys", None).body;
    server.stop();

    let server = Server::start(&data, &["--role", "api"]);
    assert_eq!(status(&server), 200);
    assert_eq!(server.call("GET", "/common/discovery/keys", None).body, keys);
    assert_eq!(server.call_as(Some(&token), "GET", "/subscriptions/s2?api-version=1", None).status, 403);
    assert_eq!(sign_in(&server, &id, "wrong").0, 401);
    server.stop();

    stdout(&["token", "rotate", "ci", "--data", data.to_str().unwrap()], "");
    let server = Server::start(&data, &["--role", "api"]);
    assert_eq!(status(&server), 401);
    assert_eq!(sign_in(&server, &id, &secret).0, 401);
    server.stop();
}

#[test]
fn keys_that_are_lost_take_the_signing_key_with_them_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let (id, secret) = create(&data);
    let server = Server::start(&data, &["--role", "api"]);
    let (_, answer) = sign_in(&server, &id, &secret);
    server.stop();
    std::fs::remove_file(data.join("keys")).unwrap();
    let server = Server::start(&data, &["--role", "api"]);
    let token = answer["access_token"].as_str().unwrap();
    let groups = "/subscriptions/s1/resourcegroups?api-version=2021-04-01";
    assert_eq!(server.call_as(Some(token), "GET", groups, None).status, 401);
    let (status, answer) = sign_in(&server, &id, &secret);
    assert_eq!(status, 200, "{answer}");
    let token = answer["access_token"].as_str().unwrap();
    assert_eq!(server.call_as(Some(token), "GET", groups, None).status, 200);
    server.stop();
}

#[test]
fn tenant_and_subscriptions_are_settings_and_must_be_guids() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = punctual();
    let tenant = "6F9619FF-8B86-D011-B42D-00C04FC964FF";
    command
        .env("PUNCTUAL_ARM__TENANT", tenant)
        .env("PUNCTUAL_ARM__SUBSCRIPTIONS", format!("{tenant}, {tenant}"));
    let server = Server::start_as(&mut command, &folder.path().join("data"), &["--role", "api"]);
    let found = server.call("GET", "/subscriptions?api-version=2022-12-01", None).body;
    let tenant = tenant.to_lowercase();
    assert_eq!(found["value"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&found["value"][0]["subscriptionId"], &found["value"][0]["tenantId"]),
        (&tenant.as_str().into(), &tenant.as_str().into())
    );
    server.stop();

    let refused = punctual()
        .arg("serve")
        .env("PUNCTUAL_ARM__TENANT", "t")
        .env("PUNCTUAL_ARM__SUBSCRIPTIONS", "a")
        .output();
    let error = String::from_utf8(refused.unwrap().stderr).unwrap();
    for key in ["arm.tenant: 't' is not a GUID", "arm.subscriptions: 'a' is not a GUID"] {
        assert!(error.contains(key), "{error}");
    }
}

#[test]
fn with_an_issuer_of_tokens_a_server_may_listen_for_others_though_nobody_has_one_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("punctual.toml");
    // Nobody is there to give keys.
    let issuer = "[[auth.issuers]]\nissuer = \"http://127.0.0.1:1\"\naudience = \"a\"\nrules = []\n";
    std::fs::write(&config, issuer).unwrap();
    let arguments = ["--role", "api", "--listen", "0.0.0.0:0", "--config", config.to_str().unwrap()];
    let mut server = Server::start(&folder.path().join("data"), &arguments);
    server.address = server.address.replace("0.0.0.0", "127.0.0.1");
    assert_eq!(server.call("GET", "/tenants?api-version=1", None).status, 401);
    // {"alg":"ES256","kid":"1"}.{"iss":"http://127.0.0.1:1"}
    let token = "eyJhbGciOiJFUzI1NiIsImtpZCI6IjEifQ.eyJpc3MiOiJodHRwOi8vMTI3LjAuMC4xOjEifQ.AAAA";
    let answer = server.call_as(Some(token), "GET", "/tenants?api-version=1", None);
    assert_eq!((answer.status, answer.body["error"]["code"].as_str()), (503, Some("ServiceUnavailable")));
    server.stop();
}
