//! Logging to standard error.
//!
//! Messages of libraries below `info` are never logged, whatever the filter: they contain what goes over the
//! wire, including secrets.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::IsTerminal;
use std::panic::PanicHookInfo;

use tracing::{Level, Metadata};
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::fmt;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::{Log, LogFormat};
use crate::exit::WrongUsage;

pub(super) fn start(log: &Log) -> Result<(), WrongUsage> {
    let lines = fmt::layer().with_writer(std::io::stderr);
    let lines = match log.format {
        LogFormat::Json => lines.json().boxed(),
        LogFormat::Text => lines.with_ansi(std::io::stderr().is_terminal()).boxed(),
    };
    let filter = log.level.targets();
    let started =
        tracing_subscriber::registry().with(filter).with(filter_fn(harmless)).with(lines).try_init();
    started.map_err(|error| WrongUsage(format!("could not start logging: {error}")))?;
    std::panic::set_hook(Box::new(log_panic));
    Ok(())
}

/// A panic is a line like any other, with the place where it happened.
fn log_panic(panic: &PanicHookInfo<'_>) {
    let text = panic.payload_as_str().unwrap_or("it said nothing");
    let place = panic.location().map(ToString::to_string).unwrap_or_default();
    let thread = std::thread::current();
    tracing::error!(text, place, thread = thread.name(), "something panicked");
    let backtrace = Backtrace::capture();
    if backtrace.status() == BacktraceStatus::Captured {
        tracing::error!(%backtrace, "where it panicked");
    }
}

fn harmless(metadata: &Metadata<'_>) -> bool {
    let target = metadata.target();
    let ours = target == "punctual" || target.starts_with("punctual_") || target.starts_with("punctual::");
    // The database's tell parameters of statements, and notices that may have them.
    let least = if target.starts_with("tokio_postgres") { Level::WARN } else { Level::INFO };
    ours || *metadata.level() <= least
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek};
    use std::sync::Arc;

    use super::*;
    use crate::config::LogFilter;

    #[test]
    fn libraries_are_heard_from_info_upwards_whatever_the_filter() {
        let mut file = tempfile::tempfile().unwrap();
        let lines =
            fmt::layer().without_time().with_ansi(false).with_writer(Arc::new(file.try_clone().unwrap()));
        let filter = LogFilter::try_from("trace,h2=trace,hyper=trace,fe2o3_amqp=trace".to_owned()).unwrap();
        let filter = filter.targets();
        let registry = tracing_subscriber::registry().with(filter).with(filter_fn(harmless)).with(lines);
        tracing::subscriber::with_default(registry, || {
            tracing::trace!(target: "h2::codec", "a frame");
            tracing::debug!(target: "hyper::proto", "a head");
            tracing::trace!(target: "fe2o3_amqp::transport", "a frame");
            tracing::debug!(target: "punctualish", "not ours");
            tracing::info!(target: "tokio_postgres::connection", "a notice");
            tracing::warn!(target: "tokio_postgres::connection", "a warning");
            tracing::info!(target: "h2", "this matters");
            tracing::trace!(target: "punctual_actions", "this is ours");
            tracing::trace!(target: "punctual::serve", "and this");
        });
        let mut heard = String::new();
        file.rewind().unwrap();
        file.read_to_string(&mut heard).unwrap();
        let heard: Vec<&str> = heard.lines().map(str::trim_start).collect();
        assert_eq!(
            heard,
            [
                "WARN tokio_postgres::connection: a warning",
                "INFO h2: this matters",
                "TRACE punctual_actions: this is ours",
                "TRACE punctual::serve: and this"
            ]
        );
    }
}
