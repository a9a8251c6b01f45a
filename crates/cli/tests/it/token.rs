//! Tokens as their owner sees them: the verbs of the command line, and what a server on the network asks for.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::command::{punctual, run, stdout};
use crate::server::Server;

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

/// Makes a token on the data of a stopped server; its secret.
fn create(data: &Path, name: &str, role: &str, scope: &str) -> String {
    let data = data.to_str().unwrap();
    let arguments = ["token", "create", name, "--role", role, "--scope", scope, "--data", data];
    stdout(&arguments, "").trim_end().to_owned()
}

/// Runs `punctual token` against a server, as the holder of a token.
fn ask(server: &Server, token: Option<&str>, arguments: &[&str]) -> Output {
    let mut command = punctual();
    command.arg("token").args(arguments).args(["--server", &format!("http://{}", server.address)]);
    command.env_remove("PUNCTUAL_TOKEN").env_remove("PUNCTUAL_TOKEN_FILE");
    if let Some(token) = token {
        command.env("PUNCTUAL_TOKEN", token);
    }
    command.output().unwrap()
}

/// Whether a text stands in any file of a folder.
fn found_in(folder: &Path, text: &str) -> bool {
    std::fs::read_dir(folder).unwrap().any(|entry| {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        bytes.windows(text.len()).any(|part| part == text.as_bytes())
    })
}

#[test]
fn a_server_on_the_network_starts_only_if_somebody_has_a_token() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("new data");
    let serve = |arguments: &[&str]| {
        let data = data.to_str().unwrap();
        run(&[&["serve", "--listen", "0.0.0.0:0", "--role", "api", "--data", data], arguments].concat(), "")
    };
    let refused = serve(&[]);
    assert_eq!(refused.status.code(), Some(2));
    let error = text(refused.stderr);
    assert!(
        error.contains("0.0.0.0:0 can be reached from other machines, and nobody has a token yet"),
        "{error}"
    );
    assert!(!data.exists(), "a refused start leaves nothing behind");

    // Data without tokens makes no difference.
    Server::start(&data, &["--role", "api"]).stop();
    assert_eq!(serve(&[]).status.code(), Some(2));

    // What it prints is what helps.
    let command = error.lines().find(|line| line.contains("token create")).unwrap().trim();
    let bin = Path::new(env!("CARGO_BIN_EXE_punctual")).parent().unwrap().display();
    let path = format!("{bin}:{}", std::env::var_os("PATH").unwrap().into_string().unwrap());
    let ran = Command::new("bash").args(["-c", command]).env("PATH", path).output().unwrap();
    assert!(ran.status.success(), "{command}: {ran:?}");
    let secret = text(ran.stdout).trim_end().to_owned();
    assert!(secret.starts_with("pct_") && secret.len() == 53, "{secret}");
    let mut server = Server::start(&data, &["--role", "api", "--listen", "0.0.0.0:0"]);
    server.address = server.address.replace("0.0.0.0", "127.0.0.1");
    assert_eq!(server.call("GET", "/healthz", None).status, 200);
    let stranger = server.call("GET", "/doctor", None);
    assert_eq!(
        (stranger.status, stranger.body["error"]["code"].as_str()),
        (401, Some("AuthenticationFailed"))
    );
    assert_eq!(server.call_as(Some(&secret), "GET", "/doctor", None).status, 200);
    server.stop();

    let off = punctual()
        .args(["serve", "--listen", "0.0.0.0:0", "--data", data.to_str().unwrap()])
        .env("PUNCTUAL_AUTH__MODE", "off")
        .output()
        .unwrap();
    let error = text(off.stderr);
    assert_eq!(off.status.code(), Some(2), "{error}");
    assert!(error.contains("auth.mode: \"off\" lets everybody do everything"), "{error}");
}

