//! The receiver of all firings, which answers as it was told.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use punctual_model::{Clock, Firing, Go, Outcome, OutcomeKind};
use punctual_runner::Dispatcher;

use crate::clock::NodeClock;
use crate::gate::Gate;
use crate::op::{Answer, Point};
use crate::oracle::{SeenFiring, SharedOracle};

/// The timeout of every action.
const TIMEOUT_MS: i64 = 60_000;

/// The default answer.
const USUAL: Answer = Answer::Success(5);

/// The answers to the next attempts of each job.
#[derive(Clone, Debug, Default)]
pub(crate) struct Script(Arc<Mutex<BTreeMap<String, VecDeque<Answer>>>>);

impl Script {
    /// The next attempts of a job are answered like this.
    pub(crate) fn add(&self, job: &str, answer: Answer, times: u32) {
        let mut script = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let answers = script.entry(job.to_owned()).or_default();
        answers.extend((0..times).map(|_| answer));
    }

    /// All attempts succeed from now on.
    pub(crate) fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn next(&self, job: &str) -> Answer {
        let mut script = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        script.get_mut(job).and_then(VecDeque::pop_front).unwrap_or(USUAL)
    }
}

/// The receiver as one node calls it.
pub(crate) struct Receiver {
    pub(crate) node: usize,
    pub(crate) script: Script,
    pub(crate) clock: NodeClock,
    pub(crate) gate: Gate,
    pub(crate) shared_oracle: SharedOracle,
}

#[async_trait]
impl Dispatcher for Receiver {
    async fn fire(&self, firing: &Firing, go: &Go) -> Option<Outcome> {
        if !go.may().await {
            return None;
        }
        self.shared_oracle.lock().fired(self.node, &SeenFiring::of(firing), self.clock.now());
        let (succeeded, after_ms) = match self.script.next(firing.job.name.as_str()) {
            Answer::Success(after_ms) if after_ms < TIMEOUT_MS => (true, after_ms),
            Answer::Failure(after_ms) if after_ms < TIMEOUT_MS => (false, after_ms),
            Answer::Success(_) | Answer::Failure(_) | Answer::Hang => (false, TIMEOUT_MS),
        };
        self.clock.advance(after_ms);
        self.gate.pass(Point::Fired).await;
        let message = if succeeded { "took it" } else { "refused it" }.into();
        let outcome = Outcome { succeeded, kind: OutcomeKind::Word("Scripted"), message };
        self.shared_oracle.lock().answered(self.node, &firing.job, &outcome, self.clock.now());
        Some(outcome)
    }
}
