//! The machine's own limits.

use std::time::Duration;

use super::{LIMIT_TIME, Report, Setup};
use crate::figure::{Figure, Unit};
use crate::limit::sqlite::Sqlite;
use crate::limit::{disk, http};
use crate::receiver::Receiver;

pub(super) fn measure(setup: &Setup) -> anyhow::Result<Report> {
    let mut figures = Vec::new();
    let mut add = |name: &str, value: f64| figures.push(Figure::new(name, value, Unit::PerSecond));
    add("durable writes of a page (fdatasync)", disk::durable_writes(&setup.dir, LIMIT_TIME)?);
    let mut sqlite = Sqlite::new(&setup.dir)?;
    add("SQLite, durable commits of one row", sqlite.single_commits(LIMIT_TIME)?);
    for batch in [100, 1_000] {
        let rate = sqlite.firings(batch, LIMIT_TIME)?;
        add(&format!("SQLite, update and insert in batches of {batch}"), rate);
    }
    for connections in [16, 64] {
        let rate = http::bare(connections, LIMIT_TIME)?;
        add(&format!("hyper to hyper over {connections} connections"), rate);
    }
    add("hyper to this bench's receiver over 64 connections", to_receiver()?);
    Ok(Report { figures, faults: Vec::new() })
}

/// What one thread of bare hyper sends to the receiver of the firings.
pub(super) fn to_receiver() -> anyhow::Result<f64> {
    let receiver = Receiver::start(1, 0, Duration::ZERO)?;
    http::client(receiver.address(), 64, LIMIT_TIME)
}
