//! PostgreSQL servers: one for all tests of a process, with a schema for each, and others for tests that hurt theirs.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::chown;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio_postgres::{Client, NoTls};

/// Starts a server, says so, and stops it when its input ends: with the process that has started it, however that ends.
const SCRIPT: &str = r#"
set -e
"$BIN/initdb" --pgdata="$DIR/data" --username=punctual --auth=trust --encoding=UTF8 --locale=C --no-sync > "$DIR/initdb.log" 2>&1
printf '%s\n' "$CONF" >> "$DIR/data/postgresql.conf"
"$BIN/pg_ctl" --pgdata="$DIR/data" --log="$DIR/log" --wait start > "$DIR/start.log" 2>&1 < /dev/null
echo ready
while read -r command; do
    case "$command" in
        restart\ *) "$BIN/pg_ctl" --pgdata="$DIR/data" --log="$DIR/log" --mode="${command#restart }" --wait restart > /dev/null 2>&1 < /dev/null; echo done ;;
    esac
done
"$BIN/pg_ctl" --pgdata="$DIR/data" --mode=immediate --wait stop > /dev/null 2>&1 < /dev/null || true
rm -rf "$DIR"
"#;

/// A running server.
pub(crate) struct Server {
    pub(crate) port: u16,
    pub(crate) dir: PathBuf,
    input: std::sync::Mutex<(ChildStdin, BufReader<std::process::ChildStdout>)>,
    _child: Child,
}

impl Server {
    /// Starts a server with additional settings; none, with a note, if there is no PostgreSQL to start.
    pub(crate) fn start(settings: &str, files: &[(&str, &str)]) -> Option<Self> {
        let Some(bin) = std::env::var_os("PUNCTUAL_TEST_POSTGRES") else {
            eprintln!("SKIPPED: PUNCTUAL_TEST_POSTGRES names no directory with the programs of PostgreSQL");
            return None;
        };
        let dir = tempfile::Builder::new().prefix("punctual-postgres-").tempdir().unwrap().keep();
        // Freed again at once, and taken by the server before anybody else asks for one.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let conf = format!(
            "port = {port}\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = '{}'\nmax_connections = 300\n\
             log_lock_waits = on\nautovacuum_naptime = 5s\n{settings}",
            dir.display()
        );
        for (name, text) in files {
            std::fs::write(dir.join(name), text).unwrap();
            std::fs::set_permissions(dir.join(name), std::os::unix::fs::PermissionsExt::from_mode(0o600))
                .unwrap();
        }
        let mut command = Command::new("sh");
        // A server refuses to run as root.
        if rustix::process::geteuid().is_root() {
            let (user, group) = (65_534, 65_534);
            chown(&dir, Some(user), Some(group)).unwrap();
            for (name, _) in files {
                chown(dir.join(name), Some(user), Some(group)).unwrap();
            }
            command = Command::new("setpriv");
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "sh"]);
        }
        command.args(["-c", SCRIPT]).env("BIN", bin).env("DIR", &dir).env("CONF", conf).current_dir("/");
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n", "see the logs in {}", dir.display());
        let input = std::sync::Mutex::new((child.stdin.take().unwrap(), output));
        Some(Self { port, dir, input, _child: child })
    }

    /// Stops it, without a chance to tidy up (`immediate`) or with one (`fast`), and starts it again.
    pub(crate) fn restart(&self, mode: &str) {
        let mut input = self.input.lock().unwrap();
        writeln!(input.0, "restart {mode}").unwrap();
        let mut line = String::new();
        input.1.read_line(&mut line).unwrap();
        assert_eq!(line, "done\n");
    }

    /// What the server has logged.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.dir.join("log")).unwrap()
    }

    /// The URL of its database, over its socket.
    pub(crate) fn url(&self) -> String {
        let dir = self.dir.display().to_string().replace('/', "%2F");
        format!("postgres://punctual@{dir}:{}/postgres", self.port)
    }
}

/// The server of this process.
pub(crate) fn shared() -> Option<&'static Server> {
    static SERVER: OnceLock<Option<Server>> = OnceLock::new();
    SERVER.get_or_init(|| Server::start("", &[])).as_ref()
}

/// An empty schema, which is a database of its own as far as the store is concerned, and quicker made.
pub(crate) struct Database {
    pub(crate) url: String,
}

impl Database {
    /// A new one on the server of this process.
    pub(crate) async fn new() -> Option<Self> {
        Some(Self::on(tokio::task::spawn_blocking(shared).await.unwrap()?).await)
    }

    /// A new one on a server.
    pub(crate) async fn on(server: &Server) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let name = format!("test_{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let client = connect(&server.url()).await;
        client.batch_execute(&format!("CREATE SCHEMA {name}")).await.unwrap();
        Self { url: format!("{}?options=-c%20search_path%3D{name}", server.url()) }
    }

    /// A connection to look at it, without the store.
    pub(crate) async fn client(&self) -> Client {
        connect(&self.url).await
    }
}

pub(crate) async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}
