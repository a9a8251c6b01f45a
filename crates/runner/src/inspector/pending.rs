//! Looks at what should end soon: due entries and claims.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use punctual_model::inspect::{DueEntry, Finding, FindingKind, Stage, Subject, judge_stage};
use punctual_model::{JobId, JobKey};
use punctual_store::{Fence, SurveyAsk, Trouble, UnclaimedAsk};
use tokio::time::Instant;

use super::Inspector;

/// The most due entries that are remembered, the earliest. One that stays is among them sooner or later, since
/// those before it go.
const ENTRIES_MAX: usize = 1_000;

/// The most jobs that are read in one look, for their names and due times.
const READS_MAX: usize = 50;

/// What was seen in the last look, and since when.
#[derive(Default)]
pub(super) struct Pending {
    seen: HashMap<Seen, Since>,
    /// Where the next look at earlier findings begins.
    pub(super) again_behind: Option<Subject>,
}

/// What identifies something while it waits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Seen {
    Entry(JobId, Timestamp),
    Claim(Fence, bool),
}

#[derive(Clone, Copy)]
struct Since {
    first: Instant,
    /// When there was last no free slot for it.
    slots_full: Option<Instant>,
}

/// Something that waits, as it was just seen.
struct PendingItem {
    seen: Seen,
    job: JobId,
    slots_full: bool,
}

impl Inspector {
    pub(super) async fn look_at_pending(&self, now: Instant) -> Result<(), Trouble> {
        let at = self.clock.now();
        let pressure = self.status.as_ref().map(crate::status::RunnerStatus::slot_pressure);
        let full_targets = pressure.as_ref().map(|pressure| pressure.targets.clone()).unwrap_or_default();
        let ask = UnclaimedAsk { until: at, limit: ENTRIES_MAX, full_targets };
        let entries = self.store.unclaimed(&ask).await?;
        {
            let mut findings = self.findings();
            findings.oldest_due = entries.first().map(|entry| entry.due);
            findings.due_count = entries.len();
            findings.looked_at = Some(at);
        }
        let Some(pressure) = pressure else { return Ok(()) };
        if self.store.outage().is_some() {
            // Nothing is fired or recorded meanwhile, for a known reason. All durations start again.
            self.pending.lock().await.seen.clear();
            self.findings().set_pending(Vec::new());
            return Ok(());
        }

        let mut waiting: Vec<PendingItem> = entries
            .into_iter()
            .map(|entry| {
                let DueEntry { job, due_at } = entry.due;
                PendingItem {
                    seen: Seen::Entry(job, due_at),
                    job,
                    slots_full: entry.target_full || pressure.full,
                }
            })
            .collect();
        for claim in self.store.held().await? {
            let slots_full = pressure.parked.contains(&claim.fence);
            waiting.push(PendingItem {
                seen: Seen::Claim(claim.fence, claim.begun),
                job: claim.job,
                slots_full,
            });
        }
        let late = self.pending.lock().await.renew(waiting, now, self.settings.tolerance);
        let findings = self.judge_late(late, at).await?;
        self.findings().set_pending(findings);
        Ok(())
    }

    /// Judges what has lasted longer than the tolerance.
    async fn judge_late(
        &self,
        late: Vec<(PendingItem, Duration)>,
        at: Timestamp,
    ) -> Result<Vec<Finding>, Trouble> {
        let mut reads_left = READS_MAX;
        let mut findings = Vec::new();
        let mut told: HashSet<(JobId, FindingKind)> = HashSet::new();
        for (PendingItem { seen, job, slots_full }, lasted) in late {
            let mut known: Option<(Option<JobKey>, Option<Timestamp>)> = None;
            let wait = match seen {
                Seen::Entry(..) => Stage::Entry,
                Seen::Claim(_, true) => Stage::InFlight,
                // It is parked because it is due.
                Seen::Claim(_, false) if slots_full => Stage::Held { due_for: SignedDuration::MAX },
                Seen::Claim(_, false) => {
                    if reads_left == 0 {
                        continue;
                    }
                    reads_left -= 1;
                    let read = self.read(job).await?;
                    let due_at = read.1;
                    known = Some(read);
                    // A claim without an entry belongs to a job that is gone, or can't be read.
                    let due_for =
                        due_at.map_or(SignedDuration::MAX, |due_at| self.real(at.duration_since(due_at)));
                    Stage::Held { due_for }
                }
            };
            let Some(kind) = judge_stage(wait, lasted, slots_full, self.settings.tolerance) else { continue };
            if !told.insert((job, kind)) {
                continue;
            }
            let key = match known {
                Some((key, _)) => key,
                None if reads_left == 0 || self.findings().has(job, kind) => None,
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

    /// A duration of the schedule's clock as real time.
    fn real(&self, distance: SignedDuration) -> SignedDuration {
        let seconds = distance.as_secs_f64() / self.clock.speed();
        SignedDuration::try_from_secs_f64(seconds).unwrap_or(SignedDuration::MAX)
    }
}

impl Pending {
    /// Remembers what waits now, forgets what does not any more, and returns what has lasted too long.
    fn renew(
        &mut self,
        waiting: Vec<PendingItem>,
        now: Instant,
        tolerance: Duration,
    ) -> Vec<(PendingItem, Duration)> {
        let mut seen = HashMap::with_capacity(waiting.len());
        let mut late = Vec::new();
        for mut one in waiting {
            let mut since =
                self.seen.get(&one.seen).copied().unwrap_or(Since { first: now, slots_full: None });
            if one.slots_full {
                since.slots_full = Some(now);
            }
            // There are free slots at moments; it still counts as waiting for one.
            one.slots_full = since.slots_full.is_some_and(|at| now.duration_since(at) < tolerance);
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
