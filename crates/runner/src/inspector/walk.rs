//! Passes over all jobs, in small pieces.

use std::sync::Arc;
use std::time::Duration;

use punctual_model::JobId;
use punctual_model::inspect::{
    Evidence, Flaw, HistoryEvidence, Pass, Standing, Subject, Tally, judge, judge_counters,
};
use punctual_store::{CollectionEvidence, Extent, SurveyAsk, Trouble};
use tokio::sync::watch;
use tokio::time::Instant;

use super::findings::Task;
use super::{Inspector, pause};

/// The number of jobs of a piece: a millisecond or two of reading.
const PIECE: usize = 256;

/// The most records that are read for a piece, or for a part of a long history.
const RECORDS: usize = 1_000;

/// A longer history is not counted: reading it would take seconds, and it would change meanwhile.
const RECORDS_MAX: usize = 200_000;

/// The pause after a piece, as a multiple of how long it took: reading takes less than half a percent of a
/// core.
const REST: u32 = 200;

/// The longest pause after a piece that took long because others were busy.
const REST_MAX: Duration = Duration::from_secs(60);

/// The pause within a long history is shorter, so that it is read before the job runs again; the rest follows.
const SHORT_REST: u32 = 4;

/// How often a suspect is read that changes each time.
const READS_MAX: usize = 3;

/// The most findings that are examined again in one look.
const AGAIN_MAX: usize = 20;

/// A pass under way.
pub(super) struct Walk {
    began: Instant,
    extent: Extent,
    /// Collections come first, by number; none when all of them were examined.
    collections_after: Option<i64>,
    after: Option<JobId>,
    job_count: u64,
}

impl Walk {
    /// The progress, from 0 to 1.
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    pub(super) fn progress(&self) -> f64 {
        let after = self.after.map_or(0, |after| after.0);
        (after as f64 / self.extent.last_job.0.max(1) as f64).clamp(0.0, 1.0)
    }

    /// How long to pause after a piece, so that the pass takes its time.
    fn rest(&self, took: Duration, pass_every: Duration) -> Duration {
        let least = (took * REST).min(REST_MAX);
        match (self.collections_after, self.after) {
            (Some(_), _) => return least,
            // Jobs come next.
            (None, None) => return Duration::ZERO,
            (None, Some(_)) => {}
        }
        let pieces = usize::try_from(self.extent.last_job.0).unwrap_or(0) / PIECE + 1;
        let share = pass_every / u32::try_from(pieces).unwrap_or(u32::MAX);
        share.saturating_sub(took).max(least)
    }
}

impl Inspector {
    /// Makes passes until it is told to stop.
    pub(super) async fn walk_on(self: Arc<Self>, mut stop: watch::Receiver<bool>) {
        while !*stop.borrow() {
            // One node walks for all.
            if self.status.as_ref().is_some_and(|status| !status.first()) {
                pause(self.settings.look_every, &mut stop).await;
                continue;
            }
            let began = Instant::now();
            let walked = self.walk(&mut stop).await;
            let failed = walked.is_err();
            self.findings().note_trouble(Task::Walk, walked.err());
            if failed {
                pause(self.settings.look_every, &mut stop).await;
                continue;
            }
            pause(self.settings.pass_every.saturating_sub(began.elapsed()), &mut stop).await;
        }
    }

    async fn walk(&self, stop: &mut watch::Receiver<bool>) -> Result<(), Trouble> {
        let mut walk = self.begin_walk(Instant::now()).await?;
        while !*stop.borrow() {
            let began = Instant::now();
            if !self.walk_on_a_piece(&mut walk).await? {
                self.end_walk(&walk, Instant::now());
                break;
            }
            // The last piece needs no pause after it.
            let more = walk.after.is_none_or(|after| after < walk.extent.last_job);
            let rest =
                if more { walk.rest(began.elapsed(), self.settings.pass_every) } else { Duration::ZERO };
            pause(rest, stop).await;
        }
        Ok(())
    }

    pub(super) async fn begin_walk(&self, now: Instant) -> Result<Walk, Trouble> {
        let extent = self.store.extent().await?;
        self.findings().begin_pass(extent);
        Ok(Walk { began: now, extent, collections_after: Some(0), after: None, job_count: 0 })
    }

    pub(super) fn end_walk(&self, walk: &Walk, now: Instant) {
        let ended_at = self.clock.now();
        let took = now.duration_since(walk.began);
        self.findings().end_pass(Pass { ended_at, took, job_count: walk.job_count });
    }

    /// Examines the next collections or jobs; false if there are none.
    pub(super) async fn walk_on_a_piece(&self, walk: &mut Walk) -> Result<bool, Trouble> {
        if let Some(after) = walk.collections_after {
            walk.collections_after = self.walk_over_collections(after).await?;
            return Ok(true);
        }
        let ask = SurveyAsk { after: walk.after, job_limit: PIECE, record_limit: RECORDS };
        let page = self.store.survey(&ask).await?;
        let Some(last) = page.last() else { return Ok(false) };
        walk.after = Some(last.job);
        for evidence in page {
            walk.job_count += u64::from(evidence.defined);
            self.examine(evidence).await?;
        }
        self.findings().progress = Some(walk.progress());
        Ok(true)
    }

    /// Examines the collections after one; returns where to continue, if there are more.
    async fn walk_over_collections(&self, after: i64) -> Result<Option<i64>, Trouble> {
        let page = self.store.survey_collections(after, PIECE).await?;
        let last = page.last().map(|last| last.number).filter(|_| page.len() == PIECE);
        for CollectionEvidence { key, unreadable, .. } in page {
            self.set_damage(&Subject::Collection(key), unreadable);
        }
        Ok(last)
    }

