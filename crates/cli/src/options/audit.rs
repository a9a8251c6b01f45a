//! What can be said of the audit log.

use clap::{Parser, Subcommand};
use jiff::Timestamp;

use super::{ServerOrData, read_instant};

/// See who did what, and whether the log of it is whole.
///
/// Asks a running server, as an owner, or looks into the data of a stopped one.
#[derive(Debug, Parser)]
#[command(after_help = EXAMPLES)]
pub(crate) struct AuditOptions {
    #[command(subcommand)]
    pub(crate) verb: AuditVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuditVerb {
    List(ListAuditOptions),
    Export(ExportAuditOptions),
    Verify(VerifyAuditOptions),
}

/// Show the latest entries.
#[derive(Debug, Parser)]
pub(crate) struct ListAuditOptions {
    /// Only those of this caller, by name or id.
    #[arg(long, value_name = "CALLER")]
    pub(crate) caller: Option<String>,

    /// Only those about this scope or something in it.
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Option<String>,

    /// Only those at this time or later.
    #[arg(long, value_name = "TIME", value_parser = read_instant)]
    pub(crate) since: Option<Timestamp>,

    /// Only those before this time.
    #[arg(long, value_name = "TIME", value_parser = read_instant)]
    pub(crate) until: Option<Timestamp>,

    /// How many at most.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(crate) count: u64,

    #[command(flatten)]
    pub(crate) from: ServerOrData,
}

/// Write all entries to standard output, one JSON object a line, the latest first.
#[derive(Debug, Parser)]
pub(crate) struct ExportAuditOptions {
    #[command(flatten)]
    pub(crate) from: ServerOrData,
}

/// Check that no entry was changed, put in or taken away. Exits with 1 if one was.
///
/// Prints the end of the chain. Kept elsewhere, it shows later whether the end was cut off: `--head` compares.
#[derive(Debug, Parser)]
pub(crate) struct VerifyAuditOptions {
    /// An end of the chain that was printed before, such as 17:0f3a…; it must still be part of it.
    #[arg(long, value_name = "PIECE:CODE")]
    pub(crate) head: Option<String>,

    #[command(flatten)]
    pub(crate) from: ServerOrData,
}

const EXAMPLES: &str = "Examples:
  punctual audit list --caller ci --since 2026-11-01
  punctual audit export --data /var/lib/punctual > audit.jsonl
  punctual audit verify";
