//! Sessions over a real server: they outlive restarts and not their token, and no secret of theirs is anywhere.

use std::fs::{self, File};
use std::path::Path;

use serde_json::{Value, json};

use crate::command::{punctual, stdout};
use crate::raw::{self, RawAnswer};
use crate::scheduler::wait_for;
use crate::server::Server;

const SESSION: &str = "/session?api-version=2026-11-01";
const ME: &str = "/me?api-version=2026-11-01";

fn create(data: &Path, name: &str) -> String {
    let data = data.to_str().unwrap();
    let arguments = ["token", "create", name, "--role", "owner", "--scope", "/", "--data", data];
    stdout(&arguments, "").trim().to_owned()
}

/// One request as our own page sends it: status, head and body.
fn send(server: &Server, method: &str, path: &str, more: &str, body: &str) -> (u16, String, Value) {
    let headers = format!(
        "Sec-Fetch-Site: same-origin\r\nX-Punctual-Page: 1\r\nContent-Type: application/json\r\n{more}"
    );
    let request = raw::request(method, &server.address, path, &headers, body);
    let RawAnswer { status, head, text } = raw::exchange(&server.address, request.as_bytes());
    (status, head, serde_json::from_str(&text).unwrap_or(Value::Null))
}

/// Signs in: the secret of the session.
fn sign_in(server: &Server, token: &str) -> String {
    let (status, head, body) = send(server, "POST", SESSION, "", &json!({ "token": token }).to_string());
    assert_eq!(status, 201, "{body}");
    let cookie = head.split("__Host-punctual-session=").nth(1).expect("a cookie is set");
    cookie.split(';').next().unwrap().to_owned()
}

fn status(server: &Server, method: &str, path: &str, secret: &str) -> u16 {
    send(server, method, path, &format!("Cookie: __Host-punctual-session={secret}\r\n"), "").0
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
fn a_session_outlives_a_restart_and_not_its_token() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let token = create(&data, "admin");
    let server = Server::start(&data, &["--role", "api"]);
    let (one, other) = (sign_in(&server, &token), sign_in(&server, &token));
    assert_ne!(one, other);
    assert_eq!(status(&server, "DELETE", SESSION, &other), 200);
    server.stop();

    let server = Server::start(&data, &["--role", "api"]);
    assert_eq!(status(&server, "GET", ME, &one), 200);
    assert_eq!(status(&server, "GET", ME, &other), 401);
    server.stop();

    stdout(&["token", "rotate", "admin", "--data", data.to_str().unwrap()], "");
    let server = Server::start(&data, &["--role", "api"]);
    assert_eq!(status(&server, "GET", ME, &one), 401);
    server.stop();
}

#[test]
fn a_session_ends_within_a_second_of_its_token() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let (admin, guest) = (create(&data, "admin"), create(&data, "guest"));
    let server = Server::start(&data, &["--role", "api"]);
    let secret = sign_in(&server, &guest);
    let me = send(&server, "GET", ME, &format!("Cookie: __Host-punctual-session={secret}\r\n"), "").2;
    let id = me["caller"]["id"].as_str().unwrap();
    let path = format!("/tokens/{id}?api-version=2026-11-01");
    assert_eq!(server.call_as(Some(&admin), "DELETE", &path, None).status, 200);
    // The answer to the revocation is enough; no time need pass.
    assert_eq!(status(&server, "GET", ME, &secret), 401);
    server.stop();
}

