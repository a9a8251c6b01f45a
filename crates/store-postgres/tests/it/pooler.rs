//! Behind pgbouncer in transaction mode, which knows no prepared statements and drops the options of a connection.
//!
//! `PUNCTUAL_TEST_PGBOUNCER` names the program; without it this is skipped.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::chown;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use punctual_store::Store;
use punctual_store::conformance::{agenda, claims, concurrency, edits, housekeeping, settlement, survey};
use punctual_store_postgres::{OpenError, Options, PostgresStore, SETTINGS};

use crate::server::{Server, connect};
use crate::world::options;

/// A pooler before a server. It is stopped when it is dropped.
struct Pooler {
    port: u16,
    child: Child,
}

impl Pooler {
    fn before(server: &Server) -> Option<Self> {
        let Some(program) = std::env::var_os("PUNCTUAL_TEST_PGBOUNCER") else {
            eprintln!("SKIPPED: PUNCTUAL_TEST_PGBOUNCER names no pgbouncer");
            return None;
        };
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let settings = format!(
            "[databases]\n* = host=127.0.0.1 port={} user=punctual\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
             listen_port = {port}\nunix_socket_dir =\nauth_type = any\npool_mode = transaction\ndefault_pool_size = 20\n\
             max_client_conn = 300\n",
            server.port
        );
        let file = server.dir.join("pgbouncer.ini");
        std::fs::write(&file, settings).unwrap();
        let mut command = Command::new(&program);
        if rustix::process::geteuid().is_root() {
            chown(&file, Some(65_534), Some(65_534)).unwrap();
            command = Command::new("setpriv");
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&program);
        }
        let mut child = command.arg(&file).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.contains("process up") {
            line.clear();
            assert!(said.read_line(&mut line).unwrap() > 0, "pgbouncer ended");
        }
        // Nobody else reads what it says.
        std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
        Some(Self { port, child })
    }

    fn options(&self, database: &str) -> Options {
        let mut options =
            options(&format!("postgres://punctual@127.0.0.1:{}/{database}?sslmode=disable", self.port));
        options.prepare = false;
        options
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// Runs cases, each on a database of its own.
macro_rules! run {
    ($pooler:ident, $client:ident: $($subject:ident::$case:ident)+) => {$({
        let database = stringify!($case);
        $client.batch_execute(&format!("CREATE DATABASE {database}")).await.unwrap();
        let store = PostgresStore::open($pooler.options(database)).await.unwrap();
        $subject::$case(Arc::new(store) as Arc<dyn Store>).await;
    })+};
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn behind_a_pooler_the_store_does_the_same() {
    let Some(server) = Server::start("", &[]) else { return };
    let Some(pooler) = Pooler::before(&server) else { return };
    let client = connect(&server.url()).await;
    let refused = PostgresStore::open(pooler.options("postgres")).await.unwrap_err();
    assert!(matches!(&refused, OpenError::Session(text) if text.contains("ALTER ROLE")), "{refused}");
    for (name, value) in SETTINGS {
        client.batch_execute(&format!("ALTER ROLE punctual SET {name} = '{value}'")).await.unwrap();
    }
    run! { pooler, client:
        edits::a_collection_is_written_with_its_jobs
        edits::a_decision_inside_the_transaction_is_never_stale
        agenda::full_targets_starve_nobody
        claims::an_edit_leaves_what_is_in_flight
        claims::a_claim_that_nobody_waits_for_is_given_back
        settlement::a_settlement_is_recorded
        settlement::each_settlement_has_its_own_answer
        concurrency::parallel_puts_never_exceed_the_quota
        concurrency::no_settlement_is_lost_among_edits
        housekeeping::purge_deletes_what_has_ended
        survey::a_page_ends_where_its_records_do
    }
}
