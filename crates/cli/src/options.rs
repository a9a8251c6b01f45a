//! What can be said on the command line.

mod audit;
mod copy;
mod keys;
mod nodes;
mod server_or_data;
mod token;

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use jiff::Timestamp;

pub(crate) use self::audit::{AuditOptions, AuditVerb, ListAuditOptions};
pub(crate) use self::copy::CopyOptions;
pub(crate) use self::keys::{KeysOptions, KeysVerb};
pub(crate) use self::nodes::{NodesOptions, NodesVerb};
pub(crate) use self::server_or_data::{ServerOrData, Stored};
pub(crate) use self::token::{CreateTokenOptions, RotateTokenOptions, TokenOptions, TokenVerb};
use crate::config::Role;

/// A self-hosted job scheduler.
#[derive(Debug, Parser)]
#[command(name = "punctual", version, propagate_version = true, max_term_width = 100)]
pub(crate) struct Options {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Serve(ServeOptions),
    Demo(DemoOptions),
    Preview(PreviewOptions),
    Doctor(DoctorOptions),
    Token(TokenOptions),
    Audit(AuditOptions),
    Keys(KeysOptions),
    Copy(CopyOptions),
    Nodes(NodesOptions),
}

/// Run the server.
///
/// Every option but --config can also be given in a configuration file, and all of them in the environment;
/// config.default.toml lists all settings.
#[derive(Debug, Parser)]
#[command(after_help = SERVE_EXAMPLES)]
pub(crate) struct ServeOptions {
    /// Where to listen [default: 127.0.0.1:8380].
    #[arg(long, value_name = "ADDRESS", env = "PUNCTUAL_LISTEN")]
    pub(crate) listen: Option<String>,

    /// Where everything is kept; made on first start [default: ./punctual-data].
    #[arg(long, value_name = "DIR", env = "PUNCTUAL_DATA")]
    pub(crate) data: Option<PathBuf>,

    /// Keep everything in a PostgreSQL database that several nodes share, such as postgres://user@host/database. Put its password
    /// into the environment variable PGPASSWORD, where no other user of the machine sees it.
    #[arg(long, value_name = "URL", env = "PUNCTUAL_STORE", hide_env_values = true)]
    pub(crate) store: Option<String>,

    /// Serve TLS with a certificate made here, for development.
    #[arg(long, value_enum, env = "PUNCTUAL_TLS", conflicts_with_all = ["tls_cert", "tls_key"])]
    pub(crate) tls: Option<TlsKind>,

    /// Serve TLS with this certificate chain, in PEM.
    #[arg(long, value_name = "FILE", env = "PUNCTUAL_TLS_CERT", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,

    /// The private key of the certificate, in PEM.
    #[arg(long, value_name = "FILE", env = "PUNCTUAL_TLS_KEY", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,

    /// A configuration file.
    #[arg(long, value_name = "FILE", env = "PUNCTUAL_CONFIG")]
    pub(crate) config: Option<PathBuf>,

    /// Run the schedule on a virtual clock that starts at this time.
    #[arg(long, value_name = "TIME", env = "PUNCTUAL_CLOCK_START", value_parser = read_instant)]
    pub(crate) clock_start: Option<Timestamp>,

    /// Run the schedule on a virtual clock that goes so many seconds in one.
    #[arg(long, value_name = "N", env = "PUNCTUAL_CLOCK_SPEED")]
    pub(crate) clock_speed: Option<f64>,

    /// How long a fast virtual clock waits for an occurrence before the job's next one, in real seconds.
    #[arg(long, value_name = "SECONDS")]
    pub(crate) clock_patience: Option<f64>,

    /// What this process does [default: all].
    #[arg(long, value_enum, env = "PUNCTUAL_ROLE")]
    pub(crate) role: Option<Role>,
}

const SERVE_EXAMPLES: &str = "Examples:
  punctual serve
  punctual serve --listen 127.0.0.1:9000 --data /var/lib/punctual --tls self-signed
  punctual serve --store postgres://punctual@db.example/punctual --data /var/lib/punctual
  punctual serve --clock-start 2026-03-28 --clock-speed 3600";

/// Look around in a server with sample jobs and weeks of history.
///
/// Makes the history first, which takes some seconds, and then goes on in real time. Everything is in a temporary folder, which is
/// removed when the server stops.
#[derive(Debug, Parser)]
pub(crate) struct DemoOptions {
    /// Where to listen [default: 127.0.0.1:8380, or another port if that is taken].
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<String>,

    /// How many weeks of history to make.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=8))]
    pub(crate) weeks: u32,
}

/// How TLS is served without files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TlsKind {
    SelfSigned,
}

/// Show when a job will run.
///
/// Reads a job as JSON from a file or standard input: a whole ARM resource, its `properties`, or a bare
/// recurrence.
#[derive(Debug, Parser)]
#[command(after_help = PREVIEW_EXAMPLES)]
pub(crate) struct PreviewOptions {
    /// The file to read; `-`, or none, for standard input.
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,

    /// The time at which the job is put, instead of now.
    #[arg(long, value_name = "TIME", value_parser = read_instant)]
    pub(crate) now: Option<Timestamp>,

    /// How many runs to show.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(crate) count: u64,

    /// The IANA time zone to show times in, instead of the job's own (or UTC).
    #[arg(long, value_name = "ZONE", conflicts_with = "jsonl")]
    pub(crate) zone: Option<String>,

    /// The form of the answer.
    #[arg(long, value_enum, default_value_t = Output::Table, conflicts_with = "jsonl")]
    pub(crate) output: Output,

    /// Read one object per line, `{"now": …, "count": n, "properties": {…}}`, and write one line for
    /// each, in the same order: `{"occurrences": […]}` or `{"error": {"code": …, "message": …}}`.
    #[arg(long)]
    pub(crate) jsonl: bool,
}

const PREVIEW_EXAMPLES: &str = r#"Examples:
  echo '{"frequency": "Day", "schedule": {"hours": [9], "minutes": [0]}, "timeZone": "Europe/Berlin"}' | punctual preview
  punctual preview job.json --now 2026-03-27 --count 5 --zone America/New_York
  punctual preview jobs.jsonl --jsonl > occurrences.jsonl"#;

/// See whether everything is all right.
///
/// Asks a running server what it has found by checking itself, or looks through all data of a stopped one.
/// Exits with 0 if there is nothing, with 1 if there are findings, with 2 if nobody could be asked.
#[derive(Debug, Parser)]
#[command(after_help = DOCTOR_EXAMPLES)]
pub(crate) struct DoctorOptions {
    #[command(flatten)]
    pub(crate) from: ServerOrData,
}

const DOCTOR_EXAMPLES: &str = "Examples:
  punctual doctor
  punctual doctor --server https://localhost:8380 --ca punctual-data/tls-cert.pem --output json
  punctual doctor --data /var/lib/punctual
  punctual doctor --store postgres://punctual@db.example/punctual --data /var/lib/punctual";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    Table,
    Json,
}

fn read_instant(text: &str) -> Result<Timestamp, String> {
    punctual_recurrence::parse_instant(text).map_err(|error| error.to_string())
}
