//! `punctual keys`: the keys that secrets are sealed with.
//!
//! A running server is asked over its API; the data of a stopped one is changed directly. Both answer in the form of the API,
//! so that they print the same. Keys themselves are shown by `generate` alone, which makes one and keeps it nowhere.

mod keeper;
mod open;
mod source;
mod table;

use std::io::{self, Write};

use anyhow::Context;
use hyper::Method;
use punctual_api::{KeyKeeper, KeyProblem, Keys};
use punctual_model::Scope;
use punctual_model::access::Caller;
use punctual_model::audit::{AuditEntry, AuditOutcome, Author};
use punctual_store::KeyRing;

pub(crate) use self::keeper::Keeper;
pub(crate) use self::open::{OpenedKeys, open, open_shared};
pub(crate) use self::source::{Given, Source};
use crate::client::Server;
use crate::clock::real_now;
use crate::exit::{Exit, WrongUsage};
use crate::options::{KeysOptions, KeysVerb, Output, ServerOrData};
use crate::progress::Progress;
use crate::random::SystemRandom;
use crate::token::stopped::Stopped;

const VERSION: &str = "api-version=2026-11-01";

pub(crate) fn keys(options: &KeysOptions) -> anyhow::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("could not start the runtime")?;
    runtime.block_on(async {
        let (keys, from) = match &options.verb {
            KeysVerb::Generate(options) => {
                let line =
                    KeyRing::generate_at(options.number, real_now(), &SystemRandom::default()).newest_line();
                return Ok(write!(io::stdout(), "{}", line.expose())?);
            }
            KeysVerb::Status(options) => (Whose::open(&options.from).await?.status().await?, &options.from),
            KeysVerb::Rotate(options) => (Whose::open(&options.from).await?.rotate().await?, &options.from),
            KeysVerb::Retire(options) => {
                (Whose::open(&options.from).await?.retire(options.key).await?, &options.from)
            }
        };
        print(from.output, &keys)
    })?;
    Ok(Exit::Fine)
}

/// What the audit log says where the keys were changed by somebody who did not ask the server: whoever can write them may do
/// everything.
pub(crate) fn note_of(action: &str) -> AuditEntry {
    let caller = Caller { name: "whoever can write the keys".into(), ..Caller::anonymous() };
    let author = Author { action: action.into(), ..Author::of(caller, real_now()) };
    author.entry(Scope::Everything, AuditOutcome::Done)
}

/// Whose keys.
enum Whose {
    Running(Server),
    Stopped(Stopped),
}

impl Whose {
    async fn open(from: &ServerOrData) -> anyhow::Result<Self> {
        Ok(match from.stored()? {
            Some(stored) => Self::Stopped(Stopped::open(&stored, false).await?),
            None => Self::Running(from.running()?),
        })
    }

    async fn status(&self) -> anyhow::Result<Keys> {
        match self {
            Self::Running(server) => Ok(ask(server, Method::GET, "/keys").await?),
            Self::Stopped(data) => {
                let mut keys = data.keeper.keys().await.map_err(refused)?;
                if !keys.resealing.done {
                    let note =
                        "A server that starts goes on sealing anew, and so does `punctual keys retire`.";
                    keys.notes.push(note.to_owned());
                }
                Ok(keys)
            }
        }
    }

    async fn rotate(&self) -> anyhow::Result<Keys> {
        match self {
            Self::Running(server) => Ok(ask(server, Method::POST, "/keys/rotate").await?),
            Self::Stopped(data) => {
                let note = note_of("Punctual/keys/rotate/action");
                let rotated = data.keeper.rotate(Some(note)).await.map_err(refused)?;
                reseal(data).await?;
                let sealed = data.keeper.keys().await.map_err(refused)?;
                Ok(Keys { notes: [rotated.notes, sealed.notes].concat(), ..sealed })
            }
        }
    }

    /// Nobody seals anew in the background of a stopped server, so that it is done first.
    async fn retire(&self, id: u32) -> anyhow::Result<Keys> {
        match self {
            Self::Running(server) => Ok(ask(server, Method::POST, &format!("/keys/{id}/retire")).await?),
            Self::Stopped(data) => {
                reseal(data).await?;
                let note = note_of("Punctual/keys/retire/action");
                data.keeper.retire(id, Some(note)).await.map_err(refused)
            }
        }
    }
}

async fn reseal(data: &Stopped) -> anyhow::Result<()> {
    let mut progress = Progress::new();
    let tell = |done: f64| progress.tell(&format!("sealing jobs anew: {:.0} %", done * 100.0));
    let sealed = data.keeper.reseal_all(tell).await;
    progress.end();
    sealed
        .context("could not seal all jobs anew; what is sealed stays so, and another try goes on from there")
}

async fn ask(server: &Server, method: Method, path: &str) -> Result<Keys, WrongUsage> {
    let reply = server.ask(method, &format!("{path}?{VERSION}"), None).await?;
    if !reply.status.is_success() {
        return Err(server.failed(&reply.refusal()));
    }
    let read: Result<Keys, _> = serde_json::from_slice(&reply.body);
    let mut keys = read.map_err(|_| {
        server.failed("its answer is not about keys; is it a Punctual server of this version?")
    })?;
    // It may be somebody else's, and this goes to a terminal.
    let made = keys.keys.iter_mut().flat_map(|key| key.made_at.iter_mut().chain([&mut key.state]));
    for shown in made.chain(&mut keys.notes).chain([&mut keys.source]) {
        shown.retain(|letter| !letter.is_control());
    }
    Ok(keys)
}

fn refused(problem: KeyProblem) -> anyhow::Error {
    match problem {
        KeyProblem::Unknown { id } => {
            WrongUsage(format!("there is no key {id}; `punctual keys status` shows all")).into()
        }
        KeyProblem::Refused(why) => WrongUsage(why).into(),
        KeyProblem::Trouble(error) => error.into(),
    }
}

/// The keys to standard output, what is to be known to whoever watches.
fn print(output: Output, keys: &Keys) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    match output {
        Output::Table => {
            table::print(keys, &mut stdout)?;
            stdout.flush()?;
            for note in &keys.notes {
                eprintln!("{note}");
            }
        }
        Output::Json => {
            let text = serde_json::to_string_pretty(keys).context("could not write the answer")?;
            writeln!(stdout, "{text}")?;
        }
    }
    Ok(())
}