    /// Examines what others have met and could not read.
    pub(super) async fn look_at_suspects(&self) -> Result<(), Trouble> {
        let suspects = self.findings().take_suspects(AGAIN_MAX);
        for subject in suspects {
            self.look_at(subject).await?;
        }
        Ok(())
    }

    /// Examines some of the earlier findings, so that a repaired one is closed soon.
    pub(super) async fn look_at_findings_again(&self) -> Result<(), Trouble> {
        let mut waits = self.pending.lock().await;
        let subjects = self.findings().stored_behind(waits.again_behind.as_ref(), AGAIN_MAX);
        waits.again_behind = subjects.last().cloned().filter(|_| subjects.len() == AGAIN_MAX);
        drop(waits);
        for subject in subjects {
            self.look_at(subject).await?;
        }
        Ok(())
    }

    /// Examines jobs that could not be read when they were due: nobody fires them, so that is reported at once.
    pub(super) async fn look_at_left_out(&self) -> Result<(), Trouble> {
        let left_out = self.store.left_out().await?;
        let unknown = |job: &JobId| !self.findings().has_stored(*job);
        let unknown: Vec<JobId> = left_out.into_iter().filter(unknown).take(AGAIN_MAX).collect();
        for job in unknown {
            self.look_at(Subject::Job(job)).await?;
        }
        Ok(())
    }

    /// Examines one subject.
    async fn look_at(&self, subject: Subject) -> Result<(), Trouble> {
        let Subject::Job(job) = subject else {
            let damage = self.store.damage(&subject).await?;
            self.set_damage(&subject, damage);
            return Ok(());
        };
        match self.read_again(job).await? {
            Some(evidence) => self.examine(evidence).await,
            None => {
                self.findings().set_stored(&subject, None, &[], self.clock.now());
                Ok(())
            }
        }
    }

    /// Sets whether a subject that is no job can be read.
    fn set_damage(&self, subject: &Subject, damage: Option<String>) {
        let flaw = damage.map(|detail| Flaw { kind: subject.unreadable_kind(), detail });
        self.findings().set_stored(subject, None, flaw.as_slice(), self.clock.now());
    }

    /// Judges a job. A suspect is read again, and has a flaw if it still has it and was not written meanwhile.
    async fn examine(&self, evidence: Evidence) -> Result<(), Trouble> {
        let (job, key) = (evidence.job, evidence.key.clone());
        for (sequence, detail) in &evidence.unreadable_records {
            self.set_damage(&Subject::Record(job, *sequence), Some(detail.clone()));
        }
        let Some(flaws) = self.flaws(evidence).await? else { return Ok(()) };
        self.findings().set_stored(&Subject::Job(job), key.as_ref(), &flaws, self.clock.now());
        Ok(())
    }

    /// The flaws of a job; none if they can't be known now.
    async fn flaws(&self, mut evidence: Evidence) -> Result<Option<Vec<Flaw>>, Trouble> {
        for _ in 0..READS_MAX {
            let now = self.clock.watch().map(|_| self.clock.now());
            let flaws = judge(&evidence, now);
            if flaws.is_empty() {
                return if evidence.claimed {
                    Ok(None)
                } else {
                    self.with_long_history(&evidence, flaws).await
                };
            }
            let Some(again) = self.read_again(evidence.job).await? else { return Ok(Some(Vec::new())) };
            let same = revision(&again) == revision(&evidence) && judge(&again, now) == flaws;
            if same {
                return self.with_long_history(&again, flaws).await;
            }
            evidence = again;
        }
        Ok(None)
    }

    /// Adds the tally of a history that is too long for a page.
    async fn with_long_history(
        &self,
        evidence: &Evidence,
        mut flaws: Vec<Flaw>,
    ) -> Result<Option<Vec<Flaw>>, Trouble> {
        let Some(standing) = evidence.standing.filter(|_| evidence.history == HistoryEvidence::Long) else {
            return Ok(Some(flaws));
        };
        let Some(tally) = self.count(evidence.job, &standing).await? else { return Ok(None) };
        let again = self.read_again(evidence.job).await?;
        if again.is_none_or(|again| again.claimed || revision(&again) != Some(standing.revision)) {
            return Ok(None);
        }
        flaws.extend(judge_counters(&standing, &tally));
        Ok(Some(flaws))
    }

    /// Counts a long history in parts; none if it is too long.
    async fn count(&self, job: JobId, standing: &Standing) -> Result<Option<Tally>, Trouble> {
        let mut tally = Tally::default();
        let mut after = None;
        for _ in 0..RECORDS_MAX / RECORDS {
            let began = Instant::now();
            let record_facts = self.store.record_facts(job, after, RECORDS).await?;
            let Some((cursor, _)) = record_facts.last() else { return Ok(Some(tally)) };
            after = Some(*cursor);
            let of_now = record_facts.iter().filter(|(_, trace)| trace.generation == standing.generation);
            of_now.for_each(|(_, trace)| tally.add(*trace));
            tokio::time::sleep(began.elapsed() * SHORT_REST).await;
        }
        Ok(None)
    }

    async fn read_again(&self, job: JobId) -> Result<Option<Evidence>, Trouble> {
        let page = self.store.survey(&SurveyAsk::one(job, RECORDS)).await?;
        Ok(page.into_iter().find(|evidence| evidence.job == job))
    }
}

fn revision(evidence: &Evidence) -> Option<i64> {
    evidence.standing.map(|standing| standing.revision)
}
