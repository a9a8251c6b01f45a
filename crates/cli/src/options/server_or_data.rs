//! Whom a command asks: a running server, or the data of a stopped one.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::Output;
use crate::client::{Access, Server};
use crate::exit::WrongUsage;

/// Who is asked, and in which form the answer is shown.
#[derive(Debug, Args)]
pub(crate) struct ServerOrData {
    /// Where the server is.
    #[arg(
        long,
        visible_alias = "url",
        value_name = "URL",
        env = "PUNCTUAL_URL",
        default_value = "http://127.0.0.1:8380"
    )]
    pub(crate) server: String,

    /// A certificate to trust besides the system's authorities, in PEM.
    #[arg(long, value_name = "FILE", env = "PUNCTUAL_CA")]
    pub(crate) ca: Option<PathBuf>,

    /// A file with the token that says who asks, instead of the environment variable PUNCTUAL_TOKEN.
    #[arg(long, value_name = "FILE", env = "PUNCTUAL_TOKEN_FILE")]
    pub(crate) token_file: Option<PathBuf>,

    /// How many seconds to wait for the server's answer.
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    pub(crate) timeout: u64,

    /// Take the data of a stopped server instead.
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,

    /// With --data, the key file, where it is not `keys` in that directory. Keys in the environment variable PUNCTUAL_KEYS
    /// are taken from there.
    #[arg(long, value_name = "FILE", requires = "data")]
    pub(crate) key_file: Option<PathBuf>,

    /// The form of the answer.
    #[arg(long, value_enum, default_value_t = Output::Table)]
    pub(crate) output: Output,
}

impl ServerOrData {
    /// The running server.
    pub(crate) fn running(&self) -> Result<Server, WrongUsage> {
        Server::read(&Access {
            option: "--server",
            url: &self.server,
            ca: self.ca.as_deref(),
            token_file: self.token_file.as_deref(),
            timeout: Duration::from_secs(self.timeout),
        })
    }
}
