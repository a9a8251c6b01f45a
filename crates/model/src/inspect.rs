//! Invariants: what must hold for every stored job.
//!
//! A store provides the [`Evidence`] of a job; [`judge`] finds the flaws. That is a pure function, so that the
//! running server, `punctual doctor` on the data of a stopped one, and the simulator agree. Only cheap
//! conditions are checked: no timetable is computed.
//!
//! What depends on time (an entry that nobody claims, a claim that does not end) can't be seen in one snapshot.
//! The inspector looks repeatedly and says how long something has lasted, and [`judge_stage`] says what that
//! means.

mod report;
mod tally;

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

pub use self::report::{Census, DueEntry, FaultedJob, Finding, Inspection, KindCount, Pass, Report, Subject};
pub use self::tally::{RecordFacts, Tally};
use crate::{Cause, Counters, Entry, JobId, JobKey, JobState, decide};

/// A record that a counter counts can be missing only if the clock was set back by more than this after the
/// PUT, and the history was then pruned to the day.
const CLOCK_SLACK: SignedDuration = SignedDuration::from_hours(24);

/// The kinds of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FindingKind {
    /// An entry is due and nobody claims it, although there are free slots.
    Overdue,
    /// An entry is due and waits for a slot.
    Backlog,
    /// A claim lasts longer than any attempt takes.
    StaleClaim,
    /// An enabled job of an enabled collection has no agenda entry.
    NoEntry,
    /// A job has an agenda entry that it must not have.
    StrayEntry,
    /// The counters of a job are not what its history says.
    Counters,
    /// A part of a job is missing: its agenda row, its definition or its collection.
    MissingPart,
    /// A stored job, collection or group can't be read.
    Unreadable,
    /// A record of a job's history can't be read.
    UnreadableRecord,
    /// A job is ahead of the clock, and would not run until the clock gets there.
    Ahead,
    /// The clock was set forward, which is not accepted yet: nothing fires.
    ClockHeld,
    /// The clock was set forward.
    ClockForward,
    /// The clock was set back, or jobs were found that are ahead of it.
    ClockBack,
}

impl FindingKind {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::Overdue,
        Self::Backlog,
        Self::StaleClaim,
        Self::NoEntry,
        Self::StrayEntry,
        Self::Counters,
        Self::MissingPart,
        Self::Unreadable,
        Self::UnreadableRecord,
        Self::Ahead,
        Self::ClockHeld,
        Self::ClockForward,
        Self::ClockBack,
    ];

    /// Its name in logs, answers and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Overdue => "overdue",
            Self::Backlog => "backlog",
            Self::StaleClaim => "stale-claim",
            Self::NoEntry => "no-entry",
            Self::StrayEntry => "stray-entry",
            Self::Counters => "counters",
            Self::MissingPart => "missing-part",
            Self::Unreadable => "unreadable",
            Self::UnreadableRecord => "unreadable-record",
            Self::Ahead => "ahead",
            Self::ClockHeld => "clock-held",
            Self::ClockForward => "clock-forward",
            Self::ClockBack => "clock-back",
        }
    }

    /// Whether it is found by looking repeatedly rather than in one snapshot.
    pub fn is_lasting(self) -> bool {
        match self {
            Self::Overdue | Self::Backlog | Self::StaleClaim => true,
            Self::NoEntry
            | Self::StrayEntry
            | Self::Counters
            | Self::MissingPart
            | Self::Unreadable
            | Self::UnreadableRecord
            | Self::Ahead
            | Self::ClockHeld
            | Self::ClockForward
            | Self::ClockBack => false,
        }
    }
}

/// What a store has about one job, all from one snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// The job.
    pub job: JobId,
    /// Its key; none if its definition or its collection is missing.
    pub key: Option<JobKey>,
    /// Whether it has a definition.
    pub defined: bool,
    /// Whether its collection is enabled; none if that is missing.
    pub collection_enabled: Option<bool>,
    /// The members that are checked; none if they are missing.
    pub standing: Option<Standing>,
    /// Why a part of it can't be read; never a secret.
    pub unreadable: Option<String>,
    /// Records that can't be read: their sequence numbers, and why.
    pub unreadable_records: Vec<(i64, String)>,
    /// Whether it was claimed shortly before or after the snapshot, so that it is about to change.
    pub claimed: bool,
    /// The attempts in its history.
    pub history: HistoryEvidence,
}

