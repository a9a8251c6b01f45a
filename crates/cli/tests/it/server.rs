//! A running server, for tests of the whole.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use serde_json::Value;

use crate::command::punctual;
use crate::raw;

/// How long a test waits for what should come soon; machines are busy.
pub(crate) const SOON: Duration = Duration::from_secs(30);

/// A server on a port of its own. It is killed when it is dropped.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: String,
    lines: Receiver<String>,
    pub(crate) said: Vec<String>,
}

/// An answer.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: String,
    pub(crate) body: Value,
}

impl Server {
    /// Starts a server on a data directory and waits until it has started.
    pub(crate) fn start(data: &Path, arguments: &[&str]) -> Self {
        // That attempts fail is what many tests want.
        let mut command = punctual();
        command.env("PUNCTUAL_LOG__LEVEL", "info,punctual_runner=warn").stderr(Stdio::inherit());
        Self::start_as(&mut command, data, arguments)
    }

    /// The same by a command that has an environment, a place for its log, or a folder that it runs in.
    pub(crate) fn start_as(command: &mut Command, data: &Path, arguments: &[&str]) -> Self {
        let listen = if arguments.contains(&"--listen") { &[][..] } else { &["--listen", "127.0.0.1:0"] };
        let (child, lines) = spawn(command.args(["serve", "--data"]).arg(data).args(listen).args(arguments));
        let first = lines.recv_timeout(SOON).expect("the server says where it listens");
        let address = address_of(&first);
        Self { child, address, lines, said: vec![first] }
    }

    /// Starts a demo and waits until it has made its past, however long that takes.
    pub(crate) fn start_demo(command: &mut Command, arguments: &[&str]) -> Self {
        let (child, lines) = spawn(command.arg("demo").args(arguments));
        let first = lines.recv().expect("the demo says what it has");
        let second = lines.recv().expect("the demo says where it listens");
        let address = address_of(&second);
        Self { child, address, lines, said: vec![first, second] }
    }

    /// Starts a server and kills it after some time, wherever it is then.
    pub(crate) fn start_and_kill(data: &Path, arguments: &[&str], life: Duration) {
        let mut command = punctual();
        command.env("PUNCTUAL_LOG__LEVEL", "info,punctual_runner=warn");
        command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data).args(arguments);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::inherit()).spawn().unwrap();
        let (_keep, moment) = mpsc::channel::<()>();
        let _ = moment.recv_timeout(life);
        child.kill().unwrap();
        assert!(!child.wait().unwrap().success());
    }

    /// Everything that it has said so far, up to a line that contains a text.
    pub(crate) fn wait_for_line(&mut self, part: &str) -> String {
        loop {
            if let Some(line) = self.said.iter().find(|line| line.contains(part)) {
                return line.clone();
            }
            let line = self
                .lines
                .recv_timeout(SOON)
                .unwrap_or_else(|_| panic!("no line with {part}: {:?}", self.said));
            self.said.push(line);
        }
    }

    /// One request on a connection of its own.
    pub(crate) fn call(&self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        self.call_as(None, method, path, body)
    }

    /// The same by the holder of a token.
    pub(crate) fn call_as(
        &self,
        token: Option<&str>,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Answer {
        call_at(&self.address, token, method, path, body)
    }

    /// The path of a collection, or of what is below it.
    pub(crate) fn path(below: &str) -> String {
        let version = if below.contains('?') { "&api-version=2016-03-01" } else { "?api-version=2016-03-01" };
        format!(
            "/subscriptions/s1/resourceGroups/g1/providers/Microsoft.Scheduler/jobCollections{below}{version}"
        )
    }

    /// Makes a collection.
    pub(crate) fn put_collection(&self, name: &str) {
        let body = serde_json::json!({"location": "West US", "properties": {"sku": {"name": "P20Premium"}}});
        let answer = self.call("PUT", &Self::path(&format!("/{name}")), Some(&body));
        assert_eq!(answer.status, 201, "{}", answer.body);
    }

    /// The number of its process.
    pub(crate) fn pid(&self) -> i32 {
        self.child.id().try_into().unwrap()
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([name, &self.child.id().to_string()]).status();
        assert!(sent.unwrap().success());
    }

    /// Stops the server; everything that it has said.
    pub(crate) fn stop(mut self) -> Vec<String> {
        self.signal("-TERM");
        assert!(self.child.wait().unwrap().success());
        let rest: Vec<String> = self.lines.iter().collect();
        self.said.extend(rest);
        std::mem::take(&mut self.said)
    }

    /// Waits until the process has ended.
    pub(crate) fn wait(mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }
}

/// Starts a process, and reads what it says.
fn spawn(command: &mut Command) -> (Child, Receiver<String>) {
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let (sender, lines) = mpsc::channel();
    let output = BufReader::new(child.stdout.take().unwrap());
    std::thread::spawn(move || {
        for line in output.lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    (child, lines)
}

/// Where a server listens, of the line that says so.
fn address_of(line: &str) -> String {
    line.split("://").nth(1).and_then(|rest| rest.split(',').next()).unwrap().to_owned()
}

/// One request to an address, on a connection of its own.
pub(crate) fn call_at(
    address: &str,
    token: Option<&str>,
    method: &str,
    path: &str,
    body: Option<&Value>,
) -> Answer {
    let body = body.map(Value::to_string).unwrap_or_default();
    let authorization = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
    let request = raw::request(method, address, path, &authorization, &body);
    let answer = raw::exchange(address, request.as_bytes());
    Answer { status: answer.status, body: answer.json(), headers: answer.head.to_lowercase() }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
