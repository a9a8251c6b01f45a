//! What can be said on the command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use jiff::Timestamp;

/// A self-hosted job scheduler.
#[derive(Debug, Parser)]
#[command(name = "punctual", version, propagate_version = true, max_term_width = 100)]
pub(crate) struct Options {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Preview(PreviewOptions),
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    Table,
    Json,
}

fn read_instant(text: &str) -> Result<Timestamp, String> {
    punctual_recurrence::parse_instant(text).map_err(|error| error.to_string())
}
