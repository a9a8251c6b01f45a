//! One job as it must be.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use jiff::Timestamp;
use punctual_model::{Cause, Counters, Entry, JobKey, JobSpec, Record, Skip};
use punctual_recurrence::{TICK, Timetable};

use super::span::Span;

/// All that is known of a job.
#[derive(Clone, Debug)]
pub(crate) struct Account {
    pub(crate) key: JobKey,
    pub(crate) spec: JobSpec,
    pub(crate) generation: u32,
    pub(crate) put_at: Timestamp,
    pub(super) timetable: Timetable,
    /// Scheduled occurrences before this instant do not count any more.
    pub(super) floor_at: Option<Timestamp>,
    /// The latest scheduled occurrence of this generation that was started or skipped.
    pub(super) past_at: Option<Timestamp>,
    /// Whether the collection is enabled.
    pub(super) collection_on: bool,
    /// All spans; the last may be open.
    pub(super) spans: Vec<Span>,
    /// How often pending attempts were dropped.
    pub(super) drops: u32,
    /// How often it was written.
    pub(super) edits: u32,
    pub(super) occurrences: BTreeMap<(u32, Cause, Timestamp), Occurrence>,
    pub(super) attempts: HashSet<(u32, Cause, Timestamp, u8, u32, bool)>,
    pub(crate) records: Vec<Record>,
    pub(crate) skips: Vec<Skip>,
    failure_count: u32,
    pub(super) runs_accepted: usize,
    pub(super) last_started_at: Option<Timestamp>,
    /// The retry or error action that must come next, before anything else of the job.
    pub(crate) pending: Option<Entry>,
}

/// An occurrence that was started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Occurrence {
    pub(super) ordinal: u32,
    pub(super) started_at: Timestamp,
    pub(super) main: Main,
}

/// The state of the main action of an occurrence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Main {
    Succeeded,
    /// It will be tried again.
    Pending,
    /// It failed for good.
    Failed,
}

impl Account {
    pub(super) fn new(key: JobKey, spec: JobSpec, at: Timestamp, collection_on: bool) -> Self {
        let mut account = Self {
            timetable: timetable(&spec, at),
            key,
            spec,
            generation: 1,
            put_at: at,
            floor_at: None,
            past_at: None,
            collection_on,
            spans: Vec::new(),
            drops: 0,
            edits: 0,
            occurrences: BTreeMap::new(),
            attempts: HashSet::new(),
            records: Vec::new(),
            skips: Vec::new(),
            failure_count: 0,
            runs_accepted: 0,
            last_started_at: None,
            pending: None,
        };
        account.open_span();
        account
    }

    /// The timetable of its definition.
    pub(crate) fn timetable(&self) -> &Timetable {
        &self.timetable
    }

    /// Whether a definition has another schedule.
    pub(crate) fn retimed(&self, spec: &JobSpec) -> bool {
        spec.start_at != self.spec.start_at || spec.recurrence != self.spec.recurrence
    }

    /// How many occurrences have an outcome.
    pub(crate) fn outcome_count(&self) -> usize {
        let skipped: u64 = self.skips.iter().map(|skip| skip.count).sum();
        self.occurrences.len() + usize::try_from(skipped).unwrap_or(usize::MAX)
    }

    /// The scheduled occurrences that were started, and whether they succeeded.
    pub(crate) fn outcomes(&self) -> BTreeMap<Timestamp, bool> {
        let mut outcomes = BTreeMap::new();
        let scheduled = self.occurrences.iter().filter(|((_, cause, _), _)| *cause == Cause::Schedule);
        for ((_, _, at), occurrence) in scheduled {
            *outcomes.entry(*at).or_default() |= occurrence.main == Main::Succeeded;
        }
        outcomes
    }

    /// Whether the schedule is enabled.
    pub(crate) fn on(&self) -> bool {
        self.spec.enabled && self.collection_on
    }

    pub(super) fn put_again(
        &mut self,
        spec: JobSpec,
        at: Timestamp,
        collection_on: bool,
        skips: &[Skip],
    ) -> Vec<String> {
        let problems = self.close_span(at, skips);
        self.drop_pending();
        self.edits += 1;
        self.generation += 1;
        self.timetable = timetable(&spec, at);
        self.spec = spec;
        self.put_at = at;
        self.floor_at = None;
        self.past_at = None;
        self.collection_on = collection_on;
        self.failure_count = 0;
        self.open_span();
        problems
    }