#[test]
fn on_loopback_a_token_is_asked_for_as_soon_as_there_is_one_or_never() {
    let folder = tempfile::tempdir().unwrap();
    let start = |mode: &str| {
        let mut command = punctual();
        command.env("PUNCTUAL_AUTH__MODE", mode).stderr(Stdio::inherit());
        Server::start_as(&mut command, folder.path(), &["--role", "api"])
    };
    let status = |server: Server| {
        let status = server.call("GET", "/doctor", None).status;
        server.stop();
        status
    };
    assert_eq!([status(start("auto")), status(start("off")), status(start("required"))], [200, 200, 401]);
    let secret = create(folder.path(), "admin", "owner", "/");
    assert_eq!([status(start("auto")), status(start("off")), status(start("required"))], [401, 200, 401]);
    let mut server = Server::start(folder.path(), &["--role", "api"]);
    let line = server.wait_for_line("curl ");
    let ran = Command::new("bash").args(["-c", &line]).env("PUNCTUAL_TOKEN", &secret).output().unwrap();
    let answers = text(ran.stdout);
    assert!(answers.contains("\"name\":\"c1/hello\""), "{line}\n{answers}");
    let runner = Server::start(&folder.path().join("other"), &["--role", "runner"]);
    assert_eq!(runner.call("GET", "/doctor", None).status, 200);
}

#[test]
fn tokens_of_a_stopped_server_are_made_listed_rotated_and_revoked() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    let missing = run(&["token", "list", "--data", "/nonexistent/punctual"], "");
    assert_eq!(missing.status.code(), Some(2));
    assert!(text(missing.stderr).contains("there is no data of a server in /nonexistent/punctual"));
    let created = run(
        &[
            "token",
            "create",
            "ci",
            "--role",
            "contributor",
            "--scope",
            "/subscriptions/s1/resourceGroups/g1",
            "--role",
            "reader",
            "--scope",
            "/",
            "--expires",
            "90d",
            "--data",
            data,
            "--output",
            "json",
        ],
        "",
    );
    let created: Value = serde_json::from_slice(&created.stdout).unwrap();
    let members: Vec<&String> = created.as_object().unwrap().keys().collect();
    assert_eq!(members.len(), 5);
    let grants = json!([{"role": "contributor", "scope": "/subscriptions/s1/resourceGroups/g1"},
        {"role": "reader", "scope": "/"}]);
    assert_eq!((&created["name"], &created["grants"]), (&json!("ci"), &grants));
    let secret = created["token"].as_str().unwrap();
    assert!(!found_in(folder.path(), secret), "the secret is in the data");
    let hash = punctual_model::access::TokenSecret::parse(secret).unwrap().hash().0;
    let files =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| std::fs::read(entry.unwrap().path()).unwrap());
    assert!(
        files.flatten().collect::<Vec<u8>>().windows(32).any(|part| part == hash),
        "only its hash is kept"
    );

    let listed = stdout(&["token", "list", "--data", data], "");
    assert!(listed.contains("contributor on /subscriptions/s1/resourceGroups/g1, reader on /"), "{listed}");
    assert!(!listed.contains("pct_") && !listed.contains('.'), "times are told to the second: {listed}");
    let rotated = stdout(&["token", "rotate", "CI", "--data", data], "");
    assert!(rotated.starts_with("pct_") && rotated.trim_end() != secret, "{rotated}");
    let revoked = run(&["token", "revoke", created["id"].as_str().unwrap(), "--data", data], "");
    assert!(text(revoked.stderr).contains("revoked the token 'ci'"));
    assert_eq!(stdout(&["token", "list", "--data", data], ""), "there are no tokens\n");
}

