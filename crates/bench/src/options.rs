//! What can be said on the command line.

use std::path::PathBuf;

use clap::Parser;

use crate::workload::Workload;

/// Measure a server.
#[derive(Debug, Parser)]
#[command(name = "punctual-bench", max_term_width = 100, after_help = WORKLOADS)]
pub(crate) struct Options {
    /// The binary under test.
    #[arg(long, value_name = "FILE", default_value = "target/release/punctual")]
    pub(crate) server: PathBuf,

    /// Where data is kept while measuring: on the disk that is meant, not in memory.
    #[arg(long, value_name = "DIR", default_value = "target/bench")]
    pub(crate) dir: PathBuf,

    /// How often each workload is run; the table then has the median and the range.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) repeat: u32,

    /// How long to wait before each run for others to leave the machine alone.
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    pub(crate) patience: u64,

    /// The file whose marked sections are rewritten.
    #[arg(long, value_name = "FILE")]
    pub(crate) write: Option<PathBuf>,

    /// What was built, for the results.
    #[arg(long, value_name = "NAME", default_value = "commit unknown")]
    pub(crate) commit: String,

    /// Where an Azurite is, for the workload queues.
    #[arg(long, value_name = "URL")]
    pub(crate) azurite: Option<String>,

    /// Where a RabbitMQ is that speaks AMQP 1.0, for the workload queues.
    #[arg(long, value_name = "URL")]
    pub(crate) rabbitmq: Option<String>,

    /// The programs of PostgreSQL, for what is measured on several nodes.
    #[arg(long, value_name = "DIR")]
    pub(crate) postgres: Option<PathBuf>,

    /// Measure what there is for nodes that share a PostgreSQL server.
    #[arg(long, requires = "postgres")]
    shared: bool,

    /// What to measure; everything if nothing is named.
    #[arg(value_name = "WORKLOAD")]
    named: Vec<Workload>,
}

impl Options {
    pub(crate) fn workloads(&self) -> Vec<Workload> {
        let shared = if self.shared { Workload::shared() } else { Vec::new() };
        let named: Vec<Workload> = self.named.iter().copied().chain(shared).collect();
        if named.is_empty() { Workload::all() } else { named }
    }
}

const WORKLOADS: &str = "Workloads:
  limits               what the machine itself can do
  create=JOBS          PUT of new jobs
  get                  GET of one job
  many=JOBS            memory, start and lists with so many jobs
  herd=JOBS            jobs that are due at one instant
  steady=RATE,SECONDS  so many jobs a second
  idle=JOBS            jobs that are due some day
  slow                 a target that hangs, beside healthy ones
  access               what tokens and the audit log cost
  queues               messages into Azurite and RabbitMQ; only if it is named

With @N behind it, create, herd, steady, rest and flat run on N nodes that share a PostgreSQL server:
  herd=10000@3         the same herd, on three nodes
  rest@1               what nodes ask of the database that have nothing to do
  flat=RATE,SECONDS@1  whether tables and indexes grow while jobs recur";
