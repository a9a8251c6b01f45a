//! Keeps the keys of an open store: rotates them, seals everything anew in the background, lets old ones go.
//!
//! The file is written before a key seals, and after a key was retired. So whatever is stored can be opened with the keys of
//! the file, wherever a crash comes: a key that is in the file and that the store does not know yet seals from the next start
//! on; a retired one that is still in the file is not used, and taken out then.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use punctual_api::{KeyKeeper, KeyProblem, KeyView, Keys, ResealingView};
use punctual_model::RandomSource;
use punctual_model::audit::AuditEntry;
use punctual_store::{KeyError, KeyRing, KeyUse, SealContext, Trouble, Vault};
use tokio::sync::{Mutex, Notify};
use tokio::time::Instant;

use super::source::Source;
use crate::clock::real_now;
use crate::store::AnyStore;

/// How many jobs are looked at in one transaction: some milliseconds of work, of which the writer has a part.
const PIECE: usize = 64;

/// Between two pieces is a pause of so many times what the piece took, so that firing and callers have the machine.
const PAUSE_FACTOR: u32 = 4;

/// The shortest pause.
const PAUSE_MIN: Duration = Duration::from_millis(5);

/// How often to look whether there is something to do.
const LOOK_AGAIN: Duration = Duration::from_secs(30);

/// How long to wait when a piece could not be written.
const TRY_AGAIN: Duration = Duration::from_secs(5);

/// What is sealed to compare a key that is read with one that is in use.
const COMPARISON: SealContext<'_> = SealContext { kind: "comparison", row: 0 };

/// The keys of an open store.
pub(crate) struct Keeper {
    source: Arc<Source>,
    store: Arc<dyn AnyStore>,
    vault: Arc<Vault>,
    random: Arc<dyn RandomSource>,
    /// One change at a time: each reads the source, and writes it.
    turn: Mutex<()>,
    rotated: Notify,
}

impl Keeper {
    pub(crate) fn new(
        source: Source,
        store: Arc<dyn AnyStore>,
        vault: Arc<Vault>,
        random: Arc<dyn RandomSource>,
    ) -> Self {
        let source = Arc::new(source);
        let (turn, rotated) = (Mutex::new(()), Notify::new());
        Self { source, store, vault, random, turn, rotated }
    }

