//! Several real nodes on one PostgreSQL database, which the tests start themselves; see `postgres.rs`.

mod faults;
mod keys;
mod nodes;
mod start;
mod together;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::command::punctual;
use crate::postgres::{self, Database};
use crate::proxy::Proxy;
use crate::receiver::Receiver;
use crate::scheduler::wait_for;
use crate::server::Server;

/// A database for nodes, with the keys that they share, and a receiver.
pub(crate) struct Cluster {
    runtime: tokio::runtime::Runtime,
    own: Option<postgres::Server>,
    pub(crate) database: Database,
    pub(crate) folder: TempDir,
    pub(crate) receiver: Receiver,
}

impl Cluster {
    /// An empty database; none if there is no PostgreSQL to start.
    pub(crate) fn new() -> Option<Self> {
        Self::on(None)
    }

    /// The same on a server that nobody else uses.
    pub(crate) fn on_its_own_server() -> Option<Self> {
        Self::on(Some(postgres::Server::start("", &[])?))
    }

    /// Stops the server of the database, `fast` or `immediate`, and starts it again.
    pub(crate) fn restart_database(&self, mode: &str) {
        self.own.as_ref().unwrap().restart(mode);
    }

    /// What the server of the database has logged.
    pub(crate) fn database_log(&self) -> String {
        self.own.as_ref().unwrap().log()
    }

    /// A proxy before its own server, which can lose answers to messages with a text; and the URL behind it.
    pub(crate) fn proxy(&self, text: &'static [u8]) -> (Proxy, String) {
        let proxy = self.runtime.block_on(Proxy::before(self.own.as_ref().unwrap().port, text));
        let (_, search_path) = self.database.url.split_once('?').unwrap();
        let url = format!("postgres://punctual@{}/postgres?sslmode=disable&{search_path}", proxy.address);
        (proxy, url)
    }

    fn on(own: Option<postgres::Server>) -> Option<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.unwrap();
        let database = match &own {
            Some(own) => runtime.block_on(Database::on(own)),
            None => runtime.block_on(Database::new())?,
        };
        let folder = tempfile::tempdir().unwrap();
        let keys = punctual().args(["keys", "generate"]).output().unwrap().stdout;
        let keys = format!("punctual keys 1\n{}", String::from_utf8(keys).unwrap());
        write_keys(&folder.path().join("keys"), &keys);
        Some(Self { runtime, own, database, folder, receiver: Receiver::start() })
    }

    /// The data directory of a node.
    pub(crate) fn data(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A command that knows the database and the keys.
    pub(crate) fn command(&self, name: &str) -> Command {
        let mut command = punctual();
        command
            .env("PUNCTUAL_LOG__LEVEL", "info,punctual_runner=warn")
            .env("PUNCTUAL_STORE", &self.database.url)
            .env("PUNCTUAL_CLUSTER__NAME", name)
            .env("PUNCTUAL_DATA__KEY_FILE", self.folder.path().join("keys"))
            .env("PUNCTUAL_SERVER__ECHO_LISTEN", "")
            .stderr(Stdio::inherit());
        command
    }

    /// Starts a node.
    pub(crate) fn node(&self, name: &str) -> Server {
        self.node_with(name, &[])
    }

    pub(crate) fn node_with(&self, name: &str, arguments: &[&str]) -> Server {
        Server::start_as(&mut self.command(name), &self.data(name), arguments)
    }

    /// Runs a command with the database instead of a server.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        let mut command = punctual();
        command.args(arguments).args(["--store", &self.database.url, "--key-file"]);
        command.arg(self.folder.path().join("keys")).output().unwrap()
    }

    /// A number that a query gives.
    pub(crate) fn number(&self, sql: &str) -> i64 {
        self.runtime
            .block_on(async { self.database.client().await.query_one(sql, &[]).await.unwrap().get(0) })
    }

    /// How many nodes have a lease.
    pub(crate) fn node_count(&self) -> i64 {
        self.number("SELECT count(*) FROM nodes")
    }

    /// An action that calls the receiver, tried once.
    pub(crate) fn action(&self, path: &str) -> Value {
        json!({"type": "Http", "request": {"method": "GET", "uri": self.receiver.url(path)},
               "retryPolicy": {"retryType": "none"}})
    }
}

/// Writes a key file that only its owner may read.
pub(crate) fn write_keys(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
}

/// Puts a job.
pub(crate) fn put(server: &Server, job: &str, properties: &Value) {
    let path = Server::path(&format!("/c/jobs/{job}"));
    let answer = server.call("PUT", &path, Some(&json!({"properties": properties})));
    assert!([200, 201].contains(&answer.status), "{}", answer.body);
}

/// The records of a job.
pub(crate) fn history(server: &Server, job: &str) -> Vec<Value> {
    let answer = server.call("GET", &Server::path(&format!("/c/jobs/{job}/history")), None);
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.body["value"].as_array().unwrap().clone()
}

/// Waits until a job has so many records.
pub(crate) fn wait_for_history(server: &Server, job: &str, count: usize) -> Vec<Value> {
    wait_for(&format!("{job} has {count} records"), || {
        Some(history(server, job)).filter(|records| records.len() >= count)
    })
}

/// A time so many seconds from now, by the clock of the database's machine, which is this one.
pub(crate) fn in_seconds(seconds: i64) -> String {
    #[expect(clippy::disallowed_methods, reason = "the nodes under test have the real time")]
    let now = jiff::Timestamp::now();
    (now + jiff::SignedDuration::from_secs(seconds)).to_string()
}

/// Whether there is a PostgreSQL to start, which says so if not.
#[test]
fn a_server_is_there_where_one_is_named() {
    let named = std::env::var_os("PUNCTUAL_TEST_POSTGRES").is_some();
    assert_eq!(postgres::shared().is_some(), named);
}
