//! Searches for an order of calls and attempts, and for instants of the calls, with which the oracle finds
//! nothing wrong.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use punctual_model::{
    Cause, Collection, CollectionState, Entry, JobId, Outcome, OutcomeKind, Record, RecordStatus, Skip,
    SkipReason,
};
use punctual_recurrence::TICK;
use punctual_store::{Fence, Settled};

use super::timeline::{SeenAttempt, Step, Timeline};
use super::{ApiCall, CallKind, Evidence, JobEvidence, JobView, SeenRecord};
use crate::oracle::{Account, Claimed, Coverage, Intent, Oracle, SeenFiring, Settling, Shown};

/// The most steps that are tried before a job is given up; a right order takes few more than one try of each.
const STEPS_MAX: usize = 400_000;
/// The only job of an oracle, and the only node.
const JOB: JobId = JobId(1);
const NODE: usize = 0;

/// Occurrences that are shown as skipped.
type Rows = BTreeMap<Timestamp, SkipReason>;

/// A path that the oracle accepts.
pub(super) struct Found {
    pub(super) coverage: Coverage,
    pub(super) outcome_count: usize,
}

/// How far a try has come.
#[derive(Clone)]
struct Path {
    oracle: Oracle,
    step: usize,
    ask: usize,
    /// What is shown as skipped and was not reached yet.
    skipped: Rows,
    /// The attempt in flight, with what was skipped to get to it.
    flight: Option<(usize, Rows)>,
    /// When the last attempt ended.
    ended_at: Option<Timestamp>,
}

/// A possible next step.
enum Move {
    Step,
    /// The call was carried out at an instant.
    Call(Timestamp),
    /// It was not carried out.
    Omit,
}

/// Tries until a path is found; else the problems of the try that came farthest.
pub(super) fn find_path(
    job: &JobEvidence,
    evidence: &Evidence,
    timeline: &Timeline,
) -> Result<Found, Vec<String>> {
    let search = Search { job, evidence, timeline };
    let mut open = vec![search.begin()];
    let mut farthest = (0, Vec::new());
    for _ in 0..STEPS_MAX {
        let Some(mut path) = open.pop() else { return Err(farthest.1) };
        let moves = search.moves(&path);
        let Some((last, others)) = moves.split_last() else {
            search.finish(&mut path);
            if path.oracle.problems().is_empty() {
                let account = path.oracle.accounts.get(&JOB);
                let outcome_count = account.map_or(0, Account::outcome_count);
                return Ok(Found { coverage: path.oracle.coverage().clone(), outcome_count });
            }
            farthest = (usize::MAX, path.oracle.problems().to_vec());
            continue;
        };
        let reached = path.step + path.ask;
        let mut tried: Vec<Path> = others.iter().map(|next| search.gone(path.clone(), next)).collect();
        tried.push(search.gone(path, last));
        for next in tried.into_iter().rev() {
            let problems = next.oracle.problems();
            if problems.is_empty() {
                open.push(next);
            } else if reached >= farthest.0 {
                farthest = (reached, problems.to_vec());
            }
        }
    }
    farthest.1.push(format!("{}: no order was found in {STEPS_MAX} steps", job.key.name));
    Err(farthest.1)
}

struct Search<'a> {
    job: &'a JobEvidence,
    evidence: &'a Evidence,
    timeline: &'a Timeline,
}

