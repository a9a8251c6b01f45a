//! A PostgreSQL server of the bench's own, with its data where the other stores have theirs. It is as durable as theirs:
//! nothing is switched off that would make it faster.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};

use crate::process;

/// Starts a server, says which process it is, and stops it when its input ends: with the bench, however that ends.
const SCRIPT: &str = r#"
set -e
"$BIN/initdb" --pgdata="$DIR/data" --username=punctual --auth=trust --encoding=UTF8 --locale=C > "$DIR/initdb.log" 2>&1
printf '%s\n' "$CONF" >> "$DIR/data/postgresql.conf"
"$BIN/pg_ctl" --pgdata="$DIR/data" --log="$DIR/log" --wait start > "$DIR/start.log" 2>&1 < /dev/null
head -1 "$DIR/data/postmaster.pid"
cat > /dev/null || true
"$BIN/pg_ctl" --pgdata="$DIR/data" --mode=fast --wait stop > /dev/null 2>&1 < /dev/null || true
"#;

/// Nobody, whom a server may run as if the bench is root.
const NOBODY: u32 = 65_534;

/// A running server. Dropping it stops it.
pub(crate) struct Postgres {
    bin: PathBuf,
    dir: PathBuf,
    port: u16,
    pid: u32,
    child: Child,
}

impl Postgres {
    /// Starts one in an empty directory, with the programs of another.
    pub(crate) fn start(bin: &Path, dir: &Path) -> anyhow::Result<Self> {
        std::fs::create_dir(dir).with_context(|| format!("could not make {}", dir.display()))?;
        let dir = dir.canonicalize()?;
        let listener = TcpListener::bind("127.0.0.1:0").context("could not find a free port")?;
        let port = listener.local_addr()?.port();
        drop(listener);
        // What the guide recommends to operators; a checkpoint in the middle of a run would be measured, too.
        let conf = format!(
            "port = {port}\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = '/tmp'\nmax_connections = 200\n\
             shared_buffers = 1GB\nmax_wal_size = 4GB\nwal_compression = on\n"
        );
        let mut command = Command::new("sh");
        if std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self")?) == 0 {
            chown(&dir, Some(NOBODY), Some(NOBODY)).context("could not give the directory away")?;
            command = Command::new("setpriv");
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "sh"]);
        }
        command.args(["-c", SCRIPT]).env("BIN", bin).env("DIR", &dir).env("CONF", conf).current_dir("/");
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().context("could not start a shell for PostgreSQL")?;
        let mut line = String::new();
        if let Some(output) = child.stdout.take() {
            BufReader::new(output).read_line(&mut line).context("could not hear from PostgreSQL")?;
        }
        let pid = line.trim().parse();
        let pid = pid.with_context(|| format!("PostgreSQL did not start; see {}", dir.display()))?;
        Ok(Self { bin: bin.to_owned(), dir, port, pid, child })
    }

    /// The URL of its database.
    pub(crate) fn url(&self) -> String {
        format!("postgres://punctual@127.0.0.1:{}/postgres?sslmode=disable", self.port)
    }

    /// The processor time that it has used so far, with all processes that it has started.
    pub(crate) fn processor_time(&self) -> anyhow::Result<Duration> {
        process::processor_time_of_tree(self.pid)
    }

    /// How many transactions have ended, in all of its databases.
    pub(crate) fn transactions(&self) -> anyhow::Result<f64> {
        self.ask("SELECT sum(xact_commit + xact_rollback) FROM pg_stat_database")
    }

    /// The size of a table without its indexes, or of an index, in megabytes.
    pub(crate) fn megabytes(&self, relation: &str) -> anyhow::Result<f64> {
        self.ask(&format!("SELECT pg_relation_size('{relation}') / 1e6"))
    }

    /// Deadlocks so far; there must be none.
    pub(crate) fn deadlocks(&self) -> anyhow::Result<f64> {
        self.ask("SELECT sum(deadlocks) FROM pg_stat_database")
    }

    fn ask(&self, query: &str) -> anyhow::Result<f64> {
        let asked = Command::new(self.bin.join("psql"))
            .args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--command", query, &self.url()])
            .output()
            .context("could not run psql")?;
        if !asked.status.success() {
            bail!("psql: {}", String::from_utf8_lossy(&asked.stderr));
        }
        let text = String::from_utf8_lossy(&asked.stdout);
        text.trim().parse().with_context(|| format!("psql answered {text:?}"))
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // The script stops the server when it can't read on.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}