/// The members of a job that are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Whether it has a future.
    pub state: JobState,
    /// Its generation.
    pub generation: u32,
    /// The time of the last PUT.
    pub put_at: Timestamp,
    /// The counters as stored.
    pub counters: Counters,
    /// What happens next.
    pub entry: Option<Entry>,
    /// The latest scheduled occurrence that was started or skipped.
    pub past_at: Option<Timestamp>,
    /// Incremented by each write.
    pub revision: i64,
}

impl Standing {
    /// Whether the whole history of its generation must be there, because none of it was deleted.
    pub fn has_whole_history(&self, pruned_before: Option<Timestamp>, capped: bool) -> bool {
        let young =
            |before: Timestamp| before.checked_add(CLOCK_SLACK).is_ok_and(|before| self.put_at >= before);
        !capped && pruned_before.is_none_or(young)
    }
}

/// The attempts in the history of a job's generation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HistoryEvidence {
    /// Some records may have been deleted, so nothing follows from the others.
    Pruned,
    /// There are more records than the inspector reads.
    Long,
    /// All records.
    Whole(Tally),
}

/// A violated invariant of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// What.
    pub kind: FindingKind,
    /// The values that violate it, for people; never a secret.
    pub detail: String,
}

/// The flaws of a job. If it is claimed, only missing and unreadable parts are reported: the rest is about to
/// change.
///
/// `now` is the time of the clock that the job runs by, if that is the real one. On a virtual clock no job is
/// ahead.
pub fn judge(evidence: &Evidence, now: Option<Timestamp>) -> Vec<Flaw> {
    let flaw = |kind, detail: String| Flaw { kind, detail };
    if let Some(detail) = &evidence.unreadable {
        return vec![flaw(FindingKind::Unreadable, detail.clone())];
    }
    let missing = |what: &str| vec![flaw(FindingKind::MissingPart, what.to_owned())];
    let standing = match (&evidence.standing, evidence.defined, evidence.collection_enabled) {
        (None, _, _) => return missing("its place on the agenda is missing"),
        (Some(_), false, _) => return missing("it has a place on the agenda and no definition"),
        (Some(_), true, None) => return missing("its collection is missing"),
        (Some(standing), true, Some(_)) => standing,
    };
    if evidence.claimed {
        return Vec::new();
    }
    let entry = judge_entry(standing, evidence.collection_enabled == Some(true));
    let counters = match &evidence.history {
        HistoryEvidence::Whole(tally) => judge_counters(standing, tally),
        HistoryEvidence::Pruned | HistoryEvidence::Long => None,
    };
    entry.into_iter().chain(counters).chain(now.and_then(|now| judge_time(standing, now))).collect()
}

/// Nothing can have happened later than now.
fn judge_time(standing: &Standing, now: Timestamp) -> Option<Flaw> {
    let latest_at = standing.past_at.max(Some(standing.put_at))?;
    (latest_at.duration_since(now) > decide::AHEAD_ALLOWANCE).then(|| Flaw {
        kind: FindingKind::Ahead,
        detail: format!("it has come up to {latest_at}, which is yet to come"),
    })
}

fn judge_entry(standing: &Standing, collection_enabled: bool) -> Option<Flaw> {
    let stray = |detail: String| Some(Flaw { kind: FindingKind::StrayEntry, detail });
    match (standing.state, standing.entry) {
        (JobState::Enabled, None) if collection_enabled => {
            Some(Flaw { kind: FindingKind::NoEntry, detail: "it is enabled and has no entry".to_owned() })
        }
        (_, Some(entry)) if !collection_enabled => {
            stray(format!("it has an entry due at {} while its collection is off", entry.due_at))
        }
        (state @ (JobState::Disabled | JobState::Completed | JobState::Faulted), Some(entry))
            if entry.cause == Cause::Schedule =>
        {
            stray(format!("it is {} and has an entry due at {}", name(state), entry.due_at))
        }
        (JobState::Enabled | JobState::Disabled | JobState::Completed | JobState::Faulted, _) => None,
    }
}