    pub(super) fn patched(
        &mut self,
        spec: JobSpec,
        at: Timestamp,
        collection_on: bool,
        skips: &[Skip],
    ) -> Vec<String> {
        self.edits += 1;
        let timing_changed = self.retimed(&spec);
        let (was_on, mut problems) = (self.spec.enabled, Vec::new());
        if was_on && (!spec.enabled || timing_changed) {
            problems = self.close_span(at, skips);
        }
        if was_on && !spec.enabled {
            self.drop_pending();
        }
        self.timetable = timetable(&spec, self.put_at);
        let now_on = spec.enabled;
        self.spec = spec;
        self.collection_on = collection_on;
        if now_on && (!was_on || timing_changed) {
            self.floor_at = Some(at);
            self.open_span();
        }
        problems
    }

    pub(super) fn switched(&mut self, on: bool, at: Timestamp, skips: &[Skip]) -> Vec<String> {
        self.edits += 1;
        self.collection_on = on;
        if on {
            self.floor_at = Some(at);
            self.open_span();
            return Vec::new();
        }
        let problems = self.close_span(at, skips);
        self.drop_pending();
        problems
    }

    /// The open span.
    pub(super) fn open(&mut self) -> Option<&mut Span> {
        self.spans.last_mut().filter(|span| span.closed_at.is_none())
    }

    /// What the schedule must have on the agenda next; none if nothing is left or it is disabled.
    pub(crate) fn next(&self) -> Option<Timestamp> {
        if !self.on() || self.count_is_used_up() {
            return None;
        }
        if self.spec.recurrence.is_none() {
            let after_past = self.past_at.map(|past_at| past_at + TICK);
            let first = self.timetable.first();
            return first
                .map(|at| [self.floor_at, after_past].into_iter().flatten().fold(at, Timestamp::max));
        }
        self.spans.last().filter(|span| span.closed_at.is_none()).and_then(|span| span.cursor)
    }

    /// Whether as many occurrences were started as `count` allows.
    pub(super) fn count_is_used_up(&self) -> bool {
        self.timetable.count().is_some_and(|count| self.started_count() >= count)
    }

    pub(super) fn started_count(&self) -> u32 {
        self.count(|_, cause, _| cause == Cause::Schedule)
    }

    /// What the counters must show.
    pub(super) fn counters(&self) -> Counters {
        Counters {
            execution: self.count(|_, _, _| true),
            failure: self.failure_count,
            faulted: self.count(|_, _, main| main == Main::Failed),
        }
    }

