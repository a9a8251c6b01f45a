//! `punctual copy`: moves everything from one store to another.
//!
//! The source is opened first, with its keys, and refused while a server runs on it; then the target. Nothing is written before
//! both are known to be right.

mod place;

use std::io::{self, Write};
use std::time::Duration;

use anyhow::Context;
use comfy_table::{CellAlignment, Table, presets};
use punctual_store::copy::{CopyError, CopyProgress, CopyReport, CopyStage};
use serde_json::json;
use tokio::time::Instant;

use self::place::Place;
use crate::exit::{Exit, WrongUsage};
use crate::file_size;
use crate::options::{CopyOptions, Output};
use crate::progress::Progress;

pub(crate) fn copy(options: &CopyOptions) -> anyhow::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.context("could not start the runtime")?;
    runtime.block_on(run(options))
}

async fn run(options: &CopyOptions) -> anyhow::Result<Exit> {
    file_size::survive_limit().await.context("could not listen for signals")?;
    let (from, to) = (Place::read("--from", &options.from.0)?, Place::read("--to", &options.to.0)?);
    if from.to_string() == to.to_string() {
        return Err(WrongUsage("--from and --to are the same".to_owned()).into());
    }
    let keys = place::keys([&from, &to], options.key_file.as_deref())?;
    let source = from.open_source(&keys).await?;
    let target = to.open_target().await?;
    let began = Instant::now();
    let mut progress = Progress::new();
    let copied = punctual_store::copy::copy(&*source, &*target, &mut |now| progress.tell(&told(now))).await;
    progress.end();
    let report = copied.map_err(|error| refused(error, &from, &to))?;
    print(&report, began.elapsed(), options.output)?;
    eprintln!(
        "{to} has everything that is in {from}. Servers there need the same keys ({}).\n\
         Don't start a server on {from} again: it would fire the same jobs.",
        keys.source
    );
    Ok(Exit::Fine)
}

fn told(now: CopyProgress) -> String {
    let CopyProgress { stage, table, done, total } = now;
    let doing = match stage {
        CopyStage::Copying => "copying",
        CopyStage::Comparing => "comparing",
    };
    let percent = done * 100 / total.max(1);
    format!("{doing} {table}: {percent} % of {total} rows")
}

fn refused(error: CopyError, from: &Place, to: &Place) -> anyhow::Error {
    if error.is_refusal() {
        return WrongUsage(error.to_string()).into();
    }
    anyhow::Error::new(error).context(format!("could not copy {from} to {to}"))
}

/// The tables to standard output, with how fast it was.
fn print(report: &CopyReport, took: Duration, output: Output) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    let rows: u64 = report.tables.iter().map(|table| table.row_count).sum();
    match output {
        Output::Table => {
            let mut table = Table::new();
            table.load_style(presets::NOTHING);
            table.set_header(["table", "rows", "sha-256 of the rows"]);
            for one in &report.tables {
                table.add_row([one.name.to_owned(), one.row_count.to_string(), one.digest.clone()]);
            }
            if let Some(column) = table.column_mut(1) {
                column.set_cell_alignment(CellAlignment::Right);
            }
            writeln!(stdout, "{}", table.trim_fmt())?;
            writeln!(stdout)?;
            let went_on = if report.resumed { ", after an earlier copy had been stopped" } else { "" };
            writeln!(stdout, "{rows} rows are the same on both sides; {:.1} s{went_on}", took.as_secs_f64())?;
        }
        Output::Json => {
            let table = |one: &punctual_store::copy::CopiedTable| json!({ "name": one.name, "rowCount": one.row_count, "digest": one.digest });
            let tables: Vec<_> = report.tables.iter().map(table).collect();
            let answer = json!({
                "tables": tables, "rowCount": rows, "resumed": report.resumed, "seconds": took.as_secs_f64(),
            });
            writeln!(stdout, "{answer:#}")?;
        }
    }
    Ok(())
}
