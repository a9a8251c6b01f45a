//! `punctual audit`: who did what, and whether the log of it is whole.

use std::io::{self, Write};

use anyhow::Context;
use comfy_table::{Table, presets};
use hyper::Method;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use punctual_api::{Head, Verification};
use punctual_arm::{AuditQuery, Query, audit as entry};
use punctual_store::AuditAsk;
use serde_json::Value;

use crate::client::Server;
use crate::exit::{Exit, WrongUsage};
use crate::options::{AuditOptions, AuditVerb, ListAuditOptions, Output, ServerOrData};
use crate::token::stopped::Stopped;

const VERSION: &str = "api-version=2026-11-01";

/// How many entries a page of an export has.
const PAGE: u64 = 100;

/// How many entries of a stopped server's log are checked at a time.
const STEP: usize = 50_000;

pub(crate) fn audit(options: &AuditOptions) -> anyhow::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("could not start the runtime")?;
    runtime.block_on(async {
        match &options.verb {
            AuditVerb::List(options) => list(options).await,
            AuditVerb::Export(options) => {
                let log = Log::open(&options.from).await?;
                let mut output = io::stdout().lock();
                log.each(VERSION, u64::MAX, |entry| Ok(writeln!(output, "{entry}")?)).await?;
                Ok(Exit::Fine)
            }
            AuditVerb::Verify(options) => {
                let log = Log::open(&options.from).await?;
                let found = log.verify(options.head.as_deref()).await?;
                print_verification(options.from.output, &found)
            }
        }
    })
}

async fn list(options: &ListAuditOptions) -> anyhow::Result<Exit> {
    let mut query = VERSION.to_owned();
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            query.push_str(&format!("&{name}={}", utf8_percent_encode(&value, NON_ALPHANUMERIC)));
        }
    };
    add("caller", options.caller.clone());
    add("scope", options.scope.clone());
    add("from", options.since.map(|at| at.to_string()));
    add("to", options.until.map(|at| at.to_string()));
    let mut entries = Vec::new();
    let log = Log::open(&options.from).await?;
    log.each(&query, options.count, |entry| {
        entries.push(entry);
        Ok(())
    })
    .await?;
    let mut output = io::stdout().lock();
    match options.from.output {
        Output::Table => print_table(&entries, &mut output)?,
        Output::Json => {
            let text = serde_json::to_string_pretty(&entries).context("could not write the answer")?;
            writeln!(output, "{text}")?;
        }
    }
    Ok(Exit::Fine)
}

/// Whose log.
enum Log {
    Running(Server),
    Stopped(Stopped),
}

impl Log {
    async fn open(from: &ServerOrData) -> anyhow::Result<Self> {
        Ok(match from.stored()? {
            Some(stored) => Self::Stopped(Stopped::open(&stored, false).await?),
            None => Self::Running(from.running()?),
        })
    }

    /// Gives the entries of a query, the latest first, at most so many.
    async fn each(
        &self,
        query: &str,
        count: u64,
        mut take: impl FnMut(Value) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let mut left = count;
        let mut query = format!("{query}&$top={}", left.min(PAGE));
        while left > 0 {
            let (entries, next) = match self {
                Self::Running(server) => ask_page(server, &query).await?,
                Self::Stopped(data) => read_page(data, &query).await?,
            };
            for entry in entries.into_iter().take(usize::try_from(left).unwrap_or(usize::MAX)) {
                left -= 1;
                take(entry)?;
            }
            let Some(next) = next else { break };
            query = next;
        }
        Ok(())
    }

    /// Checks the whole chain.
    async fn verify(&self, head: Option<&str>) -> anyhow::Result<Verification> {
        let mut whole = Verification::default();
        if let Some(head) = head {
            whole.problems.extend(self.check_head(head).await?);
        }
        loop {
            let part = self.verify_part(whole.next).await?;
            whole.checked += part.checked;
            whole.problems.extend(part.problems);
            (whole.next, whole.unsealed, whole.head) = (part.next, part.unsealed, part.head);
            if whole.next.is_none() {
                return Ok(whole);
            }
        }
    }

    /// Checks that an end of the chain that was printed before is still part of it.
    async fn check_head(&self, head: &str) -> anyhow::Result<Option<String>> {
        let parsed = head.split_once(':').and_then(|(piece, code)| Some((piece.parse::<i64>().ok()?, code)));
        let wrong = || WrongUsage("--head: must be PIECE:CODE, as `verify` prints it".to_owned());
        let (piece, code) = parsed.ok_or_else(wrong)?;
        let found = match self {
            Self::Running(server) => {
                let answer = ask(server, &format!("/audit/verification?{VERSION}&piece={piece}")).await?;
                answer["head"]["code"].as_str().map(str::to_owned)
            }
            Self::Stopped(data) => {
                data.store.audit_piece_code(piece).await.context("could not read the audit log")?
            }
        };
        Ok(match found {
            None => Some(format!("piece {piece} of the chain is missing, which once was its end")),
            Some(found) if found != code => {
                Some(format!("piece {piece} of the chain is not the one that once was its end"))
            }
            Some(_) => None,
        })
    }

