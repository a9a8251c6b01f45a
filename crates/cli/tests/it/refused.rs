//! Requests whose head is refused: the answer has the form of the API, and the caller gets to read it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;

use axum::body::Bytes;
use axum::http::Request;
use http_body_util::{BodyExt, Empty};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::Value;

use crate::raw::{RawAnswer, exchange};
use crate::server::{SOON, Server};

#[test]
fn a_head_that_is_refused_is_answered_in_the_form_of_the_api() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["--role", "api"]);
    let check = |request: String, status: u16, code: &str| {
        let shown: String = request.chars().take(60).collect();
        let RawAnswer { status: answered, head, text } = exchange(&server.address, request.as_bytes());
        let (head, body) = (head.to_lowercase(), serde_json::from_str::<Value>(&text).unwrap());
        assert_eq!((answered, body["error"]["code"].as_str()), (status, Some(code)), "{shown}: {head}");
        assert!(body["error"]["message"].as_str().unwrap().len() > 20, "{body}");
        for header in ["content-type: application/json", "x-ms-request-id: ", "date: ", "connection: close"] {
            assert!(head.contains(header), "{shown}: {header} is not in {head}");
        }
    };
    let with =
        |header: &str| format!("GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{header}\r\n\r\n");
    for length in [64 * 1024, 100_000, 1_000_000, 4_000_000] {
        let large = with(&format!("X-Large: {}", "x".repeat(length)));
        check(large, 431, "RequestHeaderFieldsTooLarge");
    }
    let many: Vec<_> = (0..101).map(|number| format!("X-{number}: x")).collect();
    check(with(&many.join("\r\n")), 431, "RequestHeaderFieldsTooLarge");
    for length in [9_000, 65_000, 66_000, 1_000_000] {
        let long = format!("GET /{} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "x".repeat(length));
        check(long, 414, "UriTooLong");
    }
    check("GET /a b c HTTP/1.1\r\n\r\n".to_owned(), 400, "BadRequest");
    check("no HTTP at all, but long enough to see that\r\n\r\n".to_owned(), 400, "BadRequest");
    // A connection that was not refused is as it was.
    assert_eq!(server.call("GET", "/healthz", None).status, 200);
    assert_eq!(server.call("GET", "/nowhere", None).status, 404);
}

#[test]
fn on_a_connection_that_was_used_before_it_is_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["--role", "api"]);
    let first = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
    let large = format!("GET / HTTP/1.1\r\nConnection: close\r\nX-Large: {}\r\n\r\n", "x".repeat(70_000));
    let long = format!("GET /{} HTTP/1.1\r\nConnection: close\r\n\r\n", "x".repeat(70_000));
    for (second, code) in [(large, "RequestHeaderFieldsTooLarge"), (long, "UriTooLong")] {
        let mut stream = TcpStream::connect(&server.address).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        stream.write_all(first.as_bytes()).unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"{\"status\":\"ok\"}") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            answer.extend(byte);
        }
        stream.write_all(second.as_bytes()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        assert!(text.contains(code), "{text}");
    }
}

#[tokio::test]
async fn over_http_2_it_is_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["--role", "api"]);
    let stream = tokio::net::TcpStream::connect(&server.address).await.unwrap();
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    let driver = tokio::spawn(connection);
    let mut check = async |path: String, headers: Vec<(String, String)>, status: u16, code: &str| {
        let mut request = Request::builder().uri(format!("http://{}{path}", server.address));
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let request = request.body(Empty::<Bytes>::new()).unwrap();
        let answer = sender.send_request(request).await.unwrap();
        assert_eq!(answer.status(), status, "{code}");
        assert!(answer.headers().contains_key("x-ms-request-id"));
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["error"]["code"], code, "{body}");
    };
    let large = |length: usize| vec![("x-large".to_owned(), "x".repeat(length))];
    check("/healthz".into(), large(70_000), 431, "RequestHeaderFieldsTooLarge").await;
    check("/healthz".into(), large(200_000), 431, "RequestHeaderFieldsTooLarge").await;
    let many = (0..101).map(|number| (format!("x-{number}"), "x".to_owned())).collect();
    check("/healthz".into(), many, 431, "RequestHeaderFieldsTooLarge").await;
    check(format!("/{}", "x".repeat(9_000)), Vec::new(), 414, "UriTooLong").await;
    check(format!("/{}", "x".repeat(65_000)), Vec::new(), 414, "UriTooLong").await;
    driver.abort();
}

#[test]
fn over_tls_it_is_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["--role", "api", "--tls", "self-signed"]);
    let headers = folder.path().join("headers");
    std::fs::write(&headers, format!("X-Large: {}\n", "x".repeat(300_000))).unwrap();
    let curl = Command::new("curl")
        .args(["--silent", "--show-error", "--http1.1", "--write-out", "\n%{http_code}", "--cacert"])
        .arg(folder.path().join("tls-cert.pem"))
        .arg("--header")
        .arg(format!("@{}", headers.display()))
        .arg(format!("https://{}/healthz", server.address))
        .output()
        .unwrap();
    let text = String::from_utf8(curl.stdout).unwrap();
    let (body, status) = text.rsplit_once('\n').unwrap();
    assert_eq!(status, "431", "{}", String::from_utf8_lossy(&curl.stderr));
    let body: Value = serde_json::from_str(body).unwrap();
    assert_eq!(body["error"]["code"], "RequestHeaderFieldsTooLarge");
}
