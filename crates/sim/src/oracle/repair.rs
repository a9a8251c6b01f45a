//! A job that is ahead of the clock: it continues from now, what it has started is done, and what it has
//! skipped is still to come.

use jiff::{SignedDuration, Timestamp};
use punctual_model::{Entry, JobId, JobState, Skip, Sku};
use punctual_recurrence::Timetable;

use super::account::timetable;
use super::settle::retries;
use super::{Account, Oracle};

/// What is ahead by less than this is left alone.
const ALLOWANCE: SignedDuration = SignedDuration::from_secs(60);

fn is_ahead(at: Timestamp, now: Timestamp) -> bool {
    at > now + ALLOWANCE
}

impl Oracle {
    /// A job was repaired at an instant, from a state to a state.
    pub(crate) fn repaired(&mut self, id: JobId, now: Timestamp, (from, to): (JobState, JobState)) {
        let Some(account) = self.accounts.get_mut(&id) else {
            self.problems.push(format!("job {id:?} was put back to the clock and is not known"));
            return;
        };
        let Some(expected_collection) = self.collections.get(&account.key.collection) else { return };
        let known =
            account.is_ahead(now, expected_collection.sku) || account.happened_after(now) || from.is_final();
        let (name, passed, withdrawn) =
            (account.key.name.clone(), account.has_done(now), account.skips.len());
        account.put_back(now, expected_collection.sku);
        let withdrawn = withdrawn - account.skips.len();
        if !known {
            self.problems.push(format!("{name}: was put back to {now}, and had not come further"));
        }
        let seen = [
            (true, "a job was put back to the clock"),
            (from.is_final() && !to.is_final(), "a job went on that had ended ahead of the clock"),
            (withdrawn > 0, "a skip ahead of the clock was withdrawn"),
            (passed, "something started ahead of the clock was passed"),
        ];
        seen.iter().filter(|(seen, _)| *seen).for_each(|(_, what)| self.cover(what));
    }

    /// Jobs that are ahead of an instant and stay so.
    pub(crate) fn still_ahead(&self, now: Timestamp) -> Vec<String> {
        let sku = |account: &Account| {
            self.collection(&account.key.collection)
                .map_or(Sku::Standard, |expected_collection| expected_collection.sku)
        };
        let ahead = self.accounts.values().filter(|account| account.is_ahead(now, sku(account)));
        ahead.map(|account| format!("{}: has come further than {now}, and stays", account.key.name)).collect()
    }
}

impl Account {
    /// Whether the schedule is ahead of an instant, or a retry waits for a wrong one.
    fn is_ahead(&self, now: Timestamp, sku: Sku) -> bool {
        self.schedule_is_ahead(now) || self.corrected(now, sku).is_some()
    }

    fn schedule_is_ahead(&self, now: Timestamp) -> bool {
        let marks = [self.past_at, self.floor_at, Some(self.put_at)];
        marks.into_iter().flatten().any(|at| is_ahead(at, now))
    }

    /// The attempt that must come next, if its due time depends on a wrong one.
    fn corrected(&self, now: Timestamp, sku: Sku) -> Option<Entry> {
        let pending = self.pending?;
        let before = self.records.iter().find(|record| {
            let place = (record.generation, record.cause, record.nominal_at, record.step, record.attempt + 1);
            place == (self.generation, pending.cause, pending.nominal_at, pending.step, pending.attempt)
        });
        let due_at = match before {
            _ if pending.attempt == 0 => now,
            Some(before) if is_ahead(before.ended_at, now) => now + retries(&self.spec, pending.step, sku).0,
            Some(_) | None => return None,
        };
        is_ahead(pending.due_at, due_at).then_some(Entry { due_at, ..pending })
    }

    /// Whether something was recorded, or asked for, that can't have been by an instant.
    fn happened_after(&self, now: Timestamp) -> bool {
        self.records.iter().any(|record| is_ahead(record.ended_at, now)) || self.runs_waiting() > 0
    }

    fn has_done(&self, now: Timestamp) -> bool {
        self.scheduled_now().any(|(at, _)| at > now)
    }

    fn put_back(&mut self, now: Timestamp, sku: Sku) {
        // A claim that was not begun is taken back.
        self.edits += 1;
        self.pending = self.corrected(now, sku).or(self.pending);
        let old = self.timetable.clone();
        self.withdraw_skips(now, &old);
        if !self.schedule_is_ahead(now) {
            return;
        }
        let back = |at: Timestamp| if is_ahead(at, now) { now } else { at };
        self.put_at = if is_ahead(self.put_at, now) { now } else { self.put_at };
        self.floor_at = self.floor_at.map(back);
        self.past_at = self.past_at.map(back);
        self.timetable = timetable(&self.spec, self.put_at);
        if let Some(span) = self.open() {
            span.closed_at = Some(now);
        }
        self.open_span();
    }

    fn withdraw_skips(&mut self, now: Timestamp, timetable: &Timetable) {
        let generation = self.generation;
        let left = |skip: Skip| {
            if skip.last_at <= now {
                return Some(skip);
            }
            if skip.first_at > now {
                return None;
            }
            let (mut last_at, mut count) = (skip.first_at, 1);
            let known = skip.generation == generation && timetable.contains(skip.first_at);
            while let Some(next) = timetable.next_after(last_at).filter(|next| known && *next <= now) {
                (last_at, count) = (next, count + 1);
            }
            Some(Skip { last_at, count, decided_at: skip.decided_at.min(now), ..skip })
        };
        self.skips = std::mem::take(&mut self.skips).into_iter().filter_map(left).collect();
    }
}