/// Compares counters with a whole history.
pub fn judge_counters(standing: &Standing, tally: &Tally) -> Option<Flaw> {
    let expected = tally.counters(standing.entry);
    let Counters { execution, failure, faulted } = standing.counters;
    (standing.counters != expected).then(|| Flaw {
        kind: FindingKind::Counters,
        detail: format!(
            "it counts {execution} executions, {failure} failures and {faulted} faulted, and its history has \
             {}, {} and {}",
            expected.execution, expected.failure, expected.faulted
        ),
    })
}

/// A condition that should end soon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// An entry is due and nobody has claimed it.
    Entry,
    /// A claim was made and not begun, and its entry was due some time ago.
    Held {
        /// How long ago, in real time; negative if it is yet to come.
        due_for: SignedDuration,
    },
    /// A claim in flight.
    InFlight,
}

/// What it means that a condition has lasted for some real time. `slots_full`: there is no free slot, or none
/// for the target.
pub fn judge_stage(
    stage: Stage,
    lasted: Duration,
    slots_full: bool,
    tolerance: Duration,
) -> Option<FindingKind> {
    if lasted < tolerance {
        return None;
    }
    match (stage, slots_full) {
        (Stage::Entry, false) => Some(FindingKind::Overdue),
        (Stage::InFlight, _) => Some(FindingKind::StaleClaim),
        // On a slow clock an entry that is due soon may be held for long.
        (Stage::Held { due_for }, _) if due_for.is_negative() || due_for.unsigned_abs() < tolerance => None,
        (Stage::Held { .. }, false) => Some(FindingKind::StaleClaim),
        (Stage::Entry | Stage::Held { .. }, true) => Some(FindingKind::Backlog),
    }
}