#[test]
fn neither_the_secret_of_a_session_nor_the_token_is_in_a_log_or_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let (data, log) = (folder.path().join("data"), folder.path().join("server.log"));
    let token = create(&data, "admin");
    let mut command = punctual();
    command.env("PUNCTUAL_LOG__LEVEL", "trace").stderr(File::create(&log).unwrap());
    let server = Server::start_as(&mut command, &data, &["--role", "api"]);
    let (kept, ended) = (sign_in(&server, &token), sign_in(&server, &token));
    assert_eq!(status(&server, "GET", ME, &kept), 200);
    assert_eq!(status(&server, "DELETE", SESSION, &ended), 200);
    assert_eq!(status(&server, "GET", ME, &ended), 401);
    // Wrong ones, too: they may be good elsewhere.
    let made_up = "pct_c4n4ry000000000000000000000000000000000000000000";
    let refused = send(&server, "POST", SESSION, "", &json!({ "token": made_up }).to_string());
    assert_eq!(refused.0, 401, "{}", refused.2);
    assert_eq!(status(&server, "GET", ME, "pcs_c4n4ry"), 401);
    let malformed = send(&server, "POST", SESSION, "", &format!("{{\"token\": \"{token}\", \"x\": 1}}"));
    assert_eq!(malformed.0, 400, "{}", malformed.2);
    let audit = wait_for("the log has the sign-out", || {
        let page = server.call_as(Some(&token), "GET", "/audit?api-version=2026-11-01", None).body;
        page.to_string().contains("Punctual/sessions/signOut/action").then_some(page)
    });
    server.stop();
    assert!(
        fs::read_to_string(&log).unwrap().contains("somebody signed in"),
        "the log is that of the server"
    );
    for secret in [kept.as_str(), &ended, &token, made_up, "c4n4ry"] {
        assert!(!audit.to_string().contains(secret), "{audit}");
        assert_eq!(files_with(folder.path(), secret), Vec::<String>::new());
    }
}

#[test]
fn settings_of_sessions_and_of_providers_are_checked_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret");
    fs::write(&secret, "\n").unwrap();
    let config = folder.path().join("punctual.toml");
    let refused = |text: &str, public_url: &str| {
        fs::write(&config, text).unwrap();
        let started = punctual()
            .args(["serve", "--listen", "127.0.0.1:0", "--config"])
            .arg(&config)
            .arg("--data")
            .arg(folder.path().join("data"))
            .env("PUNCTUAL_SERVER__PUBLIC_URL", public_url)
            .output()
            .unwrap();
        assert_eq!(started.status.code(), Some(2), "{started:?}");
        String::from_utf8(started.stderr).unwrap()
    };
    let issuer = |more: &str| {
        format!("[[auth.issuers]]\nissuer = \"http://127.0.0.1:1\"\naudience = \"a\"\nrules = []\n{more}\n")
    };
    let check = |text: &str, public_url: &str, part: &str| {
        let error = refused(text, public_url);
        assert!(error.contains(part), "{part}: {error}");
    };
    let https = "https://scheduler.example.com";
    check(
        "[auth.sessions]\nidle_minutes = 1",
        "",
        "auth.sessions.idle_minutes: must be from 5 to 10080, not 1",
    );
    check(
        "[auth.sessions]\nlifetime_hours = 0",
        "",
        "auth.sessions.lifetime_hours: must be from 1 to 720, not 0",
    );
    check(&issuer("client_id = \"w\""), "", "server.public_url must be how their browsers reach this server");
    check(&issuer("client_id = \"w\""), "http://a.example", "does not begin with https://");
    check(&issuer("client_secret_env = \"X\""), https, "there is a client secret and no client_id");
    let both = "client_id = \"w\"\nclient_secret_env = \"X\"\nclient_secret_file = \"y\"";
    check(&issuer(both), https, "are both set; choose one");
    let unset = "client_id = \"w\"\nclient_secret_env = \"PUNCTUAL_TEST_NO_SUCH_SECRET\"";
    check(&issuer(unset), https, "there is no environment variable PUNCTUAL_TEST_NO_SUCH_SECRET");
    check(
        &issuer("client_id = \"w\"\nclient_secret_file = \"/nowhere/x\""),
        https,
        "could not read /nowhere/x",
    );
    let empty = format!("client_id = \"w\"\nclient_secret_file = \"{}\"", secret.display());
    check(&issuer(&empty), https, "the client secret is empty");
    check(&issuer("client_id = \"w\"\nscopes = [\"a b\"]"), https, "'a b' is not a scope");
}