impl Search<'_> {
    fn begin(&self) -> Path {
        let mut oracle = Oracle::default();
        let collection = Collection {
            key: self.job.key.collection.clone(),
            location: String::new(),
            tags: Vec::new(),
            sku: self.job.sku,
            state: CollectionState::Enabled,
            quota: None,
            created_at: Timestamp::MIN,
            revision: 0,
        };
        oracle.intend(Intent::Collection { at: Timestamp::MIN });
        oracle.wrote_collection(&collection, &[]);
        let skipped = self.job.skipped.iter().copied().collect();
        Path { oracle, step: 0, ask: 0, skipped, flight: None, ended_at: None }
    }

    /// The possible next steps, the likeliest first.
    fn moves(&self, path: &Path) -> Vec<Move> {
        let (step, ask) = (self.timeline.steps.get(path.step), self.job.calls.get(path.ask));
        match (step, ask) {
            (None, None) => Vec::new(),
            (Some(_), None) => vec![Move::Step],
            (None, Some(ask)) => self.ask_moves(path, ask),
            (Some(step), Some(ask)) => {
                let (life, from, to) = self.extent(*step);
                let slack = self.evidence.slack;
                let ends = matches!(step, Step::End(_));
                let step_first = life < ask.life || (life == ask.life && !ends && ask.to + slack >= from);
                let ask_first = ask.life == life && ask.from <= to + slack;
                let calls = if ask_first { self.ask_moves(path, ask) } else { Vec::new() };
                let steps: Vec<Move> = step_first.then_some(Move::Step).into_iter().collect();
                if from < ask.to {
                    steps.into_iter().chain(calls).collect()
                } else {
                    calls.into_iter().chain(steps).collect()
                }
            }
        }
    }

    /// When a step happened.
    fn extent(&self, step: Step) -> (usize, Timestamp, Timestamp) {
        match step {
            Step::Begin(index) => {
                let made = &self.timeline.tries[index];
                (made.life, made.from, made.to)
            }
            Step::Settle(index) => {
                let made = &self.timeline.tries[index];
                let ended_at = made.record.as_ref().map_or(made.to, |record| record.ended_at);
                (made.life, ended_at, ended_at)
            }
            Step::End(life) => (life, self.evidence.lives[life].to, self.evidence.lives[life].to),
        }
    }

    fn ask_moves(&self, path: &Path, ask: &ApiCall) -> Vec<Move> {
        let mut moves: Vec<Move> = match ask.what {
            CallKind::Look | CallKind::Delete => vec![Move::Call(ask.from)],
            CallKind::Run => {
                let done = ask.answered || self.run_without_answer(ask.life);
                return vec![if done { Move::Call(ask.from) } else { Move::Omit }];
            }
            CallKind::Put(_) | CallKind::Patch(_) => {
                self.instants(path, ask).into_iter().map(Move::Call).collect()
            }
        };
        if !ask.answered {
            moves.push(Move::Omit);
        }
        moves
    }

    /// Whether one more run was made than was answered, of those that were asked for in a process.
    fn run_without_answer(&self, life: usize) -> bool {
        let extent = self.evidence.lives[life];
        let of_life = |made: &&SeenAttempt| extent.from <= made.nominal_at && made.nominal_at <= extent.to;
        let runs = self.timeline.tries.iter().filter(|made| made.cause == Cause::Run).filter(of_life);
        let made: BTreeSet<Timestamp> = runs.map(|made| made.nominal_at).collect();
        let of_life = |ask: &&ApiCall| ask.life == life && ask.what == CallKind::Run && ask.answered;
        made.len() > self.job.calls.iter().filter(of_life).count()
    }

    /// The instants of a call that make a difference: each occurrence that may be before or after it, and the
    /// one at which a job without a start time began.
    fn instants(&self, path: &Path, ask: &ApiCall) -> BTreeSet<Timestamp> {
        // It was decided on the result of the last settlement.
        let first = path.ended_at.map_or(ask.from, |ended_at| ended_at.max(ask.from)).min(ask.to);
        let mut instants = BTreeSet::from([first]);
        let old = path.oracle.accounts.get(&JOB).map(|account| account.timetable().clone());
        let new = match ask.what {
            CallKind::Put(spec) | CallKind::Patch(spec) => self.job.specs[spec].timetable(first).ok(),
            CallKind::Run | CallKind::Delete | CallKind::Look => None,
        };
        for timetable in [old, new].into_iter().flatten() {
            let mut due = timetable.next_after(first - TICK);
            while let Some(at) = due.filter(|at| *at <= ask.to) {
                instants.insert(at + TICK);
                due = timetable.next_after(at);
            }
        }
        if let CallKind::Put(index) = ask.what
            && let spec = &self.job.specs[index]
        {
            let begun = self.timeline.tries.iter().map(|made| made.nominal_at).filter(|at| within(ask, *at));
            instants.extend(begun.filter(|_| spec.start_at.is_none()));
            let shown = ask.shown.and_then(|shown| shown.next_at).filter(|at| within(ask, *at));
            instants.extend(shown.filter(|_| spec.start_at.is_none()));
        }
        instants
    }

    fn gone(&self, mut path: Path, next: &Move) -> Path {
        match next {
            Move::Step => {
                let step = self.timeline.steps[path.step];
                path.step += 1;
                match step {
                    Step::Begin(index) => self.attempt(&mut path, index),
                    Step::Settle(index) => self.settle(&mut path, index),
                    Step::End(life) => self.end(&mut path, life),
                }
            }
            Move::Call(at) => {
                let ask = &self.job.calls[path.ask];
                path.ask += 1;
                self.carry_out(&mut path, ask, *at);
            }
            Move::Omit => path.ask += 1,
        }
        // Report problems early, before other orders of later steps are tried. An attempt in flight during an
        // edit gets its outcome later.
        let settled = path.flight.is_none() && self.job.records.is_some();
        if let Some(account) = path.oracle.accounts.get(&JOB).filter(|_| settled) {
            let lost = account.unaccounted();
            path.oracle.extend(lost);
        }
        path
    }

    fn carry_out(&self, path: &mut Path, ask: &ApiCall, at: Timestamp) {
        let key = &self.job.key;
        let intent = match ask.what {
            CallKind::Put(spec) => Some(Intent::Put { spec: self.job.specs[spec].clone(), at }),
            CallKind::Patch(spec) => Some(Intent::Patch { spec: self.job.specs[spec].clone(), at }),
            CallKind::Run => Some(Intent::Run),
            CallKind::Delete => {
                path.oracle.deleted_job(key, true);
                None
            }
            CallKind::Look => None,
        };
        if let Some(intent) = intent {
            let skips = self.skips_of_edit(path, &intent, at);
            path.oracle.intend(intent);
            path.oracle.wrote_job(JOB, key, &skips);
        }
        // Nobody can know how the attempts of a deleted job ended.
        if let Some(view) = ask.shown.as_ref().filter(|_| self.job.records.is_some()) {
            path.oracle.judge_job(key, JOB, &self.shown(view));
        }
    }

    /// What an edit at an instant skipped, of what is shown as skipped.
    fn skips_of_edit(&self, path: &mut Path, intent: &Intent, at: Timestamp) -> Vec<Skip> {
        let Some(account) = path.oracle.accounts.get(&JOB).filter(|account| account.on()) else {
            return Vec::new();
        };
        let ends_span = match intent {
            Intent::Put { .. } => true,
            Intent::Patch { spec, .. } => !spec.enabled || account.retimed(spec),
            Intent::Run | Intent::Collection { .. } => false,
        };
        if !ends_span {
            return Vec::new();
        }
        // An edit counts a first attempt in flight, and what was skipped to get to it, as skipped as well; if
        // the attempt is recorded, the record is shown.
        if let Some((index, rows)) = &mut path.flight
            && let made = &self.timeline.tries[*index]
            && first_of_schedule(&path.oracle, *index, made)
        {
            path.skipped.append(rows);
            if made.record.is_some() && made.nominal_at <= at {
                path.skipped.insert(made.nominal_at, SkipReason::Missed);
            }
        }
        let rows = take_rows(&mut path.skipped, at + TICK);
        self.skips(path, rows, at)
    }

    /// What is shown as skipped, as ranges with one reason each.
    fn skips(&self, path: &Path, rows: Rows, decided_at: Timestamp) -> Vec<Skip> {
        let Some(account) = path.oracle.accounts.get(&JOB) else { return Vec::new() };
        let mut skips: Vec<Skip> = Vec::new();
        for (at, reason) in rows {
            match skips.last_mut().filter(|skip| skip.reason == reason) {
                Some(skip) => {
                    skip.last_at = at;
                    skip.count += 1;
                }
                None => skips.push(Skip {
                    job: JOB,
                    generation: account.generation,
                    first_at: at,
                    last_at: at,
                    count: 1,
                    reason,
                    decided_at,
                }),
            }
        }
        if self.ends_of_ranges_only(path.ask, account) {
            for skip in &mut skips {
                let due = account.timetable().due_between(skip.first_at - TICK, skip.last_at);
                skip.count = due.map_or(skip.count, |due| due.count);
            }
        }
        skips
    }

    /// Of the skips of a rule that the job does not have any more, only both ends are shown.
    fn ends_of_ranges_only(&self, ask: usize, account: &Account) -> bool {
        self.job.calls[ask.min(self.job.calls.len())..].iter().any(|ask| match ask.what {
            CallKind::Put(_) => true,
            CallKind::Patch(spec) => account.retimed(&self.job.specs[spec]),
            CallKind::Run | CallKind::Delete | CallKind::Look => false,
        })
    }

    fn attempt(&self, path: &mut Path, index: usize) {
        let made = &self.timeline.tries[index];
        let Some(account) = path.oracle.accounts.get(&JOB) else {
            path.oracle.blame(&self.job.key, &format!("is not there and was fired: {made:?}"));
            return;
        };
        let retries = account.pending.filter(|pending| {
            (pending.nominal_at, pending.cause) == (made.nominal_at, made.cause)
                && pending.attempt == made.attempt
        });
        let step =
            made.delivery.as_ref().map_or(retries.map_or(0, |entry| entry.step), |delivery| delivery.step);
        let entry = match retries.filter(|entry| entry.step == step) {
            Some(entry) => entry,
            None if made.attempt > 0 || step > 0 => {
                // Nothing of that kind is expected, which the oracle will report.
                Entry { step, attempt: made.attempt, ordinal: u32::MAX, ..Entry::scheduled(made.nominal_at) }
            }
            None if made.cause == Cause::Run => Entry::run(made.nominal_at),
            None => {
                let next = account.next().filter(|next| *next <= made.nominal_at);
                Entry::scheduled(next.unwrap_or(made.nominal_at))
            }
        };
        // Of an attempt without a record only a range of time is known.
        let now = made.from.max(made.nominal_at).max(entry.due_at).min(made.to);
        let first_of_schedule = !entry.started() && made.cause == Cause::Schedule;
        let recorded = first_of_schedule && made.record.is_some();
        let rows = if recorded { take_rows(&mut path.skipped, made.nominal_at) } else { BTreeMap::new() };
        let fence = fence(index);
        let claimed = Claimed { fence, job: JOB, key: self.job.key.clone(), entry: Some(entry) };
        path.oracle.claimed(NODE, vec![claimed], now);
        path.oracle.begun(&[fence], &[true]);
        if let Some(delivery) = &made.delivery {
            let shooting = SeenFiring {
                job: &self.job.key,
                action: &self.job.specs[delivery.spec].action,
                step: delivery.step,
                attempt: delivery.attempt,
                nominal_at: made.nominal_at,
                tag: delivery.tag.clone(),
            };
            path.oracle.fired(NODE, &shooting, now);
        }
        path.flight = Some((index, rows));
        if self.job.records.is_none() {
            // Nobody can know how it ended.
            path.oracle.released(&[fence]);
            path.flight = None;
        }
    }

    fn settle(&self, path: &mut Path, index: usize) {
        let made = &self.timeline.tries[index];
        let (Some((flight, rows)), Some(noted)) = (path.flight.take(), &made.record) else { return };
        debug_assert_eq!(flight, index, "what is settled has just begun");
        if let Some(delivery) = &made.delivery {
            let outcome = Outcome {
                succeeded: delivery.succeeds,
                kind: OutcomeKind::Word("Seen"),
                message: String::new(),
            };
            path.oracle.answered(NODE, &self.job.key, &outcome, noted.ended_at);
        }
        let fence = fence(index);
        let mut skips = self.skips(path, rows, noted.started_at);
        let Some((generation, entry)) = path.oracle.claim_of(fence) else { return };
        let mut records = vec![record(noted, generation, made.cause, entry.step)];
        if let Some(postponed) = &made.postponed {
            let generation = path.oracle.accounts.get(&JOB).map_or(generation, |account| account.generation);
            records.push(record(postponed, generation, Cause::Schedule, 0));
            let rows = take_rows(&mut path.skipped, postponed.nominal_at);
            skips.extend(self.skips(path, rows, noted.ended_at));
        }
        let job = &self.job.key;
        let settling = Settling {
            fence,
            job,
            records: &records,
            skips: &skips,
            next: None,
            generation: None,
            state: None,
        };
        path.oracle.settled(&settling, &Settled::Recorded);
        path.ended_at = Some(noted.ended_at);
    }

    fn end(&self, path: &mut Path, life: usize) {
        let killed = self.evidence.lives[life].killed;
        if let Some((index, _)) = path.flight.take().filter(|_| !killed) {
            let made = &self.timeline.tries[index];
            path.oracle.blame(&self.job.key, &format!("was stopped in good order and lost {made:?}"));
        }
        path.oracle.abandon(None);
        path.oracle.forget(NODE);
    }

    /// At the end nothing may be left over.
    fn finish(&self, path: &mut Path) {
        let mut problems: Vec<String> = Vec::new();
        if let Some(account) = path.oracle.accounts.get(&JOB).filter(|_| self.job.records.is_some()) {
            let name = &self.job.key.name;
            problems.extend(account.unfinished());
            let made = account.outcomes();
            if made != self.job.made.iter().copied().collect() {
                problems.push(format!("{name}: {:?} is shown as made, it must be {made:?}", self.job.made));
            }
            if let Some((at, reason)) = path.skipped.first_key_value() {
                problems.push(format!("{name}: {at} is shown as skipped by {reason:?}, and was not to be"));
            }
        }
        path.oracle.extend(problems);
    }

    fn shown(&self, view: &JobView) -> Shown {
        let JobView { spec, state, counters, last_started_at, next_at } = *view;
        let spec = self.job.specs[spec].clone();
        Shown { spec, state, counters, last_started_at, next_at, waiting: None }
    }
}

/// Takes what is shown as skipped before an instant.
fn take_rows(skipped: &mut Rows, before: Timestamp) -> Rows {
    let later = skipped.split_off(&before);
    std::mem::replace(skipped, later)
}

/// Whether an attempt is the first of an occurrence of the schedule.
fn first_of_schedule(oracle: &Oracle, index: usize, made: &SeenAttempt) -> bool {
    let claim = oracle.claim_of(fence(index));
    made.cause == Cause::Schedule && claim.is_some_and(|(_, entry)| !entry.started())
}

fn fence(index: usize) -> Fence {
    Fence(index as u64 + 1)
}

fn within(ask: &ApiCall, at: Timestamp) -> bool {
    ask.from <= at && at <= ask.to
}

fn record(noted: &SeenRecord, generation: u32, cause: Cause, step: u8) -> Record {
    let postponed = noted.status == RecordStatus::Postponed;
    Record {
        job: JOB,
        generation,
        nominal_at: noted.nominal_at,
        cause,
        step: if postponed { 0 } else { step },
        attempt: noted.attempt,
        ordinal: noted.ordinal,
        started_at: noted.started_at,
        ended_at: noted.ended_at,
        status: noted.status,
        message: String::new(),
    }
}
