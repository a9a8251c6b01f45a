//! `punctual nodes`: who shares a database, what they do, and having one fire nothing.

use std::io::{self, Write};

use anyhow::Context;
use comfy_table::{CellAlignment, Table, presets};
use hyper::Method;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use punctual_api::{NodeView, Nodes, StoreView};
use punctual_model::Scope;
use punctual_model::access::Caller;
use punctual_model::audit::{AuditEntry, AuditOutcome, Author};
use serde::de::DeserializeOwned;

use crate::client::Server;
use crate::clock::real_now;
use crate::exit::{Exit, WrongUsage};
use crate::options::{NodesOptions, NodesVerb, Output, ServerOrData, Stored};
use crate::token::stopped::Stopped;

const VERSION: &str = "api-version=2026-11-01";

pub(crate) fn nodes(options: &NodesOptions) -> anyhow::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("could not start the runtime")?;
    runtime.block_on(async {
        match &options.verb {
            None => list(&options.from).await,
            Some(NodesVerb::Drain(options)) => drain(&options.from, &options.name, true).await,
            Some(NodesVerb::Undrain(options)) => drain(&options.from, &options.name, false).await,
        }
    })?;
    Ok(Exit::Fine)
}

/// The database, if it is asked instead of a node.
async fn stored(from: &ServerOrData) -> anyhow::Result<Option<Stopped>> {
    match from.stored()? {
        None => Ok(None),
        Some(Stored::Data(_)) => {
            Err(WrongUsage("a data directory is one process's own: it has no nodes".to_owned()).into())
        }
        Some(shared @ Stored::Shared(..)) => Stopped::open(&shared, false).await.map(Some),
    }
}

async fn list(from: &ServerOrData) -> anyhow::Result<()> {
    let nodes: Nodes = match stored(from).await? {
        None => ask(&from.running()?, Method::GET, "/nodes").await?,
        Some(opened) => Nodes {
            value: views(&opened).await?,
            store: StoreView { kind: "postgres".to_owned(), detail: String::new() },
            takeover_seconds: None,
            clock_allowance_ms: None,
        },
    };
    let mut output = io::stdout().lock();
    match from.output {
        Output::Table => print_table(&nodes.value, &mut output)?,
        Output::Json => {
            let text = serde_json::to_string_pretty(&nodes).context("could not write the answer")?;
            writeln!(output, "{text}")?;
        }
    }
    Ok(())
}

async fn drain(from: &ServerOrData, name: &str, drained: bool) -> anyhow::Result<()> {
    match stored(from).await? {
        None => {
            let verb = if drained { "drain" } else { "undrain" };
            let path = format!("/nodes/{}/{verb}", utf8_percent_encode(name, NON_ALPHANUMERIC));
            let _: NodeView = ask(&from.running()?, Method::POST, &path).await?;
        }
        Some(opened) => {
            let verb = if drained { "disable" } else { "enable" };
            let note = note_of(&format!("Punctual/nodes/{verb}/action"), name);
            let found = opened.store.drain(name, drained, Some(note)).await.context("could not write it")?;
            if !found {
                return Err(
                    WrongUsage(format!("there is no node '{name}'; `punctual nodes` shows all")).into()
                );
            }
        }
    }
    let what = if drained { "fires nothing from now on" } else { "fires again" };
    eprintln!("the node '{name}' {what}; it knows that within a second");
    Ok(())
}

/// What the audit log says: whoever can write the database may do everything.
fn note_of(action: &str, name: &str) -> AuditEntry {
    let caller = Caller { name: "whoever can write the database".into(), ..Caller::anonymous() };
    let author = Author { action: action.into(), ..Author::of(caller, real_now()) };
    let entry = author.entry(Scope::Everything, AuditOutcome::Done);
    AuditEntry { subject: format!("node {name}").into(), ..entry }
}

async fn views(opened: &Stopped) -> anyhow::Result<Vec<NodeView>> {
    let nodes = opened.store.nodes().await.context("could not read the nodes")?;
    Ok(nodes.iter().map(|node| NodeView::of(node, 0)).collect())
}

async fn ask<T: DeserializeOwned>(server: &Server, method: Method, path: &str) -> Result<T, WrongUsage> {
    let reply = server.ask(method, &format!("{path}?{VERSION}"), None).await?;
    if !reply.status.is_success() {
        return Err(server.failed(&reply.refusal()));
    }
    let read = serde_json::from_slice(&reply.body);
    read.map_err(|_| server.failed("its answer is not about nodes; is it a Punctual server of this version?"))
}

fn print_table(nodes: &[NodeView], output: &mut dyn Write) -> io::Result<()> {
    if nodes.is_empty() {
        return writeln!(output, "there are no nodes");
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["name", "rank", "version", "beat", "held", "in flight", "clock", "fires", "where"]);
    for node in nodes {
        let fires = match (&node.reason, node.fires) {
            (Some(reason), _) => format!("no: {reason}"),
            (None, true) => "yes".to_owned(),
            (None, false) => "no".to_owned(),
        };
        let row = [
            node.name.clone(),
            node.rank.map(|rank| rank.to_string()).unwrap_or_default(),
            node.version.clone(),
            format!("{:.1} s ago", node.beat_age_ms as f64 / 1_000.0),
            node.held.to_string(),
            node.in_flight.to_string(),
            format!("{:+.1} ms", node.clock_offset_ms),
            fires,
            node.url.clone().unwrap_or_default(),
        ];
        // It may be somebody else's server, and this goes to a terminal.
        table.add_row(row.map(|cell| cell.replace(char::is_control, "")));
    }
    for column in [1, 4, 5, 6] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    writeln!(output, "{}", table.trim_fmt())
}