    async fn verify_part(&self, after: Option<i64>) -> anyhow::Result<Verification> {
        match self {
            Self::Running(server) => {
                let after = after.map(|after| format!("&after={after}")).unwrap_or_default();
                let answer = ask(server, &format!("/audit/verification?{VERSION}{after}")).await?;
                let read = serde_json::from_value(answer);
                Ok(read.map_err(|_| server.failed("its answer is no verification"))?)
            }
            Self::Stopped(data) => {
                let found =
                    data.store.verify_audit(after, STEP).await.context("could not check the audit log")?;
                Ok(Verification {
                    checked: found.checked,
                    problems: found.problems.iter().map(ToString::to_string).collect(),
                    next: found.next,
                    unsealed: found.unsealed,
                    head: found.head.map(|(piece, code)| Head { piece, code }),
                })
            }
        }
    }
}

async fn ask(server: &Server, path: &str) -> Result<Value, WrongUsage> {
    let reply = server.ask(Method::GET, path, None).await?;
    if !reply.status.is_success() {
        return Err(server.failed(&reply.refusal()));
    }
    let read = serde_json::from_slice(&reply.body);
    read.map_err(|_| server.failed("its answer is no JSON; is it a Punctual server of this version?"))
}

/// A page of a running server, and the query of the next one.
async fn ask_page(server: &Server, query: &str) -> Result<(Vec<Value>, Option<String>), WrongUsage> {
    let mut page = ask(server, &format!("/audit?{query}")).await?;
    let Value::Array(entries) = page["value"].take() else {
        return Err(server.failed("its answer is no list"));
    };
    // The link is absolute, and the server may be reached by another address: only what follows is taken.
    let next = page["nextLink"].as_str().and_then(|link| link.split_once('?'));
    Ok((entries, next.map(|(_, next)| next.to_owned())))
}

/// The same from the data of a stopped server.
async fn read_page(data: &Stopped, query: &str) -> anyhow::Result<(Vec<Value>, Option<String>)> {
    let query = Query::decode(query);
    let read = AuditQuery::read(&query).map_err(|error| WrongUsage(error.message))?;
    let AuditQuery { caller, scope, from, to, before, limit } = read;
    let ask = AuditAsk { scopes: Some(vec![scope]), caller, from, to, before, limit };
    let page = data.store.audit(&ask).await.context("could not read the audit log")?;
    for number in &page.unreadable {
        eprintln!("entry {number} can't be read");
    }
    let entries =
        page.entries.iter().map(|stored| entry::answer(stored.number, &stored.entry).to_value()).collect();
    let next = page.next.map(|number| query.next_link("", "$skiptoken", &AuditQuery::token(number)));
    Ok((entries, next.map(|link| link.trim_start_matches('?').to_owned())))
}

fn print_table(entries: &[Value], output: &mut dyn Write) -> io::Result<()> {
    if entries.is_empty() {
        return writeln!(output, "there are no entries");
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["time", "caller", "from", "action", "on", "outcome"]);
    for entry in entries {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let subject = text(&entry["subject"]);
        let on = if subject.is_empty() { text(&entry["scope"]) } else { subject };
        let outcome = match entry["count"].as_u64() {
            Some(count) if count > 1 => format!("{} {count} times", text(&entry["outcome"])),
            _ => text(&entry["outcome"]),
        };
        let (caller, source) = (text(&entry["caller"]["name"]), text(&entry["source"]));
        table.add_row([text(&entry["time"]), caller, source, text(&entry["action"]), on, outcome]);
    }
    writeln!(output, "{}", table.trim_fmt())
}

fn print_verification(output: Output, found: &Verification) -> anyhow::Result<Exit> {
    let mut stdout = io::stdout().lock();
    match output {
        Output::Json => {
            let text = serde_json::to_string_pretty(found).context("could not write the answer")?;
            writeln!(stdout, "{text}")?;
        }
        Output::Table => {
            for problem in &found.problems {
                writeln!(stdout, "{problem}")?;
            }
            let verdict =
                if found.problems.is_empty() { "nothing was changed" } else { "SOMETHING WAS CHANGED" };
            writeln!(
                stdout,
                "{} entries checked, {} not sealed yet: {verdict}",
                found.checked, found.unsealed
            )?;
            if let Some(Head { piece, code }) = &found.head {
                writeln!(stdout, "the chain ends at {piece}:{code}")?;
            }
        }
    }
    Ok(if found.problems.is_empty() { Exit::Fine } else { Exit::Failed })
}