#[test]
fn tokens_of_a_running_server_are_changed_over_its_api_by_an_owner() {
    let folder = tempfile::tempdir().unwrap();
    let (data, log) = (folder.path().join("data"), folder.path().join("server.log"));
    let admin = create(&data, "admin", "owner", "/");
    let mut command = punctual();
    command.env("PUNCTUAL_LOG__LEVEL", "trace").stderr(File::create(&log).unwrap());
    let server = Server::start_as(&mut command, &data, &["--role", "api"]);
    let refused = ask(&server, None, &["list"]);
    let error = text(refused.stderr);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        error.contains("The 'Authorization' header is missing. Give a token in the environment"),
        "{error}"
    );

    let scope = "/subscriptions/s1/resourceGroups/g1";
    let made = ask(&server, Some(&admin), &["create", "ci", "--role", "operator", "--scope", scope]);
    assert!(made.status.success(), "{made:?}");
    let said = text(made.stderr);
    assert!(said.contains(&format!("operator on {scope}; it does not expire")), "{said}");
    let secret = text(made.stdout).trim_end().to_owned();
    assert!(!said.contains(&secret));
    let path = Server::path("");
    assert_eq!(server.call_as(Some(&secret), "GET", &path, None).status, 200);
    assert_eq!(server.call_as(Some(&secret), "GET", "/doctor", None).status, 403);
    let denied = ask(&server, Some(&secret), &["list"]);
    assert!(text(denied.stderr).contains("The client 'ci' with object id"), "an operator lists no tokens");

    // The token may come from a file.
    let file = folder.path().join("token");
    std::fs::write(&file, format!("{admin}\n")).unwrap();
    let listed = ask(&server, None, &["list", "--token-file", file.to_str().unwrap()]);
    let listed = text(listed.stdout);
    assert!(listed.contains("admin") && listed.contains(scope), "{listed}");
    let url = format!("http://{}", server.address);
    let healthy = punctual().args(["doctor", "--url", &url]).env("PUNCTUAL_TOKEN", &admin).output().unwrap();
    assert!(healthy.status.success(), "{healthy:?}");
    let stranger = punctual().args(["doctor", "--url", &url]).env_remove("PUNCTUAL_TOKEN").output().unwrap();
    assert_eq!(stranger.status.code(), Some(2));
    assert!(text(stranger.stderr).contains("it answers 401 Unauthorized: Authentication failed."));

    let rotated = ask(&server, Some(&admin), &["rotate", "ci", "--expires", "1h"]);
    let new_secret = text(rotated.stdout).trim_end().to_owned();
    assert_eq!(server.call_as(Some(&secret), "GET", &path, None).status, 401);
    assert_eq!(server.call_as(Some(&new_secret), "GET", &path, None).status, 200);
    assert!(ask(&server, Some(&admin), &["revoke", "CI"]).status.success());
    assert_eq!(server.call_as(Some(&new_secret), "GET", &path, None).status, 401, "it is refused at once");
    let unknown = ask(&server, Some(&admin), &["revoke", "ci"]);
    assert!(text(unknown.stderr).contains("there is no token 'ci'"));

    let beside = run(&["token", "list", "--data", data.to_str().unwrap()], "");
    assert!(text(beside.stderr).contains("is in use by"), "the data of a running server is left alone");
    server.stop();
    let listed = stdout(&["token", "list", "--data", data.to_str().unwrap(), "--output", "json"], "");
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert!(
        listed[0]["lastUsedAt"].is_string(),
        "uses are noted at the latest when the server stops: {listed}"
    );
    for secret in [admin, secret, new_secret] {
        let random = &secret[4..];
        let logged = std::fs::read_to_string(&log).unwrap();
        assert!(logged.contains("a token was revoked") && !logged.contains(random), "a secret is in the log");
        assert!(!found_in(&data, random), "a secret is in the data");
    }
}

#[test]
fn what_is_wrong_with_a_new_token_is_told_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    let check = |arguments: &[&str], parts: &[&str]| {
        let refused = run(&[&["token", "create"], arguments, &["--data", data]].concat(), "");
        let error = text(refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{error}");
        for part in parts {
            assert!(error.contains(part), "{part} is not in {error}");
        }
    };
    check(
        &["a/b", "--role", "reader", "--scope", "x"],
        &["name: 'a/b' is no name", "grants[0].scope: 'x' is no scope"],
    );
    check(
        &["a", "--role", "reader", "--role", "owner", "--scope", "/"],
        &["--role and --scope come in pairs"],
    );
    check(&["a", "--role", "boss", "--scope", "/"], &["reader, operator, contributor, owner"]);
    check(&["a", "--role", "reader", "--scope", "/", "--expires", "soon"], &["90d"]);
    check(&["a", "--role", "reader", "--scope", "/", "--expires=-1d"], &["--expires"]);
    create(folder.path(), "a", "reader", "/");
    check(&["A", "--role", "reader", "--scope", "/"], &["There is a token 'A' already"]);
}

#[test]
fn help_of_token_is_golden() {
    let shown: String =
        [&["token", "--help"][..], &["token", "create", "--help"], &["token", "rotate", "--help"]]
            .into_iter()
            .map(|arguments| stdout(arguments, ""))
            .collect();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/token-help.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, &shown).unwrap();
    }
    assert_eq!(shown, std::fs::read_to_string(path).unwrap_or_default(), "UPDATE_GOLDEN=1 writes it anew");
}