    /// How many occurrences of a generation were started.
    pub(super) fn execution_count(&self, generation: u32) -> u32 {
        let count = self.occurrences.keys().filter(|(of, _, _)| *of == generation).count();
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    fn count(&self, wanted: impl Fn(Timestamp, Cause, Main) -> bool) -> u32 {
        let of_now = self.occurrences.range((self.generation, Cause::Schedule, Timestamp::MIN)..);
        let found = of_now.filter(|((_, cause, at), occurrence)| wanted(*at, *cause, occurrence.main));
        u32::try_from(found.count()).unwrap_or(u32::MAX)
    }

    /// Whether the main action of the latest scheduled occurrence failed for good.
    pub(super) fn last_failed(&self) -> bool {
        let latest = self.scheduled_now().max_by_key(|(_, occurrence)| occurrence.ordinal);
        latest.is_some_and(|(_, last)| last.main == Main::Failed)
    }

    /// The scheduled occurrences of this generation that were started.
    pub(super) fn scheduled_now(&self) -> impl Iterator<Item = (Timestamp, &Occurrence)> {
        let scheduled = (self.generation, Cause::Schedule, Timestamp::MIN)
            ..=(self.generation, Cause::Schedule, Timestamp::MAX);
        self.occurrences.range(scheduled).map(|((_, _, at), occurrence)| (*at, occurrence))
    }

    /// Occurrences that were started and are not before an instant.
    fn done_after(&self, from: Option<Timestamp>) -> BTreeSet<Timestamp> {
        let done = self.scheduled_now().map(|(at, _)| at);
        from.map(|from| done.filter(|at| *at >= from).collect()).unwrap_or_default()
    }

    /// How many runs were accepted and not started.
    pub(super) fn runs_waiting(&self) -> usize {
        self.runs_accepted.saturating_sub(self.runs_started())
    }

    /// How many runs were started.
    pub(super) fn runs_started(&self) -> usize {
        let mut started: Vec<Timestamp> = self
            .occurrences
            .keys()
            .filter(|(_, cause, _)| *cause == Cause::Run)
            .map(|(_, _, at)| *at)
            .collect();
        started.sort_unstable();
        started.dedup();
        started.len()
    }

    /// A scheduled occurrence has an outcome.
    pub(super) fn note_past(&mut self, at: Timestamp) {
        self.past_at = self.past_at.max(Some(at));
    }

    pub(super) fn note_failure(&mut self) {
        self.failure_count += 1;
    }

    fn drop_pending(&mut self) {
        self.drops += 1;
        self.pending = None;
        for occurrence in self.occurrences.values_mut() {
            if occurrence.main == Main::Pending {
                occurrence.main = Main::Failed;
            }
        }
    }

    pub(super) fn open_span(&mut self) {
        if !self.on() {
            return;
        }
        let after_past = self.past_at.map(|past_at| past_at + TICK);
        let cursor = match after_past.max(self.floor_at) {
            None => self.timetable.first(),
            Some(from) => self.timetable.at_or_after(from),
        };
        let chained = self.spec.recurrence.is_some();
        let done = self.done_after(cursor);
        self.spans.push(Span::new(&self.timetable, cursor, chained, done));
    }

    fn close_span(&mut self, at: Timestamp, skips: &[Skip]) -> Vec<String> {
        let (name, recurring) = (self.key.name.clone(), self.spec.recurrence.is_some());
        let mut problems = Vec::new();
        for skip in skips {
            self.skips.push(skip.clone());
            self.note_past(skip.last_at);
            if let Some(Err(problem)) = self.open().map(|span| span.skip_by_edit(skip)) {
                problems.push(format!("{name}: by an edit at {at}: {problem}"));
            }
        }
        if let Some(span) = self.open() {
            span.closed_at = Some(at);
            if !recurring {
                span.cursor = None;
            }
        }
        if self.count_is_used_up()
            && let Some(span) = self.spans.last_mut()
        {
            span.cursor = None;
        }
        problems
    }

    /// Records that ended, and skips that were decided, before an instant are gone; returns how many.
    pub(super) fn prune(&mut self, before: Timestamp) -> usize {
        let count = self.records.len() + self.skips.len();
        self.records.retain(|record| record.ended_at >= before);
        self.skips.retain(|skip| skip.decided_at >= before);
        count - self.records.len() - self.skips.len()
    }

    /// What is still to come although everything had its time.
    pub(crate) fn unfinished(&self) -> Vec<String> {
        let name = &self.key.name;
        let pending = self.pending.map(|entry| format!("{name}: {entry:?} never came"));
        let runs = self.runs_waiting();
        let waiting = (runs > 0).then(|| format!("{name}: {runs} runs were accepted and never made"));
        let next = self.next().map(|next| format!("{name}: {next} never came"));
        pending.into_iter().chain(waiting).chain(next).collect()
    }

    /// Occurrences that came due while the schedule was enabled, and have no outcome.
    pub(crate) fn unaccounted(&self) -> Vec<String> {
        let closed = self.spans.iter().filter_map(|span| Some((span.cursor?, span.closed_at?)));
        let lost = closed.filter(|(cursor, closed_at)| cursor < closed_at);
        lost.map(|(cursor, closed_at)| {
            format!("{}: {cursor} was due before an edit at {closed_at} and has no outcome", self.key.name)
        })
        .collect()
    }
}

pub(super) fn timetable(spec: &JobSpec, put_at: Timestamp) -> Timetable {
    spec.timetable(put_at).expect("worlds have valid rules only")
}
