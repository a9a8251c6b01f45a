//! `punctual doctor`: is everything all right?
//!
//! Asks a running server what its inspector has found, or examines the data of a stopped one, or the database of several. All give the
//! same checkup, printed for people or as JSON. Exit code 0 means no findings, 1 findings, 2 that the check
//! could not be made.

mod shared;
mod stopped;
mod table;

use std::io::{self, Write};

use anyhow::Context;
use hyper::Method;
use punctual_api::Checkup;

use crate::client::Server;
use crate::exit::{Exit, WrongUsage};
use crate::options::{DoctorOptions, Output, Stored};

pub(crate) fn doctor(options: &DoctorOptions) -> anyhow::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("could not start the runtime")?;
    let (checkup, place) = match options.from.stored()? {
        Some(Stored::Data(data)) => {
            (runtime.block_on(stopped::check(&data.dir, &data.key_file))?, data.dir.display().to_string())
        }
        Some(stored @ Stored::Shared(..)) => {
            (runtime.block_on(shared::check(&stored))?, "the database".to_owned())
        }
        None => {
            let server = options.from.running()?;
            (runtime.block_on(ask(&server))?, server.to_string())
        }
    };
    let mut output = io::stdout().lock();
    match options.from.output {
        Output::Table => table::print(&checkup, &place, &mut output)?,
        Output::Json => {
            let text = serde_json::to_string_pretty(&checkup).context("could not write the answer")?;
            writeln!(output, "{text}")?;
        }
    }
    exit(&checkup, &place)
}

async fn ask(server: &Server) -> Result<Checkup, WrongUsage> {
    let reply = server.ask(Method::GET, "/doctor", None).await?;
    if !reply.status.is_success() {
        return Err(server.failed(&reply.refusal()));
    }
    let read = serde_json::from_slice(&reply.body);
    read.map_err(|_| server.failed("its answer is no checkup; is it a Punctual server of this version?"))
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
