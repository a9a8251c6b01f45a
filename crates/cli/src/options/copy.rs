//! What can be said of a copy.

use std::convert::Infallible;
use std::fmt;
use std::path::PathBuf;

use clap::Parser;

use super::Output;

/// Move everything from one store to another: up to PostgreSQL, or back to the data directory of one server.
///
/// Definitions, sealed secrets, counters, history, agenda, groups, tokens, sessions, the audit log: rows go as they are, with their
/// ids. Both sides must be stopped, and the target empty. Afterwards everything is read again on both sides and compared. If it is
/// killed, the same command goes on where it stopped; until it has completed, no server starts on the target.
///
/// The keys of the source are needed, and the target needs the same: nothing is sealed anew. The source is not changed: don't start
/// a server on it again, which would fire the same jobs.
#[derive(Debug, Parser)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CopyOptions {
    /// What to copy: `sqlite:DIR`, the data directory of a stopped server, or `postgres://user@host/database`. Put the password of
    /// a database into the environment variable PGPASSWORD, where no other user of the machine sees it.
    #[arg(
        long,
        value_name = "SOURCE",
        env = "PUNCTUAL_COPY_FROM",
        hide_env_values = true,
        value_parser = PlaceText::read
    )]
    pub(crate) from: PlaceText,

    /// Where to: an empty database, or a directory without data.
    #[arg(
        long,
        value_name = "TARGET",
        env = "PUNCTUAL_COPY_TO",
        hide_env_values = true,
        value_parser = PlaceText::read
    )]
    pub(crate) to: PlaceText,

    /// The key file, where it is not `keys` in the data directory that is copied from or to. Keys in the environment variable
    /// PUNCTUAL_KEYS are taken from there.
    #[arg(long, value_name = "FILE")]
    pub(crate) key_file: Option<PathBuf>,

    /// The form of the answer.
    #[arg(long, value_enum, default_value_t = Output::Table)]
    pub(crate) output: Output,
}

const EXAMPLES: &str = "Examples:
  punctual copy --from sqlite:/var/lib/punctual --to postgres://punctual@db.example/punctual
  punctual copy --from postgres://punctual@db.example/punctual --to sqlite:/var/lib/punctual --key-file /etc/punctual/keys";

/// A place as it was written, which may have a password in it and is never shown.
#[derive(Clone)]
pub(crate) struct PlaceText(pub(crate) String);

impl PlaceText {
    /// Whatever it is: clap would show what it refuses.
    #[expect(clippy::unnecessary_wraps, reason = "clap takes a function that may fail")]
    fn read(text: &str) -> Result<Self, Infallible> {
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Debug for PlaceText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}
