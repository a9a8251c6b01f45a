//! A whole server in this process, one of whose tasks ends. No request and no file makes a task of the real one
//! panic, so one is added to those that are supervised.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

use clap::Parser;
use punctual_runner::Supervisor;
use serde_json::{Value, json};

use super::deadline::Deadline;
use super::{Signals, overrides, run};
use crate::config::{self, Config};
use crate::exit::{self, Exit};
use crate::options::{Options, Verb};

/// Longer than anything takes on a busy machine.
const LONG: Duration = Duration::from_secs(30);

const COLLECTION: &str = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/c";

/// An address that nobody else uses: of the many that lead to this machine, one that is made of our process.
fn free_address() -> SocketAddr {
    let [_, a, b, c] = std::process::id().to_be_bytes();
    let listener = TcpListener::bind(SocketAddr::from(([127, a, b, c.max(1)], 0))).unwrap();
    listener.local_addr().unwrap()
}

fn config(data: &Path, listen: SocketAddr) -> Config {
    let (listen, data) = (listen.to_string(), data.to_str().unwrap());
    let options = Options::parse_from(["punctual", "serve", "--listen", &listen, "--data", data]);
    let Verb::Serve(options) = options.verb else { panic!("it is serve") };
    config::load(None, Vec::new(), overrides(&options)).unwrap()
}

/// One request; status and body. Asked again until somebody listens.
async fn call(address: SocketAddr, method: &'static str, path: String, body: Value) -> (u16, Value) {
    let ask = move || {
        let mut stream = TcpStream::connect(address).ok()?;
        stream.set_read_timeout(Some(LONG)).unwrap();
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let length = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
        )
        .ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).ok()?;
        let (head, body) = text.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1)?.parse().ok()?;
        Some((status, serde_json::from_str(body).unwrap_or(Value::Null)))
    };
    let answer = async {
        loop {
            if let Some(answer) = tokio::task::spawn_blocking(ask.clone()).await.unwrap() {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(LONG, answer).await.expect("somebody answers")
}

fn path(below: &str) -> String {
    format!("{COLLECTION}{below}?api-version=2016-03-01")
}

/// Has a supervised task panic.
fn panic_in(supervisor: &Supervisor) {
    supervisor.tasks().spawn("stand-in", async { panic!("as the test says") });
}

#[tokio::test(flavor = "multi_thread")]
async fn when_a_task_ends_that_is_shown_what_is_in_flight_is_recorded_and_the_exit_code_is_3() {
    let folder = tempfile::tempdir().unwrap();
    let (address, target) = (free_address(), TcpListener::bind("127.0.0.1:0").unwrap());
    let (supervisor, deadline) = (Supervisor::default(), Deadline::default());
    let uri = format!("http://{}/", target.local_addr().unwrap());
    let story = async {
        let body = json!({"location": "West US", "properties": {"sku": {"name": "Standard"}}});
        assert_eq!(call(address, "PUT", path(""), body).await.0, 201);
        let request = json!({"type": "Http", "request": {"method": "GET", "uri": uri}});
        let body = json!({"properties": {"action": request}});
        assert_eq!(call(address, "PUT", path("/jobs/j"), body).await.0, 201);
        let (mut under_way, _) = tokio::task::spawn_blocking(move || target.accept()).await.unwrap().unwrap();
        assert_eq!(call(address, "GET", "/readyz".to_owned(), Value::Null).await.0, 200);

        panic_in(&supervisor);
        supervisor.failed().await;
        let cause = "the stand-in ended: it panicked: as the test says";
        let (status, body) = call(address, "GET", "/readyz".to_owned(), Value::Null).await;
        assert_eq!(status, 503, "{body}");
        assert!(body.to_string().contains(cause), "{body}");
        let (_, body) = call(address, "GET", "/doctor".to_owned(), Value::Null).await;
        assert_eq!(body["status"], "trouble");
        assert!(body["problems"].to_string().contains(cause), "{body}");
        // Only now the attempt under way ends, which the stop has waited for.
        under_way.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
    };
    let (ended, ()) = tokio::join!(
        run(config(folder.path(), address), Signals::listen().unwrap(), &supervisor, &deadline),
        story
    );
    let error = ended.unwrap_err();
    assert!(format!("{error:#}").contains("the stand-in ended: it panicked: as the test says"), "{error:#}");
    assert_eq!(exit::report(error), Exit::TaskEnded);
    drop(deadline);

    // What supervises it starts it anew.
    let (supervisor, deadline) = (Supervisor::default(), Deadline::default());
    let story = async {
        let (status, body) = call(address, "GET", path("/jobs/j/history"), Value::Null).await;
        panic_in(&supervisor);
        assert_eq!((status, body["value"].as_array().map(Vec::len)), (200, Some(1)), "{body}");
        assert_eq!(body["value"][0]["properties"]["status"], "completed", "{body}");
    };
    let (ended, ()) = tokio::join!(
        run(config(folder.path(), address), Signals::listen().unwrap(), &supervisor, &deadline),
        story
    );
    assert!(ended.is_err());
}

#[test]
fn each_way_to_fail_has_its_exit_code() {
    let failure = punctual_runner::Failure { task: "claimer", cause: "it panicked".to_owned() };
    let error = anyhow::Error::new(failure).context("the server stopped");
    assert_eq!(exit::report(error) as u8, 3);
    assert_eq!(exit::report(crate::exit::WrongUsage("wrong".to_owned()).into()) as u8, 2);
    assert_eq!(exit::report(anyhow::anyhow!("something failed")) as u8, 1);
    assert_eq!(Exit::Fine as u8, 0);
}
