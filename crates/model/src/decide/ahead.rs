//! Occurrences that were started while the clock was ahead, so that they have an outcome although their time is
//! still to come ([`Progress::ahead`]). Every search for the next or for due occurrences leaves them out: an
//! occurrence with an attempt record is not fired again.

use jiff::Timestamp;
use punctual_recurrence::{DueRange, TICK, Timetable};

use crate::{Job, OccurrenceRange, Progress};

/// The most ranges that a job keeps, which take 16 KB of its row. A job has more only if it skipped something
/// between nearly every two of this many starts.
pub(super) const RANGES_MAX: usize = 1_000;

/// The most occurrences that are visited when a rule is replaced, which takes some ten milliseconds.
const RETIMED_MAX: usize = 10_000;

/// The most instants that are kept although the rule does not yield them.
const OTHERS_MAX: usize = 100;

/// The first occurrence at or after the occurrence `at` that has no outcome yet.
pub(crate) fn pass(ahead: &[OccurrenceRange], timetable: &Timetable, at: Timestamp) -> Option<Timestamp> {
    let mut next = at;
    for range in ahead {
        if range.first_at <= next && next <= range.last_at {
            next = timetable.next_after(range.last_at)?;
        }
    }
    Some(next)
}

/// The occurrences from `first` up to `now` that have no outcome yet, as ranges of consecutive ones: a single
/// range, unless some were started ahead. `first` is one of them.
pub(super) fn due(job: &Job, timetable: &Timetable, first: Timestamp, now: Timestamp) -> Vec<DueRange> {
    let mut runs = Vec::new();
    let mut from = Some(first);
    for range in job.progress.ahead.iter().filter(|range| range.last_at >= first) {
        let Some(first) = from.filter(|_| range.first_at <= now) else { break };
        if first < range.first_at {
            runs.push(run(timetable, first, range.first_at - TICK));
        }
        from = timetable.next_after(range.last_at);
    }
    runs.extend(from.filter(|first| *first <= now).map(|first| run(timetable, first, now)));
    runs
}

fn run(timetable: &Timetable, first: Timestamp, until: Timestamp) -> DueRange {
    match timetable.due_between(first, until) {
        None => DueRange { first, last: first, before_last: None, count: 1 },
        Some(more) => {
            DueRange { first, before_last: more.before_last.or(Some(first)), count: more.count + 1, ..more }
        }
    }
}

/// Takes the newest occurrence out of those that are due; none if none is.
pub(super) fn split_newest(mut runs: Vec<DueRange>) -> Option<(Vec<DueRange>, Timestamp)> {
    let last = runs.pop()?;
    if let Some(before_last) = last.before_last {
        runs.push(DueRange { last: before_last, before_last: None, count: last.count - 1, ..last });
    }
    Some((runs, last.last))
}

/// Forgets occurrences that the job has passed by now.
pub(super) fn forget_passed(progress: &mut Progress) {
    let past_at = progress.past_at;
    progress.ahead.retain(|range| Some(range.last_at) > past_at);
}

/// Occurrences, in order, as ranges of a timetable. Instants that it does not yield are kept as well, since a later
/// edit may bring back the rule that did; but only if they are few, because each takes a range of its own.
pub(super) fn ranges(
    timetable: &Timetable,
    starts: impl IntoIterator<Item = Timestamp>,
) -> Vec<OccurrenceRange> {
    let (mut kept, others): (Vec<_>, Vec<_>) = starts.into_iter().partition(|&at| timetable.contains(at));
    if others.len() <= OTHERS_MAX {
        kept.extend(others);
        kept.sort_unstable();
    }
    join(timetable, kept.into_iter().map(|at| OccurrenceRange { first_at: at, last_at: at }))
}

/// Joins ranges, ordered by their first occurrence, that have no occurrence between them.
pub(super) fn join(
    timetable: &Timetable,
    parts: impl IntoIterator<Item = OccurrenceRange>,
) -> Vec<OccurrenceRange> {
    let mut joined: Vec<OccurrenceRange> = Vec::new();
    for part in parts {
        match joined.last_mut() {
            Some(last) if part.first_at <= last.last_at => last.last_at = last.last_at.max(part.last_at),
            Some(last) if timetable.next_after(last.last_at) == Some(part.first_at) => {
                last.last_at = part.last_at;
            }
            Some(_) | None => joined.push(part),
        }
    }
    joined
}

/// The occurrences that an old rule started ahead, as ranges of the rule that replaces it, which may yield
/// others between them. Ranges with too many occurrences to visit stay
/// as they are: then the new rule misses some rather than fire one twice.
pub(super) fn retimed(ahead: &[OccurrenceRange], old: &Timetable, new: &Timetable) -> Vec<OccurrenceRange> {
    let (mut starts, mut rest) = (Vec::new(), Vec::new());
    for range in ahead {
        let mut next = Some(range.first_at);
        while let Some(at) = next.filter(|at| *at <= range.last_at) {
            if starts.len() == RETIMED_MAX {
                rest.push(OccurrenceRange { first_at: at, ..*range });
                break;
            }
            starts.push(at);
            next = old.next_after(at);
        }
    }
    let mut kept = ranges(new, starts);
    kept.extend(rest);
    bounded(kept)
}

/// At most as many ranges as a job keeps: the last one is extended over those that are too many.
pub(super) fn bounded(mut ranges: Vec<OccurrenceRange>) -> Vec<OccurrenceRange> {
    let end = ranges.last().map(|last| last.last_at);
    if ranges.len() > RANGES_MAX {
        ranges.truncate(RANGES_MAX);
        if let (Some(last), Some(end)) = (ranges.last_mut(), end) {
            last.last_at = end;
        }
    }
    ranges
}