fn name(state: JobState) -> &'static str {
    match state {
        JobState::Enabled => "enabled",
        JobState::Disabled => "disabled",
        JobState::Completed => "completed",
        JobState::Faulted => "faulted",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CollectionKey, RecordStatus};

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + seconds).unwrap()
    }

    fn sound() -> Evidence {
        Evidence {
            job: JobId(7),
            key: Some(CollectionKey::new("s", "g", "c").job("j")),
            defined: true,
            collection_enabled: Some(true),
            standing: Some(Standing {
                state: JobState::Enabled,
                generation: 1,
                put_at: at(0),
                counters: Counters::default(),
                entry: Some(Entry::scheduled(at(60))),
                past_at: None,
                revision: 1,
            }),
            unreadable: None,
            unreadable_records: Vec::new(),
            claimed: false,
            history: HistoryEvidence::Whole(Tally::default()),
        }
    }

    fn kinds(change: impl FnOnce(&mut Evidence)) -> Vec<FindingKind> {
        let mut evidence = sound();
        change(&mut evidence);
        judge(&evidence, Some(at(0))).into_iter().map(|flaw| flaw.kind).collect()
    }

    fn standing(evidence: &mut Evidence) -> &mut Standing {
        evidence.standing.as_mut().unwrap()
    }

    #[test]
    fn a_sound_job_has_no_flaw_in_any_state() {
        assert_eq!(kinds(|_| {}), []);
        for state in [JobState::Disabled, JobState::Completed, JobState::Faulted] {
            let without = kinds(|evidence| {
                standing(evidence).state = state;
                standing(evidence).entry = None;
            });
            assert_eq!(without, [], "{state:?}");
            let with_run = kinds(|evidence| {
                standing(evidence).state = state;
                standing(evidence).entry = Some(Entry::run(at(1)));
            });
            assert_eq!(with_run, [], "a run of a job that is {state:?}");
        }
        let off = kinds(|evidence| {
            evidence.collection_enabled = Some(false);
            standing(evidence).entry = None;
        });
        assert_eq!(off, []);
    }

    #[test]
    fn each_invariant_can_fail() {
        use FindingKind::{Counters, MissingPart, NoEntry, StrayEntry, Unreadable};
        assert_eq!(kinds(|evidence| standing(evidence).entry = None), [NoEntry]);
        assert_eq!(kinds(|evidence| evidence.collection_enabled = Some(false)), [StrayEntry]);
        assert_eq!(kinds(|evidence| standing(evidence).state = JobState::Completed), [StrayEntry]);
        assert_eq!(kinds(|evidence| standing(evidence).counters.execution = 1), [Counters]);
        assert_eq!(kinds(|evidence| evidence.standing = None), [MissingPart]);
        assert_eq!(kinds(|evidence| evidence.defined = false), [MissingPart]);
        assert_eq!(kinds(|evidence| evidence.collection_enabled = None), [MissingPart]);
        assert_eq!(kinds(|evidence| evidence.unreadable = Some("x".into())), [Unreadable]);
        assert_eq!(kinds(|evidence| standing(evidence).past_at = Some(at(60))), []);
        assert_eq!(kinds(|evidence| standing(evidence).past_at = Some(at(61))), [FindingKind::Ahead]);
        assert_eq!(kinds(|evidence| standing(evidence).put_at = at(61)), [FindingKind::Ahead]);
        let both = kinds(|evidence| {
            standing(evidence).entry = None;
            standing(evidence).counters.failure = 1;
        });
        assert_eq!(both, [NoEntry, Counters]);
    }

    #[test]
    fn what_is_in_the_middle_of_something_is_left_alone() {
        let claimed = kinds(|evidence| {
            evidence.claimed = true;
            standing(evidence).entry = None;
            standing(evidence).counters.execution = 9;
        });
        assert_eq!(claimed, []);
        for history in [HistoryEvidence::Pruned, HistoryEvidence::Long] {
            let unknown = kinds(|evidence| {
                evidence.history = history;
                standing(evidence).counters.execution = 9;
            });
            assert_eq!(unknown, []);
        }
    }

    #[test]
    fn a_history_is_whole_if_nothing_of_its_generation_can_have_gone() {
        let standing = sound().standing.unwrap();
        assert!(standing.has_whole_history(None, false));
        assert!(!standing.has_whole_history(None, true));
        assert!(standing.has_whole_history(Some(at(-86_400)), false));
        assert!(!standing.has_whole_history(Some(at(-86_399)), false));
        assert!(!standing.has_whole_history(Some(Timestamp::MAX), false));
    }

    #[test]
    fn waits_are_judged_by_how_long_they_last_and_why() {
        use FindingKind::{Backlog, Overdue, StaleClaim};
        let tolerance = Duration::from_secs(120);
        let check = |stage, seconds, slots_full, expected| {
            let lasted = Duration::from_secs(seconds);
            assert_eq!(
                judge_stage(stage, lasted, slots_full, tolerance),
                expected,
                "{stage:?} {seconds} {slots_full}"
            );
        };
        let held = |seconds| Stage::Held { due_for: SignedDuration::from_secs(seconds) };
        check(Stage::Entry, 119, false, None);
        check(Stage::Entry, 120, false, Some(Overdue));
        check(Stage::Entry, 120, true, Some(Backlog));
        check(Stage::InFlight, 119, true, None);
        check(Stage::InFlight, 120, true, Some(StaleClaim));
        check(held(500), 119, false, None);
        check(held(500), 120, false, Some(StaleClaim));
        check(held(500), 120, true, Some(Backlog));
        check(held(-1), 500, false, None);
        check(held(119), 500, false, None);
    }

    #[test]
    fn counters_are_what_the_attempts_come_to() {
        let mut tally = Tally::default();
        let mut add = |ordinal, step, status| tally.add(RecordFacts { generation: 1, ordinal, step, status });
        let (done, failed) = (RecordStatus::Completed, RecordStatus::Failed);
        add(1, 0, failed);
        add(1, 0, done);
        add(2, 0, failed);
        add(2, 0, failed);
        add(2, 1, failed);
        add(2, 2, done);
        add(3, 0, RecordStatus::Postponed);
        add(3, 0, failed);
        let counters = |execution, failure, faulted| Counters { execution, failure, faulted };
        assert_eq!(tally.counters(None), counters(3, 4, 2));
        let again = Entry { ordinal: 3, attempt: 1, ..Entry::scheduled(at(0)) };
        assert_eq!(tally.counters(Some(again)), counters(3, 4, 1), "the third will be tried again");
        let error_action = Entry { ordinal: 3, step: 1, ..Entry::scheduled(at(0)) };
        assert_eq!(tally.counters(Some(error_action)), counters(3, 4, 2));
    }
}
