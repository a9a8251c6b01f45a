//! Occurrences that have their outcome although their time is yet to come, because they were started while the
//! clock was ahead ([`Progress::ahead`]). Whoever looks for the next occurrence, or for those that are due, passes
//! them: what has an attempt record is not fired again.

use jiff::Timestamp;
use punctual_recurrence::{DueRange, TICK, Timetable};

use crate::{Job, Progress, Stretch};

/// How many stretches a job keeps: 16 KB of its row. Only a job that skipped something between nearly all of
/// so many starts has more.
pub(super) const STRETCHES_MAX: usize = 1_000;

/// How many occurrences are looked at when a rule is replaced: some ten milliseconds.
const RETIMED_MAX: usize = 10_000;

/// The occurrence at an instant, or the first one behind it that has no outcome yet.
pub(crate) fn pass(ahead: &[Stretch], timetable: &Timetable, at: Timestamp) -> Option<Timestamp> {
    let mut next = at;
    for stretch in ahead {
        if stretch.first_at <= next && next <= stretch.last_at {
            next = timetable.next_after(stretch.last_at)?;
        }
    }
    Some(next)
}

/// The occurrences from `first` up to `now` that have no outcome yet, in runs that follow one another: one run,
/// unless some were started ahead. `first` is one of them.
pub(super) fn due(job: &Job, timetable: &Timetable, first: Timestamp, now: Timestamp) -> Vec<DueRange> {
    let mut runs = Vec::new();
    let mut from = Some(first);
    for stretch in job.progress.ahead.iter().filter(|stretch| stretch.last_at >= first) {
        let Some(first) = from.filter(|_| stretch.first_at <= now) else { break };
        if first < stretch.first_at {
            runs.push(run(timetable, first, stretch.first_at - TICK));
        }
        from = timetable.next_after(stretch.last_at);
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

/// Forgets what lies behind the job by now.
pub(super) fn forget_passed(progress: &mut Progress) {
    let past_at = progress.past_at;
    progress.ahead.retain(|stretch| Some(stretch.last_at) > past_at);
}

/// Occurrences in order as stretches of a timetable; what it does not yield is left out.
pub(super) fn stretches(timetable: &Timetable, starts: impl IntoIterator<Item = Timestamp>) -> Vec<Stretch> {
    let starts = starts.into_iter().filter(|&at| timetable.contains(at));
    join(timetable, starts.map(|at| Stretch { first_at: at, last_at: at }))
}

/// Joins stretches, which are in the order of their first occurrences, where nothing lies between them.
pub(super) fn join(timetable: &Timetable, parts: impl IntoIterator<Item = Stretch>) -> Vec<Stretch> {
    let mut joined: Vec<Stretch> = Vec::new();
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

/// What was started ahead by one rule, as stretches of the rule that replaces it: only instants that both yield,
/// since the new rule may yield others between them. What is too much to look at stays as it is: then the new
/// rule misses some rather than to fire something twice.
pub(super) fn retimed(ahead: &[Stretch], old: &Timetable, new: &Timetable) -> Vec<Stretch> {
    let (mut starts, mut rest) = (Vec::new(), Vec::new());
    for stretch in ahead {
        let mut next = Some(stretch.first_at);
        while let Some(at) = next.filter(|at| *at <= stretch.last_at) {
            if starts.len() == RETIMED_MAX {
                rest.push(Stretch { first_at: at, ..*stretch });
                break;
            }
            starts.push(at);
            next = old.next_after(at);
        }
    }
    let mut kept = stretches(new, starts);
    kept.extend(rest);
    bounded(kept)
}

/// Not more stretches than a job keeps: the last one takes in those that are too many.
pub(super) fn bounded(mut stretches: Vec<Stretch>) -> Vec<Stretch> {
    let end = stretches.last().map(|last| last.last_at);
    if stretches.len() > STRETCHES_MAX {
        stretches.truncate(STRETCHES_MAX);
        if let (Some(last), Some(end)) = (stretches.last_mut(), end) {
            last.last_at = end;
        }
    }
    stretches
}
