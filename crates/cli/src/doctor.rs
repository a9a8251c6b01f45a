//! `punctual doctor`: is everything all right?
//!
//! Asks a running server what its inspector has found, or examines the data of a stopped one. Both give the
//! same checkup, printed for people or as JSON. Exit code 0 means no findings, 1 findings, 2 that the check
//! could not be made.

mod client;
mod stopped;
mod table;

use std::io::{self, Write};
use std::time::Duration;

use anyhow::Context;
use punctual_api::Checkup;

use crate::exit::{Exit, WrongUsage};
use crate::options::{DoctorOptions, Output};

pub(crate) fn doctor(options: &DoctorOptions) -> anyhow::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("could not start the runtime")?;
    let (checkup, place) = match &options.data {
        Some(dir) => {
            let checkup = runtime.block_on(stopped::check(dir, options.key_file.as_deref()))?;
            (checkup, dir.display().to_string())
        }
        None => {
            let server = client::Server::read(&options.url, options.ca.as_deref())?;
            let timeout = Duration::from_secs(options.timeout);
            (runtime.block_on(server.ask(timeout))?, server.to_string())
        }
    };
    let mut output = io::stdout().lock();
    match options.output {
        Output::Table => table::print(&checkup, &place, &mut output)?,
        Output::Json => {
            let text = serde_json::to_string_pretty(&checkup).context("could not write the answer")?;
            writeln!(output, "{text}")?;
        }
    }
    exit(&checkup, &place)
}

fn exit(checkup: &Checkup, place: &str) -> anyhow::Result<Exit> {
    match checkup.status.as_str() {
        "healthy" => Ok(Exit::Fine),
        "findings" | "trouble" => Ok(Exit::Failed),
        "off" => Err(WrongUsage(format!(
            "{place} does not inspect itself: set inspector.enabled = true, or stop it and look through its data \
             with --data"
        ))
        .into()),
        other => Err(WrongUsage(format!("{place} says '{other}', which this version does not know")).into()),
    }
}
