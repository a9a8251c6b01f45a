//! Who may call: whether callers are asked, and the refusal to let everybody in from other machines.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use jiff::SignedDuration;
use punctual_api::{Access, AccessMode, SessionSettings};
use punctual_runner::{Supervisor, Tasks};
use punctual_store::Callers;
use punctual_store_sqlite::layout;

use super::issuer;
use super::welcome::quoted;
use crate::clock::RealClock;
use crate::config::{AuthMode, Config};
use crate::exit::WrongUsage;
use crate::keys::{Given, Source};

/// Refuses to listen where strangers could come in, as far as that shows before the data is opened.
pub(super) fn check_listen(config: &Config) -> Result<(), WrongUsage> {
    if config.server.listen.ip().is_loopback() {
        return Ok(());
    }
    if config.auth.mode == AuthMode::Off {
        return Err(WrongUsage(format!(
            "auth.mode: \"off\" lets everybody do everything, and {} can be reached from other machines: listen on \
             127.0.0.1, or set it to \"required\"",
            config.server.listen
        )));
    }
    // Whether there is a token shows when the database is open.
    let shared = config.store.url.is_some();
    if shared || !config.auth.issuers.is_empty() || config.data.dir.join(layout::DATABASE).exists() {
        Ok(())
    } else {
        Err(nobody_may_call(config))
    }
}

/// Knows who may call from now on.
pub(super) async fn open(config: &Config, store: Arc<dyn Callers>) -> anyhow::Result<Arc<Access>> {
    let local = config.server.listen.ip().is_loopback();
    let mode = match config.auth.mode {
        AuthMode::Off => AccessMode::Off,
        AuthMode::Auto if local => AccessMode::Auto,
        AuthMode::Auto | AuthMode::Required => AccessMode::Required,
    };
    let issuers = issuer::open(&config.auth.issuers, &config.server.public_url)?;
    let sessions = config.auth.sessions;
    let sessions = SessionSettings {
        idle: SignedDuration::from_mins(sessions.idle_minutes.into()),
        lifetime: SignedDuration::from_hours(sessions.lifetime_hours.into()),
    };
    let access = Access::new(store, Arc::new(RealClock), mode).with_issuers(issuers).with_sessions(sessions);
    access.refresh().await.context("could not read the tokens")?;
    if !local && access.is_empty() {
        return Err(nobody_may_call(config).into());
    }
    Ok(Arc::new(access))
}

fn nobody_may_call(config: &Config) -> WrongUsage {
    let place = match &config.store.url {
        None => format!("--data {}", quoted(&config.data.dir.to_string_lossy())),
        // Without the password, which is not shown anywhere.
        Some(url) => format!(
            "--store {} --data {}",
            quoted(&url.without_password()),
            quoted(&config.data.dir.to_string_lossy())
        ),
    };
    let key_file = config.data.key_file.to_string_lossy();
    let key_file =
        if key_file.is_empty() { String::new() } else { format!(" --key-file {}", quoted(&key_file)) };
    let elsewhere = match Source::find(&config.data.dir, &config.data.key_file, Given::here()) {
        Ok(source) if !source.is_file() => {
            format!("It needs the same keys as the server, which come from {source}. ")
        }
        Ok(_) | Err(_) => String::new(),
    };
    WrongUsage(format!(
        "{} can be reached from other machines, and nobody has a token yet. Make one for yourself, which prints its \
         secret, and start again:\n  punctual token create admin --role owner --scope / {place}{key_file}\n{elsewhere}Or \
         listen on 127.0.0.1, where no token is needed",
        config.server.listen
    ))
}

/// How long noting the last uses of tokens may take.
const NOTING_TIME_MAX: Duration = Duration::from_secs(2);

/// Follows changes of tokens and notes their uses.
pub(super) struct Attending {
    access: Arc<Access>,
    tasks: Tasks,
}

impl Attending {
    pub(super) fn start(access: &Arc<Access>, supervisor: &Supervisor) -> Self {
        let attended = Arc::clone(access);
        let mut tasks = supervisor.tasks();
        tasks.spawn("keeper of tokens", async move { attended.attend().await });
        Self { access: Arc::clone(access), tasks }
    }

    /// To be called when nobody is served any more: notes the last uses.
    pub(super) async fn stop(self) {
        // It waits for nothing but changes.
        self.tasks.stop(Duration::ZERO).await;
        if tokio::time::timeout(NOTING_TIME_MAX, self.access.note_uses()).await.is_err() {
            tracing::warn!("the last uses of tokens could not be noted in time");
        }
    }
}
