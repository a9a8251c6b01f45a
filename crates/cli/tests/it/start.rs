//! What a start refuses before it changes anything, and what it prints for whoever started it.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::time::SystemTime;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use serde_json::{Value, json};

use crate::command::{punctual, run};
use crate::receiver::Receiver;
use crate::scheduler::{START, wait_for};
use crate::server::Server;

/// Every file of a folder with what is in it and when it was changed.
fn contents(folder: &Path) -> BTreeMap<String, (Vec<u8>, SystemTime)> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| {
        let entry = entry.unwrap();
        let changed_at = entry.metadata().unwrap().modified().unwrap();
        (entry.file_name().into_string().unwrap(), (std::fs::read(entry.path()).unwrap(), changed_at))
    });
    entries.collect()
}

#[test]
fn a_server_on_a_taken_port_fires_nothing_and_touches_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (folder.path().join("old"), folder.path().join("new"));
    let receiver = Receiver::start();
    let server = Server::start(&old, &["--role", "api", "--clock-start", START]);
    server.put_collection("c");
    let job = json!({"properties": {"startTime": START, "action": {
        "type": "Http", "request": {"method": "GET", "uri": receiver.url("/ok")}}}});
    assert_eq!(server.call("PUT", &Server::path("/c/jobs/due"), Some(&job)).status, 201);
    server.stop();
    let before = contents(&old);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for (data, tls) in [(&old, &[][..]), (&old, &["--tls", "self-signed"]), (&new, &["--tls", "self-signed"])]
    {
        let data = data.to_str().unwrap();
        let arguments =
            [&["serve", "--listen", &address, "--data", data, "--clock-start", START], tls].concat();
        let refused = run(&arguments, "");
        let error = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(2), "{error}");
        assert!(error.starts_with(&format!("error: could not listen on {address}: ")), "{error}");
        assert!(error.contains("stop it, or choose another address with --listen"), "{error}");
    }
    assert!(contents(&old) == before, "a server that did not start has changed its data");
    assert!(!new.exists());
    assert!(receiver.hits().is_empty(), "a server that did not start has fired");
}

#[test]
fn settings_of_actions_are_checked_before_data_is_touched() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("new");
    let refused = punctual()
        .args(["serve", "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()])
        .env("PUNCTUAL_ACTIONS__OAUTH_AUTHORITY", "login.example")
        .env("PUNCTUAL_ACTIONS__STORAGE_QUEUE_ENDPOINT", "ftp://x")
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(2));
    let error = String::from_utf8(refused.stderr).unwrap();
    assert!(
        error.starts_with("error: the settings have 2 problems:\n  actions.oauth_authority: "),
        "{error}"
    );
    assert!(error.contains("\n  actions.storage_queue_endpoint: must begin with https://"), "{error}");
    assert!(!data.exists());
}

#[test]
fn every_setting_that_is_wrong_is_told_with_its_key_and_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let (data, file) = (folder.path().join("new"), folder.path().join("punctual.toml"));
    std::fs::write(&file, "[server]\nstop_grace_seconds = \"long\"\n[log]\nlevel = \"verbose\"\n").unwrap();
    let file = file.to_str().unwrap();
    let refused = punctual()
        .args(["serve", "--config", file, "--data", data.to_str().unwrap(), "--listen", "here"])
        .env("PUNCTUAL_RUNNER__SLOTS", "many")
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(2));
    let expected = format!(
        "error: the settings have 4 problems:
  log.level: unknown level 'verbose'; use error, warn, info, debug or trace (in {file})
  server.stop_grace_seconds: must be a whole number such as 10, not a string (in {file})
  runner.slots: must be a whole number such as 16384 (environment variable PUNCTUAL_RUNNER__SLOTS)
  server.listen: 'here' is not an address and port, such as 127.0.0.1:8380 or [::1]:8380 (option --listen)
"
    );
    assert_eq!(String::from_utf8(refused.stderr).unwrap(), expected);
    assert!(!data.exists());
}

#[test]
fn the_variables_of_others_may_be_anything() {
    use std::os::unix::ffi::OsStrExt;
    let odd = std::ffi::OsStr::from_bytes(b"\xff");
    let refused = punctual()
        .args(["serve", "--listen", "here"])
        .env("SOMETHING_ELSE", odd)
        .env(odd, "x")
        .output()
        .unwrap();
    let error = String::from_utf8(refused.stderr).unwrap();
    assert!(error.starts_with("error: server.listen: "), "{error}");
}

