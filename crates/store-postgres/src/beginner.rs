//! Begins, gathered: one query is out at a time, and the next asks for all that has come meanwhile.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use punctual_model::JobId;
use punctual_store::{Fence, Trouble};
use tokio::sync::oneshot;

use crate::error::PgError;
use crate::node_claims::Ticket;
use crate::param::params;
use crate::pool::work;
use crate::query;
use crate::store::Inner;

const DOING: &str = "confirm claims";

/// What waits to be asked.
#[derive(Default)]
pub(crate) struct Beginner(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    asked: Vec<Ask>,
    /// Somebody is asking and takes what comes meanwhile.
    busy: bool,
}

struct Ask {
    fences: Vec<Fence>,
    answer: oneshot::Sender<Result<Vec<bool>, Trouble>>,
}

impl Inner {
    /// Asks whether claims still hold, and marks those that do as in flight.
    pub(crate) async fn begin(self: &Arc<Self>, fences: &[Fence]) -> Result<Vec<bool>, Trouble> {
        let (answer, told) = oneshot::channel();
        let lead = {
            let mut waiting = self.waiting();
            waiting.asked.push(Ask { fences: fences.to_vec(), answer });
            !std::mem::replace(&mut waiting.busy, true)
        };
        if lead {
            let inner = Arc::clone(self);
            tokio::spawn(async move { inner.ask_all().await });
        }
        told.await.unwrap_or(Err(Trouble::Unsure { doing: DOING }))
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, Waiting> {
        self.beginner.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks until nobody waits.
    async fn ask_all(self: Arc<Self>) {
        loop {
            let asked = {
                let mut waiting = self.waiting();
                let asked = std::mem::take(&mut waiting.asked);
                waiting.busy = !asked.is_empty();
                asked
            };
            if asked.is_empty() {
                return;
            }
            let fences: Vec<Fence> = asked.iter().flat_map(|ask| ask.fences.iter().copied()).collect();
            let answers = self.ask(&fences).await;
            let mut answers = match answers {
                Ok(answers) => answers.into_iter(),
                Err(_) => {
                    // Each gets an error of its own.
                    for ask in asked {
                        let _ = ask.answer.send(Err(Trouble::Busy { doing: DOING }));
                    }
                    continue;
                }
            };
            for ask in asked {
                let own = answers.by_ref().take(ask.fences.len()).collect();
                // Whoever does not wait any more gives them back by dropping his claims.
                let _ = ask.answer.send(Ok(own));
            }
        }
    }

    /// One query for many claims.
    async fn ask(self: &Arc<Self>, fences: &[Fence]) -> Result<Vec<bool>, PgError> {
        let Some(standing) = self.lease.valid() else {
            self.drop_unbegun(fences);
            return Ok(vec![false; fences.len()]);
        };
        let lease = i64::try_from(standing.lease).unwrap_or(0);
        let mut jobs: Vec<i64> = {
            let node_claims = self.node_claims();
            let held = fences.iter().filter_map(|fence| node_claims.held(*fence));
            held.filter(|held| held.ticket.lease == lease).map(|held| held.ticket.job.0).collect()
        };
        if jobs.is_empty() {
            return Ok(vec![false; fences.len()]);
        }
        jobs.sort_unstable();
        jobs.dedup();
        let read = work!(|connection| with jobs; connection.rows(query::begin, params![jobs, lease]).await);
        let mut found = HashMap::new();
        for row in self.begins.run(read).await? {
            found.insert(JobId(row.try_get(0)?), (row.try_get(1)?, row.try_get(2)?));
        }
        // Others may have them if the lease has ended by now.
        let valid = self.lease.valid().is_some_and(|now| now.lease == standing.lease);
        let mut gone = Vec::new();
        let answers =
            fences.iter().map(|fence| self.judge(*fence, lease, valid, &found, &mut gone)).collect();
        self.give_back(gone);
        Ok(answers)
    }

    /// Without a lease nothing begins: what was not begun is ended, and given back if it is still ours.
    fn drop_unbegun(self: &Arc<Self>, fences: &[Fence]) {
        let mut node_claims = self.node_claims();
        let mut gone = Vec::new();
        for fence in fences {
            if node_claims.held(*fence).is_some_and(|held| !held.begun) {
                gone.extend(node_claims.end(*fence).map(|held| held.ticket));
            }
        }
        drop(node_claims);
        self.give_back(gone);
    }

    /// Whether a claim holds by what was found. One that does not is ended, and to be given back.
    fn judge(
        &self,
        fence: Fence,
        lease: i64,
        valid: bool,
        found: &HashMap<JobId, (Option<i64>, i64)>,
        gone: &mut Vec<Ticket>,
    ) -> bool {
        let mut node_claims = self.node_claims();
        let Some(held) = node_claims.held(fence) else { return false };
        let row = found.get(&held.ticket.job).filter(|_| held.ticket.lease == lease);
        let ours = row.is_some_and(|(ticket, _)| *ticket == Some(held.ticket.ticket));
        if valid && ours && row.is_some_and(|(_, revision)| *revision == held.revision) {
            return node_claims.begin(fence);
        }
        if held.ticket.lease != lease && held.begun {
            // It was begun under a lease that has ended: what becomes of it may still be recorded.
            return false;
        }
        if let Some(held) = node_claims.end(fence).filter(|_| ours) {
            gone.push(held.ticket);
        }
        false
    }
}
