//! Logging, to standard error.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use crate::config::{Log, LogFormat};
use crate::exit::WrongUsage;

pub(super) fn start(log: &Log) -> Result<(), WrongUsage> {
    let filter = EnvFilter::try_new(&log.level)
        .map_err(|error| WrongUsage(format!("log.level: '{}' is not a filter: {error}", log.level)))?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let started = match log.format {
        LogFormat::Json => builder.json().try_init(),
        LogFormat::Text => builder.with_ansi(std::io::stderr().is_terminal()).try_init(),
    };
    started.map_err(|error| WrongUsage(format!("could not start logging: {error}")))
}
