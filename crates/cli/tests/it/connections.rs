//! Callers that open many connections, or ask through proxies and over HTTP/2.

use std::net::TcpStream;
use std::process::{Command, Stdio};

use axum::body::Bytes;
use axum::http::Request;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};

use crate::command::punctual;
use crate::raw::exchange;
use crate::receiver::Receiver;
use crate::scheduler::wait_for;
use crate::server::Server;

/// The binary in a process that may open so many files.
fn with_descriptors(count: u32) -> Command {
    let mut command = Command::new("bash");
    let script = format!("ulimit -n {count} && exec \"$0\" \"$@\"");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_punctual")]).stderr(Stdio::inherit());
    command.env("PUNCTUAL_LOG__LEVEL", "info,punctual_runner=warn");
    command
}

#[test]
fn silent_connections_keep_neither_jobs_nor_callers_out() {
    let folder = tempfile::tempdir().unwrap();
    let receiver = Receiver::start();
    let server = Server::start_as(&mut with_descriptors(200), folder.path(), &[]);
    server.put_collection("c");
    let silent: Vec<_> = (0..230).map(|_| TcpStream::connect(&server.address).unwrap()).collect();

    // Now something comes due.
    let action = json!({"type": "Http", "request": {"method": "GET", "uri": receiver.url("/ok")},
        "retryPolicy": {"retryType": "none"}});
    let job = json!({"properties": {"action": action, "recurrence": {"frequency": "minute", "count": 1}}});
    let put = server.call("PUT", &Server::path("/c/jobs/due"), Some(&job));
    assert_eq!(put.status, 201, "{}", put.body);
    receiver.wait_for("due", 1);
    let records = wait_for("the job has run", || {
        let page = server.call("GET", &Server::path("/c/jobs/due/history"), None).body;
        page["value"].as_array().cloned().filter(|records| !records.is_empty())
    });
    assert_eq!(records[0]["properties"]["status"], "completed", "{}", records[0]);

    let checkup = server.call("GET", "/doctor", None).body;
    let connections = &checkup["connections"];
    assert_eq!(connections["max"], 34, "{connections}");
    assert!(connections["open"].as_u64().unwrap() <= 34, "{connections}");
    assert!(connections["refusedCount"].as_u64().unwrap() >= 230 - 34, "{connections}");
    drop(silent);
}

#[test]
fn what_is_refused_is_logged_once() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let mut command = with_descriptors(200);
    command.stderr(std::fs::File::create(&log).unwrap());
    let server = Server::start_as(&mut command, &folder.path().join("data"), &["--role", "api"]);
    let _silent: Vec<_> = (0..100).map(|_| TcpStream::connect(&server.address).unwrap()).collect();
    wait_for("connections are refused", || {
        let checkup = server.call("GET", "/doctor", None).body;
        (checkup["connections"]["refusedCount"].as_u64() > Some(50)).then_some(())
    });
    server.stop();
    let log = std::fs::read_to_string(log).unwrap();
    assert_eq!(log.matches("callers have as many connections open as they may").count(), 1, "{log}");
}

/// A request as it is written, and the status of its answer.
fn raw(address: &str, text: &str) -> u16 {
    exchange(address, text.as_bytes()).status
}

#[test]
fn a_name_of_somebody_else_reaches_nothing_and_those_of_the_settings_do() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = punctual();
    command.env("PUNCTUAL_SERVER__HOSTS", "Scheduler.example.com, other.example");
    command.env("PUNCTUAL_SERVER__PUBLIC_URL", "https://public.example/base").stderr(Stdio::inherit());
    let server = Server::start_as(&mut command, folder.path(), &["--role", "api"]);
    let check = |path: &str, host: &str, expected: u16| {
        let text = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        assert_eq!(raw(&server.address, &text), expected, "{path} {host}");
    };
    for host in [
        server.address.as_str(),
        "localhost",
        "LOCALHOST.:80",
        "scheduler.example.com",
        "other.example:8380",
        "public.example",
        "[::1]:8380",
    ] {
        check("/doctor", host, 200);
    }
    for host in ["evil.example", "example.com", "a.public.example"] {
        check("/doctor", host, 421);
        check("/healthz", host, 200);
        check("/readyz", host, 200);
    }
    check("/doctor", "", 400);
    check("/doctor", "a\r\nHost: localhost", 400);
    let address = &server.address;
    assert_eq!(raw(address, "GET /doctor HTTP/1.1\r\nConnection: close\r\n\r\n"), 400);
    assert_eq!(raw(address, "GET /doctor HTTP/1.0\r\n\r\n"), 200);
    let whole = |target: &str, host: &str| {
        let text =
            format!("GET http://{target}/doctor HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        raw(address, &text)
    };
    assert_eq!(whole("localhost", "localhost"), 200);
    assert_eq!(whole("evil.example", "evil.example"), 421);
    assert_eq!(whole("evil.example", "localhost"), 400);
}

