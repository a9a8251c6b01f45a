//! The runner as a whole: its parts, starting, and stopping.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use punctual_model::{Chain, Clock, Mint};
use punctual_store::{Claim, Store, Trouble};
use tokio::sync::mpsc::{self, Sender, UnboundedReceiver};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use crate::attempt::{self, Fired};
use crate::slots::Slots;
use crate::timer::Timer;
use crate::waits::Waits;
use crate::{Dispatcher, Event, Loss, Observer, Settings, claimer, housekeeping, recorder};

/// What the recorder may be behind before attempts wait for it.
const RECORDER_QUEUE_MAX: usize = 4_096;

/// How many of a herd are started before the rest of it is looked at: the first should not wait for the last.
const STARTED_FIRST: usize = 64;

/// What all tasks of a runner share.
pub(crate) struct Parts {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) dispatcher: Arc<dyn Dispatcher>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) mint: Arc<dyn Mint>,
    pub(crate) observer: Arc<dyn Observer>,
    pub(crate) settings: Settings,
    pub(crate) slots: Slots,
    pub(crate) waits: Arc<Waits>,
}

impl Parts {
    /// How far ahead is claimed, in the schedule's time: on a fast clock as long in real time.
    pub(crate) fn look_ahead(&self) -> SignedDuration {
        let seconds = self.settings.look_ahead.as_secs_f64() * self.clock.speed().max(1.0);
        SignedDuration::try_from_secs_f64(seconds).unwrap_or(SignedDuration::MAX)
    }

    /// Gives claims back that are not to be fired now.
    pub(crate) async fn give_back(&self, claims: &[Claim]) -> Result<(), Trouble> {
        let fences: Vec<_> = claims.iter().map(|claim| claim.fence).collect();
        self.waits.end(&fences);
        self.store.release(&fences).await?;
        for Claim { fence, job, .. } in claims {
            self.observer.hear(&Event::GivenBack { fence: *fence, job: job.id });
        }
        Ok(())
    }

    /// How long to wait really until an instant.
    pub(crate) fn real_wait_until(&self, at: Option<Timestamp>) -> Duration {
        let Some(at) = at else { return Duration::MAX };
        let distance = at.duration_since(self.clock.now()).as_secs_f64();
        Duration::try_from_secs_f64((distance / self.clock.speed()).max(0.0)).unwrap_or(Duration::MAX)
    }
}

/// Fires what is due.
pub struct Runner {
    pub(crate) parts: Arc<Parts>,
}

/// A runner that runs. Dropping it does not stop it; [`stop`](Running::stop) does.
pub struct Running {
    parts: Arc<Parts>,
    stop: watch::Sender<bool>,
    claimer: JoinHandle<Timer>,
    launcher: JoinHandle<()>,
    recorder: JoinHandle<()>,
    housekeeper: JoinHandle<()>,
}

impl Runner {
    /// Puts a runner together.
    pub fn new(
        store: Arc<dyn Store>,
        dispatcher: Arc<dyn Dispatcher>,
        clock: Arc<dyn Clock>,
        mint: Arc<dyn Mint>,
        observer: Arc<dyn Observer>,
        settings: Settings,
    ) -> Self {
        let slots = Slots::new(settings.slots, settings.slots_per_target);
        let waits = Arc::new(Waits::new(Arc::clone(&clock)));
        Self { parts: Arc::new(Parts { store, dispatcher, clock, mint, observer, settings, slots, waits }) }
    }

    /// Starts firing, in tasks of the current runtime and one thread.
    pub fn start(self) -> std::io::Result<Running> {
        let parts = self.parts;
        let (due_sender, due) = mpsc::unbounded_channel();
        let (fired_sender, fired) = mpsc::channel(RECORDER_QUEUE_MAX);
        let timer = Timer::start(Arc::clone(&parts.clock), Arc::clone(&parts.waits), due_sender)?;
        let (stop, stopped) = watch::channel(false);
        let for_claimer = Arc::clone(&parts);
        let claimer_stopped = stopped.clone();
        let claimer = tokio::spawn(async move {
            claimer::run(for_claimer, &timer, claimer_stopped).await;
            timer
        });
        let launcher = tokio::spawn(launch(Arc::clone(&parts), due, fired_sender));
        let recorder = tokio::spawn(recorder::run(Arc::clone(&parts), fired));
        let housekeeper = tokio::spawn(housekeeping::run(Arc::clone(&parts), stopped));
        Ok(Running { parts, stop, claimer, launcher, recorder, housekeeper })
    }
}

