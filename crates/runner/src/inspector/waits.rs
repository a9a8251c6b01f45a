//! Looks at what should be over soon: entries that are due, claims that are held.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use punctual_model::inspect::{DueEntry, Finding, FindingKind, Subject, Wait, judge_wait};
use punctual_model::{JobId, JobKey};
use punctual_store::{Fence, SurveyAsk, Trouble, UnclaimedAsk};
use tokio::time::Instant;

use super::Inspector;

/// How many entries that are due are remembered, the earliest. One that stays is among them sooner or later,
/// since those before it go.
const ENTRIES_MAX: usize = 1_000;

/// How many jobs are read in one look, for their names and due times.
const READS_MAX: usize = 50;

/// What was seen in the last look, and since when.
#[derive(Default)]
pub(super) struct Waits {
    seen: HashMap<Seen, Since>,
    /// Where looking again at what was found goes on.
    pub(super) again_behind: Option<Subject>,
}

/// What stays the same as long as it waits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Seen {
    Entry(JobId, Timestamp),
    Claim(Fence, bool),
}

#[derive(Clone, Copy)]
struct Since {
    first: Instant,
    /// When there was no room for it last.
    crowded: Option<Instant>,
}

/// Something that waits, as it was just seen.
struct Waiting {
    seen: Seen,
    job: JobId,
    crowded: bool,
}

impl Inspector {
    pub(super) async fn look_at_waits(&self, now: Instant) -> Result<(), Trouble> {
        let at = self.clock.now();
        let crowd = self.load.as_ref().map(crate::load::Load::crowd);
        let full_targets = crowd.as_ref().map(|crowd| crowd.targets.clone()).unwrap_or_default();
        let ask = UnclaimedAsk { until: at, limit: ENTRIES_MAX, full_targets };
        let entries = self.store.unclaimed(&ask).await?;
        self.book().oldest_due = entries.first().map(|entry| entry.due);
        let Some(crowd) = crowd else { return Ok(()) };
        if self.store.outage().is_some() {
            // Nothing is fired or recorded meanwhile, for a reason that is known. All waits begin anew.
            self.waits.lock().await.seen.clear();
            self.book().set_waits(Vec::new());
            return Ok(());
        }

        let mut waiting: Vec<Waiting> = entries
            .into_iter()
            .map(|entry| {
                let DueEntry { job, due_at } = entry.due;
                Waiting { seen: Seen::Entry(job, due_at), job, crowded: entry.target_full || crowd.full }
            })
            .collect();
        for claim in self.store.held().await? {
            let crowded = crowd.parked.contains(&claim.fence);
            waiting.push(Waiting { seen: Seen::Claim(claim.fence, claim.begun), job: claim.job, crowded });
        }
        let late = self.waits.lock().await.renew(waiting, now, self.settings.tolerance);
        let findings = self.judge_late(late, at).await?;
        self.book().set_waits(findings);
        Ok(())
    }

    /// Judges what has waited for longer than it may.
    async fn judge_late(
        &self,
        late: Vec<(Waiting, Duration)>,
        at: Timestamp,
    ) -> Result<Vec<Finding>, Trouble> {
        let mut reads_left = READS_MAX;
        let mut findings = Vec::new();
        let mut told: HashSet<(JobId, FindingKind)> = HashSet::new();
        for (Waiting { seen, job, crowded }, lasted) in late {
            let mut known: Option<(Option<JobKey>, Option<Timestamp>)> = None;
            let wait = match seen {
                Seen::Entry(..) => Wait::Entry,
                Seen::Claim(_, true) => Wait::InFlight,
                // It is parked because it is due.
                Seen::Claim(_, false) if crowded => Wait::Held { due_for: SignedDuration::MAX },
                Seen::Claim(_, false) => {
                    if reads_left == 0 {
                        continue;
                    }
                    reads_left -= 1;
                    let read = self.read(job).await?;
                    let due_at = read.1;
                    known = Some(read);
                    // One without an entry is nobody's: its job is gone, or can't be read.
                    let due_for =
                        due_at.map_or(SignedDuration::MAX, |due_at| self.real(at.duration_since(due_at)));
                    Wait::Held { due_for }
                }
            };
            let Some(kind) = judge_wait(wait, lasted, crowded, self.settings.tolerance) else { continue };
            if !told.insert((job, kind)) {
                continue;
            }
            let key = match known {
                Some((key, _)) => key,
                None if reads_left == 0 || self.book().has(job, kind) => None,
                None => {
                    reads_left -= 1;
                    self.read(job).await?.0
                }
            };
            let subject = Subject::Job(job);
            findings.push(Finding { kind, subject, key, detail: detail(seen, kind, lasted), found_at: at });
        }
        Ok(findings)
    }

    /// The key of a job and when its entry is due.
    async fn read(&self, job: JobId) -> Result<(Option<JobKey>, Option<Timestamp>), Trouble> {
        let page = self.store.survey(&SurveyAsk::one(job, 0)).await?;
        let evidence = page.into_iter().find(|evidence| evidence.job == job);
        Ok(evidence.map_or((None, None), |evidence| {
            let entry = evidence.standing.and_then(|standing| standing.entry);
            (evidence.key, entry.map(|entry| entry.due_at))
        }))
    }

    /// A distance of the schedule's time as real time.
    fn real(&self, distance: SignedDuration) -> SignedDuration {
        let seconds = distance.as_secs_f64() / self.clock.speed();
        SignedDuration::try_from_secs_f64(seconds).unwrap_or(SignedDuration::MAX)
    }
}

impl Waits {
    /// Takes note of what waits now, forgets what does not any more, and tells what has for too long.
    fn renew(
        &mut self,
        waiting: Vec<Waiting>,
        now: Instant,
        tolerance: Duration,
    ) -> Vec<(Waiting, Duration)> {
        let mut seen = HashMap::with_capacity(waiting.len());
        let mut late = Vec::new();
        for mut one in waiting {
            let mut since = self.seen.get(&one.seen).copied().unwrap_or(Since { first: now, crowded: None });
            if one.crowded {
                since.crowded = Some(now);
            }
            // There is room at moments: who waits in a crowd still does.
            one.crowded = since.crowded.is_some_and(|at| now.duration_since(at) < tolerance);
            seen.insert(one.seen, since);
            let lasted = now.duration_since(since.first);
            if lasted >= tolerance {
                late.push((one, lasted));
            }
        }
        self.seen = seen;
        late
    }
}

fn detail(seen: Seen, kind: FindingKind, lasted: Duration) -> String {
    let seconds = lasted.as_secs();
    match seen {
        Seen::Entry(_, due_at) if kind == FindingKind::Backlog => {
            format!("its entry is due since {due_at} and waits for a slot")
        }
        Seen::Entry(_, due_at) => format!("its entry is due since {due_at} and nobody takes it"),
        Seen::Claim(_, false) if kind == FindingKind::Backlog => {
            format!("it is claimed and has waited for its target for {seconds} s")
        }
        Seen::Claim(_, false) => format!("it was claimed {seconds} s ago and never began"),
        Seen::Claim(_, true) => format!("it has been in flight for {seconds} s"),
    }
}