#[test]
fn a_runner_prints_where_its_health_is_and_nothing_that_it_does_not_serve() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path(), &["--role", "runner"]);
    let line = server.wait_for_line("Role runner: only health is served, at ");
    let url = line.split(" at ").nth(1).unwrap();
    assert_eq!(url, format!("http://{}/healthz", server.address));
    assert_eq!(server.call("GET", "/healthz", None).status, 200);
    let said = server.stop();
    assert!(said.iter().all(|line| !line.contains("curl")), "{said:?}");
}

/// Runs the line that creates a first job as it was printed.
fn run_printed_line(server: &mut Server) -> String {
    let line = server.wait_for_line("curl ");
    // Elsewhere than where the server was started.
    let ran = Command::new("bash").args(["-c", &line]).current_dir("/").output().unwrap();
    let answers = String::from_utf8(ran.stdout).unwrap();
    assert!(
        answers.contains("\"name\":\"c1/hello\""),
        "{line}\n{answers}{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    line
}

#[test]
fn the_printed_line_works_under_a_self_signed_certificate_and_so_does_the_job() {
    let folder = tempfile::tempdir().unwrap();
    // A relative path, and one that a shell would take apart.
    for (address, data) in [("127.0.0.1:0", "plain"), ("127.0.0.2:0", "it's a \"data\" directory")] {
        let arguments = ["--tls", "self-signed", "--listen", address];
        let mut server = Server::start_as(punctual().current_dir(folder.path()), Path::new(data), &arguments);
        run_printed_line(&mut server);
        let history = format!("https://{}{}", server.address, Server::path("/c1/jobs/hello/history"));
        let certificate = folder.path().join(data).join("tls-cert.pem");
        let records = wait_for("the first job has run", || {
            let asked = Command::new("curl").args(["-sS", &history, "--cacert"]).arg(&certificate).output();
            let page: Value = serde_json::from_slice(&asked.unwrap().stdout).unwrap();
            page["value"].as_array().cloned().filter(|records| !records.is_empty())
        });
        assert_eq!(records[0]["properties"]["status"], "completed", "{}", records[0]);
    }
}

#[test]
fn the_printed_line_works_after_the_address_changed() {
    let folder = tempfile::tempdir().unwrap();
    Server::start(folder.path(), &["--role", "api", "--tls", "self-signed"]).stop();
    // The certificate was made for another address.
    let arguments = ["--role", "api", "--tls", "self-signed", "--listen", "127.0.0.3:0"];
    run_printed_line(&mut Server::start(folder.path(), &arguments));
}

#[test]
fn the_printed_line_works_with_certificates_from_files() {
    let folder = tempfile::tempdir().unwrap();
    let authority_key = KeyPair::generate().unwrap();
    let mut authority = CertificateParams::new(vec![]).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer = Issuer::new(authority, authority_key);
    for names in [&["127.0.0.1"][..], &["scheduler.example", "other.example"], &["*.example.com"]] {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let key = KeyPair::generate().unwrap();
        let leaf = CertificateParams::new(names.clone()).unwrap().signed_by(&key, &issuer).unwrap();
        let (cert_file, key_file) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
        std::fs::write(&cert_file, leaf.pem()).unwrap();
        std::fs::write(&key_file, key.serialize_pem()).unwrap();
        let data = folder.path().join(&names[0]);
        let (cert_file, key_file) = (cert_file.to_str().unwrap(), key_file.to_str().unwrap());
        let arguments = ["--role", "api", "--tls-cert", cert_file, "--tls-key", key_file];
        run_printed_line(&mut Server::start(&data, &arguments));
    }
}

#[test]
fn the_printed_line_works_over_ipv6() {
    let folder = tempfile::tempdir().unwrap();
    if TcpListener::bind("[::1]:0").is_err() {
        eprintln!("skipped: this machine has no IPv6");
        return;
    }
    for tls in [&[][..], &["--tls", "self-signed"]] {
        let data = folder.path().join(tls.len().to_string());
        let arguments = [&["--role", "api", "--listen", "[::1]:0"], tls].concat();
        run_printed_line(&mut Server::start(&data, &arguments));
    }
}