#[tokio::test]
async fn a_page_of_this_server_may_write_over_http_2() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["--role", "api"]);
    let stream = tokio::net::TcpStream::connect(&server.address).await.unwrap();
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    let driver = tokio::spawn(connection);
    let mut put = async |origin: &str| {
        let request = Request::builder()
            .method("PUT")
            .uri(format!("http://{}{}", server.address, Server::path("/c")))
            .header("origin", origin)
            .header("content-type", "application/json")
            .body(Full::new(Bytes::from(r#"{"location": "West US"}"#)))
            .unwrap();
        let answer = sender.send_request(request).await.unwrap();
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        let body: Value = serde_json::from_slice(&body).unwrap();
        (status, body["error"]["code"].as_str().map(str::to_owned))
    };
    assert_eq!(put(&format!("http://{}", server.address)).await, (201, None));
    assert_eq!(put("http://evil.example").await, (403, Some("CrossOriginRequest".to_owned())));
    driver.abort();
}

#[test]
fn where_a_request_comes_from_is_what_a_trusted_proxy_says() {
    let check = |trusted: &str, expected: &str| {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let mut command = punctual();
        command.env("PUNCTUAL_SERVER__TRUSTED_PROXIES", trusted).env("PUNCTUAL_LOG__LEVEL", "debug");
        command.stderr(std::fs::File::create(&log).unwrap());
        let server = Server::start_as(&mut command, &folder.path().join("data"), &["--role", "api"]);
        let text = "GET / HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-For: 203.0.113.9, 198.51.100.7\r\n\
                    Connection: close\r\n\r\n";
        assert_eq!(raw(&server.address, text), 421);
        server.stop();
        let log = std::fs::read_to_string(log).unwrap();
        assert_eq!(log.contains("a proxy leads others here"), !trusted.is_empty(), "{log}");
        let line = log.lines().find(|line| line.contains("a request is refused")).unwrap();
        assert!(line.contains(expected), "{trusted}: {line}");
    };
    check("127.0.0.0/8", "source=\"198.51.100.7\"");
    check("", "source=\"127.0.0.1\"");
}

#[test]
fn probes_and_scrapers_have_a_listener_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    let arguments = ["token", "create", "admin", "--role", "owner", "--scope", "/", "--data", data];
    crate::command::stdout(&arguments, "");
    let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    for role in ["all", "api", "runner"] {
        let mut command = punctual();
        command.env("PUNCTUAL_SERVER__MONITORING_LISTEN", &address).stderr(Stdio::inherit());
        let server = Server::start_as(&mut command, folder.path(), &["--role", role]);
        let get = |path: &str| {
            raw(&address, &format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"))
        };
        assert_eq!(server.call("GET", "/doctor", None).status, 401);
        assert_eq!(server.call("GET", "/metrics", None).status, 401);
        let statuses = ["/healthz", "/readyz", "/doctor", "/metrics"].map(get);
        assert_eq!(statuses, [200; 4], "{role}");
        assert_eq!((get("/"), get("/tokens"), get(&Server::path("/c"))), (404, 404, 404), "{role}");
        server.stop();
    }
    let taken = std::net::TcpListener::bind(&address).unwrap();
    let refused = punctual()
        .args(["serve", "--listen", "127.0.0.1:0", "--data", data])
        .env("PUNCTUAL_SERVER__MONITORING_LISTEN", &address)
        .output()
        .unwrap();
    let error = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.status.code() == Some(2) && error.contains("server.monitoring_listen"), "{error}");
    drop(taken);
}

#[test]
fn the_limits_of_the_settings_hold_for_callers_with_a_token() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    let token = |name: &str| {
        let arguments = ["token", "create", name, "--role", "owner", "--scope", "/", "--data", data];
        crate::command::stdout(&arguments, "").trim_end().to_owned()
    };
    let (one, other) = (token("one"), token("other"));
    let mut command = punctual();
    // So slow that nothing comes back while the test runs.
    command.env("PUNCTUAL_LIMITS__READS_PER_SECOND", "0.001").env("PUNCTUAL_LIMITS__READS_BURST", "3");
    command.env("PUNCTUAL_LIMITS__SIGN_IN_FAILURES_PER_MINUTE", "1").stderr(Stdio::inherit());
    let server = Server::start_as(&mut command, folder.path(), &["--role", "api"]);
    let get = |token: &str| server.call_as(Some(token), "GET", "/doctor", None);
    for left in [2, 1, 0] {
        let answer = get(&one);
        let counter = format!("x-ms-ratelimit-remaining-subscription-reads: {left}");
        assert!(answer.status == 200 && answer.headers.contains(&counter), "{}", answer.headers);
    }
    let answer = get(&one);
    assert_eq!((answer.status, answer.body["error"]["code"].as_str()), (429, Some("TooManyRequests")));
    assert!(answer.headers.contains("retry-after: "), "{}", answer.headers);
    assert_eq!(get(&other).status, 200);

    let statuses: Vec<u16> = (0..3).map(|_| get("pct_wrong").status).collect();
    assert_eq!(statuses, [401, 429, 429]);
    assert_eq!(get(&other).status, 200);
}
