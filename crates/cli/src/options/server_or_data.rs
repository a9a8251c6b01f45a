//! Whom a command asks: a running server, the data of a stopped one, or the database that several nodes share.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use punctual_store_postgres::ServerUrl;

use super::Output;
use crate::client::{Access, Server};
use crate::config::Data;
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

    /// Take the database that several nodes share instead, whether they run or not. --data is the directory with the key file then
    /// [default: ./punctual-data], and the environment variable PGPASSWORD has the password of the database.
    #[arg(long, value_name = "URL")]
    pub(crate) store: Option<String>,

    /// With --data or --store, the key file, where it is not `keys` in that directory. Keys in the environment variable PUNCTUAL_KEYS
    /// are taken from there.
    #[arg(long, value_name = "FILE")]
    pub(crate) key_file: Option<PathBuf>,

    /// The form of the answer.
    #[arg(long, value_enum, default_value_t = Output::Table)]
    pub(crate) output: Output,
}

/// What a command takes instead of asking a server.
pub(crate) enum Stored {
    /// The data of a stopped server.
    Data(Data),
    /// The database that several nodes share.
    Shared(Box<ServerUrl>, Data),
}

impl ServerOrData {
    /// What is taken instead of a running server; none if that is asked.
    pub(crate) fn stored(&self) -> Result<Option<Stored>, WrongUsage> {
        let key_file = self.key_file.clone().unwrap_or_default();
        match (&self.store, &self.data) {
            (None, None) if self.key_file.is_some() => {
                Err(WrongUsage("--key-file goes with --data or --store: a server knows its keys".to_owned()))
            }
            (None, None) => Ok(None),
            (None, Some(dir)) => Ok(Some(Stored::Data(Data { dir: dir.clone(), key_file }))),
            (Some(url), dir) => {
                let url =
                    ServerUrl::parse(url).map_err(|error| WrongUsage(format!("option --store: {error}")))?;
                let dir = dir.clone().unwrap_or_else(|| PathBuf::from("./punctual-data"));
                Ok(Some(Stored::Shared(Box::new(url), Data { dir, key_file })))
            }
        }
    }

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
