//! `punctual token`: who may call, and what they may do.
//!
//! A running server is asked over its API; the data of a stopped one is changed directly, which is how the first
//! token is made. Both answer in the form of the API, so that they print the same. A secret goes to standard output
//! and nowhere else.

mod running;
pub(crate) mod stopped;
mod table;

use std::io::{self, Write};

use anyhow::Context;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};
use serde_json::{Map, Value, json};

use self::running::Running;
use self::stopped::Stopped;
use crate::clock::real_now;
use crate::exit::{Exit, WrongUsage};
use crate::options::{CreateTokenOptions, Output, RotateTokenOptions, ServerOrData, TokenOptions, TokenVerb};

/// Whose tokens.
enum Tokens {
    Running(Running),
    Stopped(Stopped),
}

pub(crate) fn token(options: &TokenOptions) -> anyhow::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("could not start the runtime")?;
    runtime.block_on(async {
        match &options.verb {
            TokenVerb::Create(options) => create(options).await,
            TokenVerb::List(options) => {
                let tokens = Tokens::open(&options.from, false).await?.list().await?;
                print(options.from.output, &Value::Array(tokens), table::print)
            }
            TokenVerb::Revoke(options) => {
                let tokens = Tokens::open(&options.from, false).await?;
                let found = tokens.find(&options.token).await?;
                tokens.revoke(id_of(&found)).await?;
                eprintln!("revoked the token '{}': it is refused from now on", name_of(&found));
                Ok(())
            }
            TokenVerb::Rotate(options) => rotate(options).await,
        }
    })?;
    Ok(Exit::Fine)
}

async fn create(options: &CreateTokenOptions) -> anyhow::Result<()> {
    if options.role.len() != options.scope.len() {
        let (roles, scopes) = (options.role.len(), options.scope.len());
        let message = format!(
            "--role and --scope come in pairs, and there are {roles} of one and {scopes} of the other"
        );
        return Err(WrongUsage(message).into());
    }
    let grants = options.role.iter().zip(&options.scope);
    let grants: Vec<Value> =
        grants.map(|(role, scope)| json!({"role": role.name(), "scope": scope})).collect();
    let mut body = json!({"name": options.name, "grants": grants});
    if let Some(lifetime) = options.expires {
        body["expiresAt"] = expiry(lifetime)?.to_string().into();
    }
    let created = Tokens::open(&options.from, true).await?.create(&body).await?;
    print_secret(options.from.output, &created, "created")
}

async fn rotate(options: &RotateTokenOptions) -> anyhow::Result<()> {
    let tokens = Tokens::open(&options.from, false).await?;
    let found = tokens.find(&options.token).await?;
    let mut body = Map::new();
    if let Some(lifetime) = options.expires {
        body.insert("expiresAt".to_owned(), expiry(lifetime)?.to_string().into());
    }
    let rotated = tokens.rotate(id_of(&found), &body.into()).await?;
    print_secret(options.from.output, &rotated, "rotated")
}

impl Tokens {
    /// `new` makes the data of a server that was never started.
    async fn open(from: &ServerOrData, new: bool) -> anyhow::Result<Self> {
        Ok(match from.stored()? {
            Some(stored) => Self::Stopped(Stopped::open(&stored, new).await?),
            None => Self::Running(Running::new(from)?),
        })
    }

    async fn list(&self) -> anyhow::Result<Vec<Value>> {
        match self {
            Self::Running(server) => Ok(server.list().await?),
            Self::Stopped(data) => data.list().await,
        }
    }

    async fn create(&self, body: &Value) -> anyhow::Result<Value> {
        match self {
            Self::Running(server) => Ok(server.create(body).await?),
            Self::Stopped(data) => data.create(body).await,
        }
    }

    async fn rotate(&self, id: &str, body: &Value) -> anyhow::Result<Value> {
        match self {
            Self::Running(server) => Ok(server.rotate(id, body).await?),
            Self::Stopped(data) => data.rotate(id, body).await,
        }
    }

    async fn revoke(&self, id: &str) -> anyhow::Result<()> {
        match self {
            Self::Running(server) => Ok(server.revoke(id).await?),
            Self::Stopped(data) => data.revoke(id).await,
        }
    }

    /// The token of an id, or of a name in any letter case.
    async fn find(&self, wanted: &str) -> anyhow::Result<Value> {
        let tokens = self.list().await?;
        let folded = wanted.to_lowercase();
        let is_it = |token: &&Value| id_of(token) == folded || name_of(token).to_lowercase() == folded;
        let found = tokens.iter().find(is_it).cloned();
        let missing = || WrongUsage(format!("there is no token '{wanted}'; `punctual token list` shows all"));
        Ok(found.ok_or_else(missing)?)
    }
}

/// When a token expires that lives so long from now on, to the second.
fn expiry(lifetime: Span) -> Result<Timestamp, WrongUsage> {
    let now = real_now().to_zoned(TimeZone::UTC);
    let expires_at = now.checked_add(lifetime).map(|at| at.timestamp());
    // Rounded up, so that it does not live shorter than was said.
    let whole = expires_at.and_then(|at| Timestamp::from_second(at.as_second().saturating_add(1)));
    whole.map_err(|_| {
        WrongUsage("--expires: is too far ahead; leave it out for a token that never expires".to_owned())
    })
}

fn id_of(token: &Value) -> &str {
    token["id"].as_str().unwrap_or_default()
}

fn name_of(token: &Value) -> &str {
    token["name"].as_str().unwrap_or_default()
}

/// The secret alone to standard output, so that a script can take it; what it is for, to whoever watches.
fn print_secret(output: Output, token: &Value, done: &str) -> anyhow::Result<()> {
    print(output, &shown_once(token), |_, output| {
        let expires = match token["expiresAt"].as_str() {
            Some(at) => format!("expires at {at}"),
            None => "does not expire".to_owned(),
        };
        eprintln!(
            "{done} the token '{}' ({}): {}; it {expires}",
            name_of(token),
            id_of(token),
            table::grants(token)
        );
        eprintln!("this is its secret, which is not shown again:");
        writeln!(output, "{}", token["token"].as_str().unwrap_or_default())
    })
}

/// What is told of a token with its secret.
fn shown_once(token: &Value) -> Value {
    let members = ["id", "name", "token", "grants", "expiresAt"];
    members.into_iter().map(|name| (name.to_owned(), token[name].clone())).collect::<Map<_, _>>().into()
}

fn print(
    output: Output,
    value: &Value,
    table: impl FnOnce(&Value, &mut dyn Write) -> io::Result<()>,
) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    match output {
        Output::Table => table(value, &mut stdout)?,
        Output::Json => {
            let text = serde_json::to_string_pretty(value).context("could not write the answer")?;
            writeln!(stdout, "{text}")?;
        }
    }
    stdout.flush()?;
    Ok(())
}
