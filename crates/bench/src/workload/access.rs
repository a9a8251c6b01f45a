//! What it costs to know who calls, and to keep a log of what they did.
//!
//! Three servers take turns: one that asks nobody and keeps no log, one that asks for a token, one that keeps the audit log. All
//! get the same requests, with a token.

use std::process::Command;

use anyhow::{Context, bail};

use super::{Report, Setup};
use crate::figure::{Figure, Unit};
use crate::load::{Load, Sent};
use crate::population::{self, CONNECTIONS};
use crate::server::{Role, Server};

/// How many times each takes its turn. One more goes first, unmeasured.
const ROUNDS: usize = 9;
/// How many jobs are created and how many read in one turn.
const JOBS: usize = 3_000;
const READS: usize = 20_000;

/// A server with its own data.
struct Side {
    name: &'static str,
    server: Server,
    token: String,
    _dir: tempfile::TempDir,
    creates: Vec<f64>,
    reads: Vec<f64>,
}

impl Side {
    fn new(setup: &Setup, name: &'static str, required: bool, audit: bool) -> anyhow::Result<Self> {
        let dir = setup.fresh()?;
        let created = Command::new(&setup.server)
            .args(["token", "create", "bench", "--role", "owner", "--scope", "/", "--data"])
            .arg(dir.path().join("data"))
            .output()
            .context("could not make a token")?;
        if !created.status.success() {
            bail!("could not make a token: {}", String::from_utf8_lossy(&created.stderr));
        }
        let token = String::from_utf8_lossy(&created.stdout).trim().to_owned();
        let settings = [
            ("PUNCTUAL_AUTH__MODE", if required { "required" } else { "off" }.to_owned()),
            ("PUNCTUAL_AUDIT__ENABLED", audit.to_string()),
        ];
        let (server, _) = setup.start_with(dir.path(), Role::Api, &settings)?;
        let side = Self { name, server, token, _dir: dir, creates: Vec::new(), reads: Vec::new() };
        let count = ((ROUNDS + 1) * JOBS).div_ceil(population::JOBS_OF_COLLECTION);
        let body = r#"{"location":"West US","properties":{"sku":{"name":"P20Premium"}}}"#;
        side.send(count, 201, move |number, into| {
            population::write("PUT", &population::collection(number), "", body, into);
        })?;
        Ok(side)
    }

    fn send(
        &self,
        count: usize,
        status: u16,
        write: impl Fn(usize, &mut Vec<u8>) + Send + Sync + 'static,
    ) -> anyhow::Result<Sent> {
        let header = format!("authorization: Bearer {}\r\n", self.token);
        let load =
            Load { address: self.server.address(), connections: CONNECTIONS.min(count), count, status };
        load.send(Box::new(move |number, into| {
            write(number, into);
            let line_end = into.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            into.splice(line_end..line_end, header.bytes());
        }))
    }

    fn take_turn(&mut self, round: usize) -> anyhow::Result<()> {
        let first = round * JOBS;
        let created = self.send(JOBS, 201, move |number, into| {
            let number = first + number;
            population::write("PUT", &population::job(number), "", &population::idle_job(number), into);
        })?;
        let read = self.send(READS, 200, move |number, into| {
            population::write("GET", &population::job(first + number * 7_919 % JOBS), "", "", into);
        })?;
        if round > 0 {
            self.creates.push(created.per_second());
            self.reads.push(read.per_second());
        }
        Ok(())
    }
}

pub(super) fn measure(setup: &Setup) -> anyhow::Result<Report> {
    let mut sides = [
        Side::new(setup, "asking nobody, no log", false, false)?,
        Side::new(setup, "asking for a token", true, false)?,
        Side::new(setup, "keeping the audit log", false, true)?,
    ];
    for round in 0..=ROUNDS {
        // Another one goes first each time: whoever comes first has a quieter disk.
        for turn in 0..sides.len() {
            let next = (round + turn) % sides.len();
            sides[next].take_turn(round)?;
        }
    }
    let [plain, asking, logging] = &sides;
    let mut figures = vec![
        share("creating, asking for a token", &asking.creates, &plain.creates).at_least(0.95),
        share("reading, asking for a token", &asking.reads, &plain.reads).at_least(0.95),
        share("creating, keeping the audit log", &logging.creates, &plain.creates).at_least(0.85),
    ];
    for side in &sides {
        figures.push(Figure::new(
            format!("jobs created, {}", side.name),
            median(&side.creates),
            Unit::PerSecond,
        ));
    }
    for side in &sides {
        figures.push(Figure::new(format!("jobs read, {}", side.name), median(&side.reads), Unit::PerSecond));
    }
    Ok(Report { figures, faults: Vec::new() })
}

/// The median of the ratios of turns that followed each other.
fn share(name: &str, one: &[f64], other: &[f64]) -> Figure {
    let ratios: Vec<f64> = one.iter().zip(other).map(|(one, other)| one / other).collect();
    Figure::new(format!("{name}, beside the one that does neither"), median(&ratios), Unit::Times)
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}
