//! `punctual-bench` measures the server from outside: it starts the real binary, creates jobs through its API,
//! receives what they fire, and compares the figures with what the machine itself can do.
//!
//! Nothing fails because a machine is slow. A firing that is lost, repeated or early is an error.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test that can't set up should stop"))]

mod batch;
mod client;
mod clock;
mod distribution;
mod figure;
mod limit;
mod load;
mod machine;
mod options;
mod place;
mod population;
mod postgres;
mod process;
mod receiver;
mod results;
mod server;
mod service;
mod sleeper;
mod workload;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::Parser;

use crate::figure::{Figure, Unit, table};
use crate::machine::{Machine, Others};
use crate::options::Options;
use crate::workload::{Report, Setup};

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(faults) => {
            eprintln!("punctual-bench: {faults} error(s), see above");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("punctual-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs all workloads and returns the number of faults. Slowness is not a fault.
fn run(options: &Options) -> anyhow::Result<usize> {
    std::fs::create_dir_all(&options.dir)
        .with_context(|| format!("could not make {}", options.dir.display()))?;
    let setup = Setup {
        server: options.server.clone(),
        dir: options.dir.clone(),
        azurite: options.azurite.clone(),
        rabbitmq: options.rabbitmq.clone(),
        postgres: options.postgres.clone(),
    };
    let machine = Machine::look(&options.dir)?;
    println!("{}, {}\n", machine.text(), options.commit);
    let mut fault_count = 0;
    for workload in options.workloads() {
        let mut runs = Vec::new();
        for number in 1..=options.repeat {
            eprintln!("{workload}: run {number} of {}", options.repeat);
            machine::await_quiet(Duration::from_secs(options.patience))?;
            let others = Others::watch()?;
            let Report { mut figures, faults } =
                workload.measure(&setup).with_context(|| format!("{workload} could not be measured"))?;
            for fault in &faults {
                eprintln!("ERROR: {workload}: {fault}");
            }
            fault_count += faults.len();
            figures.push(Figure::new("used by others, of all processors", others.percent()?, Unit::Percent));
            runs.push(figures);
        }
        let table = table(&runs);
        println!("## {workload}: {}\n\n{table}", workload.question());
        if let Some(file) = &options.write {
            results::write(file, workload, &table, &machine, &options.commit)?;
        }
    }
    Ok(fault_count)
}