    /// Tells how the keys that a start would read differ from those that are needed, for `punctual doctor`.
    pub(crate) fn problems(&self) -> impl Fn() -> Vec<String> + Send + Sync + 'static {
        let (source, vault, random) =
            (Arc::clone(&self.source), Arc::clone(&self.vault), Arc::clone(&self.random));
        move || problems(&source, &vault, &*random)
    }

    /// Takes retired keys out of the file that a crash has left in it.
    pub(crate) async fn tidy(&self) {
        let _turn = self.turn.lock().await;
        if self.source.is_file()
            && let Err(error) = self.take_out(|id, known| !known.contains(&id)).await
        {
            tracing::warn!("retired keys are still in {}, and could not be taken out: {error}", self.source);
        }
    }

    /// Seals anew what is to be, now and after every rotation, for ever.
    pub(crate) async fn attend(&self) {
        loop {
            let rotated = self.rotated.notified();
            self.take_added().await;
            // One node does it for all.
            if self.store.standing().borrow().first() {
                self.reseal_in_pieces().await;
            }
            // Nobody is woken if whoever asked for a rotation has gone in the middle of it.
            let _ = tokio::time::timeout(LOOK_AGAIN, rotated).await;
        }
    }

    /// Where several nodes share the store, a key that somebody has added to the file becomes known while they run. It seals
    /// when all nodes know it.
    async fn take_added(&self) {
        let shared = self.store.boot().is_some();
        if !shared || !self.source.may_change() {
            return;
        }
        let _turn = self.turn.lock().await;
        let known = self.vault.ids();
        let Ok(ring) = self.read().await else { return };
        // What is missing or another one is told by `punctual doctor`.
        if !ring.ids().any(|id| id > self.vault.newest() && !known.contains(&id)) {
            return;
        }
        match self.store.seal_with(&ring, Some(super::note_of("Punctual/keys/rotate/action"))).await {
            Ok(()) => {}
            Err(waits @ KeyError::Waits { .. }) => tracing::info!("{waits}"),
            Err(error) => tracing::warn!(%error, "could not take a key that was added to {}", self.source),
        }
    }

    async fn reseal_in_pieces(&self) {
        let mut told = false;
        let mut busy = false;
        loop {
            let began = Instant::now();
            match self.store.reseal(PIECE).await {
                Ok(step) if step.done => {
                    if busy {
                        tracing::info!(key = step.key, "everything is sealed with this key now");
                    }
                    return;
                }
                Ok(step) => {
                    if !busy {
                        tracing::info!(key = step.key, jobs = step.job_count, "everything is sealed anew");
                    }
                    (told, busy) = (false, true);
                    tokio::time::sleep((began.elapsed() * PAUSE_FACTOR).max(PAUSE_MIN)).await;
                }
                Err(error) => {
                    // The store tells of an outage by itself.
                    if !told && error.outage().is_none() {
                        tracing::warn!(%error, "could not seal jobs anew; trying again");
                        told = true;
                    }
                    tokio::time::sleep(TRY_AGAIN).await;
                }
            }
        }
    }

    /// Seals everything anew without a pause; `tell` is called with the progress, from 0 to 1.
    pub(crate) async fn reseal_all(&self, mut tell: impl FnMut(f64)) -> Result<(), Trouble> {
        loop {
            let step = self.store.reseal(PIECE).await?;
            if step.done {
                return Ok(());
            }
            #[expect(clippy::cast_precision_loss, reason = "it is shown as a percentage")]
            tell((step.visited_count as f64 / step.job_count.max(1) as f64).min(1.0));
        }
    }

    /// The keys as the source has them now.
    async fn read(&self) -> Result<KeyRing, String> {
        let source = Arc::clone(&self.source);
        let read = tokio::task::spawn_blocking(move || source.read()).await;
        match read {
            Ok(Ok(Some(ring))) => Ok(ring),
            Ok(Ok(None)) => Err(format!("{} is missing: put it back", self.source)),
            Ok(Err(error)) => Err(error.0),
            Err(error) => Err(error.to_string()),
        }
    }

    async fn write(&self, ring: KeyRing) -> Result<(), String> {
        let source = Arc::clone(&self.source);
        let written = tokio::task::spawn_blocking(move || source.write(&ring)).await;
        match written {
            Ok(written) => written.map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Writes the file without some of its keys, which are chosen by their numbers and those that are in use.
    async fn take_out(&self, chosen: impl Fn(u32, &[u32]) -> bool) -> Result<bool, String> {
        let (ring, known) = (self.read().await?, self.vault.ids());
        let newest = self.vault.newest();
        // A number above that of the newest was added by hand, and is yet to seal.
        let gone: Vec<u32> = ring.ids().filter(|id| *id < newest && chosen(*id, &known)).collect();
        if gone.is_empty() {
            return Ok(false);
        }
        self.write(gone.iter().fold(ring, |ring, id| ring.without(*id))).await?;
        Ok(true)
    }

    async fn shown(&self, mut notes: Vec<String>) -> Result<Keys, KeyProblem> {
        // In this order: when it is done, what is counted afterwards is what is left.
        let resealing = self.store.resealing().await.map_err(KeyProblem::Trouble)?;
        let used = self.store.keys().await.map_err(KeyProblem::Trouble)?;
        let ring = self.read().await.ok();
        let view = |key: &KeyUse| KeyView {
            id: key.id,
            made_at: ring.as_ref().and_then(|ring| ring.made_at(key.id)).map(|at| at.to_string()),
            state: if key.seals { "seals" } else { "opens" }.to_owned(),
            job_count: key.job_count,
            server_secret_count: key.server_count,
        };
        for old in used.iter().filter(|key| !key.seals && resealing.done) {
            let id = old.id;
            notes.push(match old.needed_by() {
                None => format!("Nothing needs key {id} any more: `punctual keys retire {id}` lets it go."),
                Some(what) => format!(
                    "{what} can't be opened, and may need key {id}: `punctual doctor` names them. Write them anew, delete \
                     them, or keep the key."
                ),
            });
        }
        let (source, vault, random) =
            (Arc::clone(&self.source), Arc::clone(&self.vault), Arc::clone(&self.random));
        let problems = tokio::task::spawn_blocking(move || problems(&source, &vault, &*random)).await;
        notes.extend(problems.unwrap_or_default());
        Ok(Keys {
            source: self.source.to_string(),
            keys: used.iter().map(view).collect(),
            resealing: ResealingView {
                key: resealing.key,
                done: resealing.done,
                job_done_count: if resealing.done {
                    resealing.job_count
                } else {
                    resealing.visited_count.min(resealing.job_count)
                },
                job_count: resealing.job_count,
            },
            notes,
        })
    }
}

#[async_trait]
impl KeyKeeper for Keeper {
    async fn keys(&self) -> Result<Keys, KeyProblem> {
        self.shown(Vec::new()).await
    }

    async fn rotate(&self, note: Option<AuditEntry>) -> Result<Keys, KeyProblem> {
        let _turn = self.turn.lock().await;
        let old = self.vault.newest();
        if !self.source.is_file() {
            let next = old.saturating_add(1);
            return Err(KeyProblem::Refused(format!(
                "the keys come from {}, which the server can't change: put a key with the number {next} beside the others \
                 (`punctual keys generate {next}` makes one) and start the server again. It seals with the highest number \
                 from then on, and seals everything anew",
                self.source
            )));
        }
        let ring = self.read().await.map_err(KeyProblem::Refused)?;
        // If somebody has put a key into the file already, that one seals from now on. Else this only compares.
        self.store.seal_with(&ring, note.clone()).await.map_err(|error| self.not_taken(error))?;
        if self.vault.newest() == old {
            self.refuse_beside_others(old).await?;
            let full =
                || KeyProblem::Refused("there are too many keys: retire those that are not needed".into());
            let next = ring.with_new_key(real_now(), &*self.random).ok_or_else(full)?;
            self.write(next.clone()).await.map_err(|error| {
                KeyProblem::Refused(format!(
                    "could not write {}: {error}. The old key seals on. Let the server write there, or put a key into it \
                     yourself (`punctual keys generate {}` makes one) and start the server again",
                    self.source,
                    next.newest()
                ))
            })?;
            self.store.seal_with(&next, note).await.map_err(|error| self.not_taken(error))?;
        }
        self.rotated.notify_one();
        let new = self.vault.newest();
        let notes = vec![format!(
            "Key {new} seals from now on. Back up {} now: without it the secrets are lost. Backups of the data that were made \
             before need key {old}: keep a copy of it as long as you keep those.",
            self.source
        )];
        self.shown(notes).await
    }

    async fn retire(&self, id: u32, note: Option<AuditEntry>) -> Result<Keys, KeyProblem> {
        let _turn = self.turn.lock().await;
        if let Err(error) = self.store.retire_key(id, note).await {
            return Err(self.not_retired(error).await);
        }
        let notes = if self.source.is_file() {
            match self.take_out(|one, _| one == id).await {
                Ok(_) => format!("Key {id} is gone from {}.", self.source),
                Err(error) => format!(
                    "Key {id} is not used any more, but could not be taken out of {}: {error}. Take it out yourself.",
                    self.source
                ),
            }
        } else {
            format!("Key {id} is not used any more: take it out of {}.", self.source)
        };
        self.shown(vec![notes]).await
    }
}

impl Keeper {
    /// The same refusal, with what to do.
    async fn not_retired(&self, error: KeyError) -> KeyProblem {
        let needed = matches!(error, KeyError::Needed(_));
        let problem = KeyProblem::from(error);
        match (problem, self.store.resealing().await) {
            (KeyProblem::Refused(why), Ok(resealing)) if needed => {
                let hint = if resealing.done {
                    "what is left can't be opened, and `punctual doctor` names it: write it anew, or delete it"
                } else {
                    "everything is being sealed anew, and `punctual keys status` shows how far that is"
                };
                KeyProblem::Refused(format!("{why}; {hint}"))
            }
            (problem, _) => problem,
        }
    }

    /// A key that is made here is not known to other nodes.
    async fn refuse_beside_others(&self, newest: u32) -> Result<(), KeyProblem> {
        let nodes = self.store.nodes().await.map_err(KeyProblem::Trouble)?;
        let own = self.store.standing().borrow().lease;
        let others = nodes.iter().filter(|node| node.lease != own);
        let others: Vec<&str> = others.map(|node| node.name.as_str()).collect();
        if self.store.boot().is_none() || others.is_empty() {
            return Ok(());
        }
        let next = newest.saturating_add(1);
        Err(KeyProblem::Refused(format!(
            "other nodes share the store ({}), and every node needs the same keys: make a key with `punctual keys generate {next}`, and put it into the keys of every node. A key file is read again within half a minute, or at once by `punctual keys \
             rotate`. The key seals as soon as all nodes know it",
            others.join(", ")
        )))
    }

    /// The same refusal, naming where the keys come from.
    fn not_taken(&self, error: KeyError) -> KeyProblem {
        let waits = matches!(error, KeyError::Waits { .. });
        match KeyProblem::from(error) {
            KeyProblem::Refused(why) if !waits => KeyProblem::Refused(format!(
                "{} is not as it was when the server started: {why}. Put it right first",
                self.source
            )),
            other => other,
        }
    }
}

/// How the keys that a start would read differ from those in use, a sentence for each difference.
fn problems(source: &Source, vault: &Vault, random: &dyn RandomSource) -> Vec<String> {
    if !source.may_change() {
        return Vec::new();
    }
    let ring = match source.read() {
        Ok(Some(ring)) => ring,
        // The store tells that.
        Ok(None) => return Vec::new(),
        Err(error) => return vec![format!("The server would not start again: {}.", error.0)],
    };
    let there = Vault::new(&ring);
    let differs = |id: u32| {
        let sealed = vault.seal_by(id, COMPARISON, b"", random)?;
        let what = match there.open(COMPARISON, &sealed) {
            Ok(_) => return None,
            Err(punctual_store::VaultError::UnknownKey { .. }) => "is missing in",
            Err(_) => "is another one in",
        };
        Some(format!(
            "Key {id} {what} {source}, though it was not retired: the server would not start again if something is sealed \
             with it. Put it back."
        ))
    };
    vault.ids().into_iter().filter_map(differs).collect()
}
