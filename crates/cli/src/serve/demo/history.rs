//! Makes the past of a demo: the real runner fires at the echo target, on a clock that leaps over the time in which nothing is due.
//!
//! From a due time on the clock goes as fast as the real one until everything is recorded, so that lateness and durations are
//! what they really were.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow};
use jiff::Timestamp;
use punctual_api::Auditor;
use punctual_arm::{ApiError, ApiVersion, CollectionContext, JobContext, collection, job};
use punctual_edit::{EditError, Editor};
use punctual_model::access::{Caller, CallerKind};
use punctual_model::audit::Author;
use punctual_model::{Clock, CredentialHeaders, RandomSource};
use punctual_runner::{Log, Supervisor};
use punctual_store::Store;
use serde_json::Value;

use super::sample::{Change, Sample, What};
use crate::clock::{VirtualClock, real_now};
use crate::config::Config;
use crate::random::SystemRandom;
use crate::serve::{audit, echo, fire, locations};
use crate::store::{self, AnyStore, Sealing, Watchers};

/// Connections of the echo target; the runner has no more open at once.
const CONNECTIONS_MAX: usize = 256;

/// What was made.
pub(super) struct Made {
    pub(super) job_count: usize,
    pub(super) attempt_count: u64,
}

/// Makes the past in the data directory of the settings, up to now.
pub(super) async fn make(config: &Config, echo: TcpListener, sample: Sample) -> anyhow::Result<Made> {
    let supervisor = Supervisor::default();
    let mut serving = supervisor.tasks();
    let stopping = serving.told_to_stop();
    serving.spawn("echo target", echo::serve(echo, CONNECTIONS_MAX, stopping));

    let random: Arc<dyn RandomSource> = Arc::new(SystemRandom::default());
    let leaping = Arc::new(VirtualClock::new(sample.begins_at, 1.0, Duration::ZERO));
    let clock: Arc<dyn Clock> = leaping.clone();
    let credential_headers = CredentialHeaders::new(&config.actions.credential_headers);
    let (random_of_seals, headers) = (Arc::clone(&random), credential_headers.clone());
    let sealing = Sealing { random: random_of_seals, credential_headers: headers, note: None };
    let store = store::open_own(&config.data, sealing, Watchers::alarming(&supervisor))?.store;
    let auditor = audit::open(&config.audit, Arc::<dyn AnyStore>::clone(&store));
    let shared: Arc<dyn Store> = Arc::<dyn AnyStore>::clone(&store);
    let actions = Arc::new(fire::actions(&config.actions, None)?);
    let runner = fire::runner(config, actions, &shared, &clock, &random, Arc::new(Log), &supervisor);
    let mut steps = runner.steps();
    let author = Changes { config, clock: &clock, store: &*shared, auditor: &auditor, credential_headers };

    let job_count = sample.job_count();
    let mut attempt_count = 0;
    let mut changes = sample.changes.into_iter().peekable();
    loop {
        let held = steps.wants().1;
        let due = store.next_due(&[]).await.context("could not ask what is due next")?;
        let changed = changes.peek().map(|change| change.at);
        let next = [held, due, changed].into_iter().flatten().min();
        let Some(at) = next.filter(|at| *at <= real_now()) else { break };
        leaping.leap_to(at);
        while let Some(change) = changes.next_if(|change| change.at <= at) {
            if let What::Stop { until } = change.what {
                leaping.leap_to(until);
            } else {
                author.make(&change).await.with_context(|| format!("could not make {}", change.path))?;
            }
        }
        attempt_count += steps.tick().await.settled_count;
        if let Some(failure) = steps.failure() {
            return Err(anyhow!(failure).context("could not make the history of the demo"));
        }
    }
    runner.begin_stop();
    steps.run().await;
    auditor.finish().await.context("could not write the audit log")?;
    serving.tell_to_stop();
    serving.stop(Duration::from_secs(1)).await;
    Ok(Made { job_count, attempt_count })
}

/// Makes changes as the API does.
struct Changes<'a> {
    config: &'a Config,
    clock: &'a Arc<dyn Clock>,
    store: &'a dyn Store,
    auditor: &'a Auditor,
    credential_headers: CredentialHeaders,
}

impl Changes<'_> {
    async fn make(&self, change: &Change) -> anyhow::Result<()> {
        let caller = Caller { name: change.by.into(), kind: CallerKind::Token, ..Caller::anonymous() };
        let mut author = Author::of(caller, change.at);
        author.action = match &change.what {
            What::Collection(_) => "Microsoft.Scheduler/jobcollections/write".into(),
            What::Put(_) | What::Patch(_) | What::Stop { .. } => {
                "Microsoft.Scheduler/jobcollections/jobs/write".into()
            }
        };
        let limits = self.config.plans.limits();
        let editor = Editor {
            store: self.store,
            clock: self.clock,
            limits: &limits,
            author: &author,
            audit_key: self.auditor.key(),
        };
        let version = ApiVersion::V2026_11;
        let bytes = |body: &Value| body.to_string().into_bytes();
        let context = |sku, now: Timestamp, put_at| {
            let credential_headers = self.credential_headers.clone();
            JobContext { version, sku, limits, now, put_at, credential_headers }
        };
        match &change.what {
            What::Stop { .. } => Ok(()),
            What::Collection(body) => {
                let (key, body, locations) = (change.path.collection(), bytes(body), locations(self.config));
                let name = key.clone();
                let written = editor.put_collection(&key, move |existing, now| {
                    let context = CollectionContext { version, locations: &locations, limits, now };
                    collection::read_put(&body, &name, existing, &context)
                });
                written.await.map(drop).map_err(refused)
            }
            What::Put(body) => {
                let (key, body) = (change.path.job(), bytes(body));
                let written = editor.put_job(&key, |collection, existing, now| {
                    let old = existing.map(|job| &*job.spec);
                    let read = job::read_put(&body, &key, old, &context(collection.sku, now, now));
                    std::future::ready(read)
                });
                written.await.map(drop).map_err(refused)
            }
            What::Patch(body) => {
                let (key, body) = (change.path.job(), bytes(body));
                let written = editor.patch_job(&key, |collection, existing, now| {
                    let context = context(collection.sku, now, existing.put_at);
                    std::future::ready(job::read_patch(&body, &key, &existing.spec, &context))
                });
                written.await.map(drop).map_err(refused)
            }
        }
    }
}

fn refused(error: EditError<ApiError>) -> anyhow::Error {
    match error {
        EditError::Rejected(error) => anyhow!(error),
        EditError::Trouble(trouble) => anyhow!(trouble),
        other => anyhow!("the change is refused: {other:?}"),
    }
}