impl Running {
    /// Stops: no new claims, what is held is given back, what is under way may finish within the grace,
    /// and what has finished is recorded. What is still under way then is abandoned unrecorded: it will
    /// be repeated with the same execution tag.
    pub async fn stop(self) {
        let Self { parts, stop, claimer, launcher, recorder, housekeeper } = self;
        stop.send_replace(true);
        if let Ok(timer) = claimer.await {
            let held = tokio::task::spawn_blocking(move || timer.stop()).await.unwrap_or_default();
            let waiting: Vec<_> = held.into_iter().chain(parts.slots.drain_parked()).collect();
            if let Err(trouble) = parts.give_back(&waiting).await {
                tracing::warn!(error = %Chain(&trouble), "could not give back what was held");
            }
        }
        // The timer is gone, so the launcher ends when the attempts under way have; then the recorder.
        let finish = async {
            let _ = launcher.await;
            let _ = recorder.await;
        };
        if tokio::time::timeout(parts.settings.grace, finish).await.is_err() {
            let count = parts.slots.under_way();
            tracing::warn!(
                count,
                "stopping with attempts under way: they will be repeated with the same tag"
            );
        }
        let _ = housekeeper.await;
    }
}

/// Starts the attempts that are due, and waits for them when there will be no more.
async fn launch(parts: Arc<Parts>, mut due: UnboundedReceiver<Vec<Claim>>, fired: Sender<Fired>) {
    let mut attempts = JoinSet::new();
    while let Some(batch) = due.recv().await {
        let mut batch = batch.into_iter();
        start(&parts, batch.by_ref().take(STARTED_FIRST), &fired, &mut attempts).await;
        if batch.len() > 0 {
            // The first of a herd run before the rest is looked at.
            tokio::task::yield_now().await;
            start(&parts, batch, &fired, &mut attempts).await;
        }
        while attempts.try_join_next().is_some() {}
    }
    while attempts.join_next().await.is_some() {}
}

/// Starts the attempts of those claims that may go now.
async fn start(
    parts: &Arc<Parts>,
    claims: impl Iterator<Item = Claim>,
    fired: &Sender<Fired>,
    attempts: &mut JoinSet<()>,
) {
    let going: Vec<Claim> = claims.filter_map(|claim| parts.slots.turn(claim)).collect();
    for claim in begin(parts, going).await {
        attempts.spawn(run_attempts(Arc::clone(parts), claim, fired.clone()));
    }
}

/// Confirms claims; those that don't hold any more let the next of their target go.
async fn begin(parts: &Parts, mut claims: Vec<Claim>) -> Vec<Claim> {
    let mut begun = Vec::with_capacity(claims.len());
    while !claims.is_empty() {
        let fences: Vec<_> = claims.iter().map(|claim| claim.fence).collect();
        let held = match parts.store.begin(&fences).await {
            Ok(held) => Some(held),
            Err(trouble) => {
                tracing::error!(error = %Chain(&trouble), "could not confirm claims; giving them back");
                if let Err(trouble) = parts.give_back(&claims).await {
                    tracing::error!(error = %Chain(&trouble), "could not give claims back");
                }
                None
            }
        };
        let mut instead = Vec::new();
        let mut held = held.as_deref().map(|held| held.iter().copied());
        for claim in claims {
            match held.as_mut().map(|held| held.next() == Some(true)) {
                Some(true) => {
                    parts.observer.hear(&Event::Begun(&claim));
                    begun.push(claim);
                    continue;
                }
                Some(false) => {
                    parts.waits.end(&[claim.fence]);
                    let Claim { fence, job, .. } = &claim;
                    parts.observer.hear(&Event::Lost { fence: *fence, job: job.id, loss: Loss::TakenBack });
                }
                None => {}
            }
            instead.extend(parts.slots.end(&claim.target));
        }
        claims = instead;
    }
    begun
}

/// Makes an attempt, and as long as others of its target wait, theirs: the connection is warm.
async fn run_attempts(parts: Arc<Parts>, claim: Claim, fired: Sender<Fired>) {
    let mut next = Some(claim);
    while let Some(claim) = next {
        let target = claim.target.clone();
        let outcome = attempt::fire(claim, &parts).await;
        if fired.send(outcome).await.is_err() {
            return;
        }
        let waiting = parts.slots.end(&target);
        next = match waiting {
            Some(waiting) => begin(&parts, vec![waiting]).await.pop(),
            None => None,
        };
    }
}
