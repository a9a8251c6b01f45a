//! Right evidence is judged right, and wrong if anything about it is changed.

use jiff::{SignedDuration, Timestamp};
use punctual_model::{CollectionKey, Counters, JobState, RecordStatus, SkipReason, Sku};
use punctual_recurrence::{Frequency, Rule};

use super::{
    ApiCall, CallKind, Delivery, Evidence, JobEvidence, JobView, Judgement, Life, SeenRecord, judge,
    judge_nodes, unrecorded,
};
use crate::op::{Retry, Sketch, instant};

fn at(seconds: i64, millis: i64) -> Timestamp {
    instant(seconds) + SignedDuration::from_millis(millis)
}

/// A job that is due every minute from second 60 on, tried twice, with an error action.
fn job() -> JobEvidence {
    let sketch = Sketch {
        start: Some(60),
        every: None,
        count: None,
        end: None,
        on: true,
        retry: Retry::Fixed(15, 1),
        errors: 1,
    };
    let mut on = sketch.spec();
    on.recurrence = Some(Rule::every(1, Frequency::Minute));
    let mut off = on.clone();
    off.enabled = false;
    JobEvidence {
        key: CollectionKey::new("s", "g", "c").job("j"),
        sku: Sku::Standard,
        specs: vec![on, off],
        calls: Vec::new(),
        deliveries: Vec::new(),
        records: Some(Vec::new()),
        earlier_records: Vec::new(),
        skipped: Vec::new(),
        made: Vec::new(),
    }
}

impl JobEvidence {
    fn ask(&mut self, life: usize, second: i64, what: CallKind) -> &mut ApiCall {
        let (from, to) = (at(second, 0), at(second + 2, 0));
        self.calls.push(ApiCall { life, from, to, what, answered: true, shown: None });
        self.calls.last_mut().unwrap()
    }

    fn deliver(
        &mut self,
        life: usize,
        begun_at: Timestamp,
        due: Timestamp,
        (step, attempt): (u8, u32),
        succeeds: bool,
    ) {
        let tag = format!("{due} {step}");
        let (from, to) = (begun_at - SignedDuration::from_secs(1), begun_at + SignedDuration::from_secs(1));
        let expected_at = Timestamp::from_second(due.as_second()).unwrap();
        self.deliveries.push(Delivery { life, from, to, spec: 0, step, attempt, expected_at, tag, succeeds });
    }

    fn note(
        &mut self,
        begun_at: Timestamp,
        due: Timestamp,
        (step, attempt): (u8, u32),
        status: RecordStatus,
        ordinal: u32,
    ) {
        let records = self.records.as_mut().unwrap();
        let sequence = records.len() as i64;
        let (nominal_at, error_action) = (due, step > 0);
        let ended_at = begun_at + SignedDuration::from_millis(300);
        let (started_at, ended_at) =
            if status == RecordStatus::Postponed { (due, begun_at) } else { (begun_at, ended_at) };
        records.push(SeenRecord {
            sequence,
            nominal_at,
            started_at,
            ended_at,
            status,
            error_action,
            attempt,
            ordinal,
        });
    }

    /// An attempt that arrived and was recorded.
    fn attempt(
        &mut self,
        life: usize,
        begun_at: Timestamp,
        due: Timestamp,
        step: (u8, u32),
        ordinal: u32,
        succeeds: bool,
    ) {
        self.deliver(life, begun_at, due, step, succeeds);
        let status = if succeeds { RecordStatus::Completed } else { RecordStatus::Failed };
        self.note(begun_at, due, step, status, ordinal);
    }
}

/// A process that is killed in the middle of the third occurrence, and the one after it.
fn right() -> Evidence {
    let mut job = job();
    job.ask(0, 1, CallKind::Put(0));
    job.attempt(0, at(60, 10), at(60, 0), (0, 0), 1, true);
    job.attempt(0, at(120, 10), at(120, 0), (0, 0), 2, false);
    job.attempt(0, at(135, 400), at(120, 0), (0, 1), 2, false);
    job.attempt(0, at(135, 701), at(120, 0), (1, 0), 2, true);
    job.deliver(0, at(180, 20), at(180, 0), (0, 0), true);
    // It is down from second 181 to second 190, and the attempt is made again.
    job.attempt(1, at(190, 0), at(180, 0), (0, 0), 3, true);
    // A run, which nobody was told of, and an occurrence that waits behind it.
    job.ask(1, 230, CallKind::Run).answered = false;
    job.deliver(1, at(239, 900), at(231, 5), (0, 0), true);
    job.note(at(239, 900), at(231, 5), (0, 0), RecordStatus::Completed, 4);
    job.note(at(240, 200), at(240, 0), (0, 0), RecordStatus::Postponed, 5);
    job.attempt(1, at(240, 300), at(240, 0), (0, 0), 5, true);
    // It is killed, and two are missed.
    job.skipped = vec![(at(300, 0), SkipReason::Missed), (at(360, 0), SkipReason::Missed)];
    job.attempt(2, at(430, 0), at(420, 0), (0, 0), 6, true);
    job.made = vec![
        (at(60, 0), true),
        (at(120, 0), false),
        (at(180, 0), true),
        (at(240, 0), true),
        (at(420, 0), true),
    ];
    let counters = Counters { execution: 6, failure: 2, faulted: 1 };
    let last_started_at = Some(at(430, 0));
    let view = JobView { spec: 1, state: JobState::Disabled, counters, last_started_at, next_at: None };
    // Within these two seconds one comes due, and is skipped or not.
    job.ask(2, 479, CallKind::Patch(1));
    job.ask(2, 500, CallKind::Look).shown = Some(view);
    let life = |from, to, killed| Life { from: at(from, 0), to: at(to, 0), killed };
    let lives = vec![life(0, 181, true), life(190, 290, true), life(425, 510, false)];
    Evidence { lives, jobs: vec![job], slack: SignedDuration::from_millis(100) }
}

fn problems(change: impl FnOnce(&mut Evidence)) -> Vec<String> {
    let mut evidence = right();
    change(&mut evidence);
    judge(&evidence).problems
}

fn records(evidence: &mut Evidence) -> &mut Vec<SeenRecord> {
    evidence.jobs[0].records.as_mut().unwrap()
}

#[test]
fn what_is_right_is_found_right() {
    let Judgement { problems, outcome_count, repeated_count, coverage, .. } = judge(&right());
    assert_eq!(problems, Vec::<String>::new());
    assert_eq!((outcome_count, repeated_count), (8, 1));
    assert_eq!(coverage.get("a run was made"), Some(&1));
    assert_eq!(problems_of_edge(true), Vec::<String>::new());
}

/// An occurrence comes due at about the moment of an edit: it may be skipped or not.
fn problems_of_edge(skipped: bool) -> Vec<String> {
    problems(|evidence| {
        if skipped {
            evidence.jobs[0].skipped.push((at(480, 0), SkipReason::Missed));
        }
    })
}

#[test]
fn whatever_is_wrong_is_found() {
    let mut unfound = Vec::new();
    let mut check = |what: &str, expected: &str, change: fn(&mut Evidence)| {
        let found = problems(change);
        if !found.iter().any(|problem| problem.contains(expected)) {
            unfound.push(format!("{what}: {found:?}"));
        }
    };
    check("a delivery never came", "was settled before it was fired", |evidence| {
        evidence.jobs[0].deliveries.remove(0);
    });
    check("a retry never came", "was settled before it was fired", |evidence| {
        evidence.jobs[0].deliveries.remove(2);
    });
    check("an attempt is recorded twice", "two records", |evidence| {
        let job = &mut evidence.jobs[0];
        let twice = SeenRecord { sequence: 100, ..job.records.as_ref().unwrap()[0].clone() };
        job.records.as_mut().unwrap().push(twice);
    });
    check("a record is lost", "has lost", |evidence| {
        let lost = records(evidence).remove(0);
        evidence.jobs[0].earlier_records.push(lost);
    });
    check("a record is missing", "claimed while it is claimed", |evidence| {
        records(evidence).remove(1);
    });
    check("a counter is off by one", "counts", |evidence| {
        evidence.jobs[0].calls[3].shown.as_mut().unwrap().counters.execution += 1;
    });
    check("an ordinal is off by one", "ordinal", |evidence| records(evidence)[3].ordinal += 1);
    check("failures are not counted", "counts", |evidence| {
        evidence.jobs[0].calls[3].shown.as_mut().unwrap().counters.failure = 0;
    });
    check("something is repeated without a crash", "was fired again", |evidence| {
        let again = evidence.jobs[0].deliveries[0].clone();
        evidence.jobs[0].deliveries.insert(1, again);
    });
    check("something settled is repeated after a crash", "was fired again", |evidence| {
        let mut again = evidence.jobs[0].deliveries[0].clone();
        (again.life, again.from, again.to) = (2, at(425, 0), at(426, 0));
        evidence.jobs[0].deliveries.push(again);
    });
    check("a repetition has another tag", "is not that of its occurrence", |evidence| {
        evidence.jobs[0].deliveries[5].tag = "another".into();
    });
    check("two occurrences have one tag", "has the tag of another", |evidence| {
        let job = &mut evidence.jobs[0];
        job.deliveries[1].tag = job.deliveries[0].tag.clone();
    });
    check("an occurrence has no outcome", "has no outcome", |evidence| {
        evidence.jobs[0].skipped.remove(0);
    });
    check("another reason is given", "did not overlap", |evidence| {
        evidence.jobs[0].skipped[0].1 = SkipReason::Overlap;
    });
    check("something is skipped that was made", "but the next occurrence is", |evidence| {
        evidence.jobs[0].skipped.push((at(240, 0), SkipReason::Missed));
    });
    check("something is skipped that never was", "is no occurrence", |evidence| {
        evidence.jobs[0].skipped.push((at(365, 0), SkipReason::Missed));
    });
    check("something is skipped while the job is off", "was not to be", |evidence| {
        evidence.jobs[0].skipped.push((at(540, 0), SkipReason::Missed));
    });
    check("an attempt is early", "before its time", |evidence| {
        let early = at(59, 900);
        records(evidence)[0].started_at = early;
        evidence.jobs[0].deliveries[0].from = early;
    });
    check("a retry is early", "before its time", |evidence| {
        records(evidence)[2].started_at = at(135, 0);
        evidence.jobs[0].deliveries[2].from = at(134, 0);
    });
    check("an answer is recorded as another", "is recorded of", |evidence| {
        records(evidence)[0].status = RecordStatus::Failed;
    });
    check("a retry is left out", "comes first", |evidence| {
        evidence.jobs[0].deliveries.drain(2..4);
        records(evidence).drain(2..4);
    });
    check("an error action is left out", "comes first", |evidence| {
        evidence.jobs[0].deliveries.remove(3);
        records(evidence).remove(3);
    });
    check("a postponed occurrence is not told of", "waited", |evidence| {
        records(evidence).retain(|record| record.status != RecordStatus::Postponed);
    });
    check("a run that was accepted is not made", "never made", |evidence| {
        evidence.jobs[0].ask(2, 490, CallKind::Run);
    });
    check("a run is made that nobody asked for", "nobody asked for", |evidence| {
        evidence.jobs[0].calls[1].what = CallKind::Look;
        evidence.jobs[0].ask(2, 499, CallKind::Run);
    });
    check("a write that was acknowledged is not there", "it must be", |evidence| {
        evidence.jobs[0].calls[3].shown.as_mut().unwrap().spec = 0;
    });
    check("a job that is off is fired", "while the job was off", |evidence| {
        let job = &mut evidence.jobs[0];
        job.attempt(2, at(485, 0), at(480, 0), (0, 0), 7, true);
    });
    check("another definition is used", "another definition", |evidence| {
        let job = &mut evidence.jobs[0];
        let mut other = job.specs[0].clone();
        other.action.error_action = None;
        job.specs.push(other);
        job.deliveries[0].spec = 2;
    });
    check("a graceful stop loses what was in flight", "lost", |evidence| evidence.lives[0].killed = false);
    check("an occurrence is shown as failed that was not", "is shown", |evidence| {
        evidence.jobs[0].made[0].1 = false;
    });
    check("an occurrence is not shown", "is shown", |evidence| {
        evidence.jobs[0].made.pop();
    });
    check("what was released is a newer one", "waited", |evidence| {
        let postponed = records(evidence).iter_mut().find(|record| record.status == RecordStatus::Postponed);
        let postponed = postponed.unwrap();
        (postponed.nominal_at, postponed.started_at) = (at(300, 0), at(300, 0));
    });
    assert!(unfound.is_empty(), "{unfound:#?}");
}

#[test]
fn a_call_without_an_answer_may_have_been_carried_out_or_not() {
    for carried_out in [true, false] {
        let found = problems(|evidence| {
            let job = &mut evidence.jobs[0];
            // The life is over before it is answered; what the next one shows tells.
            job.calls[2].answered = false;
            let shown = job.calls[3].shown.as_mut().unwrap();
            if !carried_out {
                (shown.spec, shown.state, shown.next_at) = (0, JobState::Enabled, Some(at(480, 0)));
                job.calls[3].to = at(485, 0);
                job.ask(2, 501, CallKind::Patch(1));
                job.skipped.push((at(480, 0), SkipReason::Missed));
            }
        });
        assert_eq!(found, Vec::<String>::new(), "carried out: {carried_out}");
    }
}

#[test]
fn a_deleted_job_is_fired_no_more() {
    let deleted = |fired_at: i64| {
        problems(|evidence| {
            let job = &mut evidence.jobs[0];
            job.calls.truncate(1);
            job.ask(0, 150, CallKind::Delete);
            job.deliveries.retain(|delivery| delivery.expected_at <= at(fired_at, 0) && delivery.life == 0);
            (job.records, job.skipped) = (None, Vec::new());
        })
    };
    assert_eq!(deleted(120), Vec::<String>::new());
    assert!(deleted(180)[0].contains("is not there and was fired"), "{:?}", deleted(180));
}

/// The same as if it had been seen of several nodes: nobody can tell which of them did what.
fn of_nodes(change: impl FnOnce(&mut JobEvidence)) -> Judgement {
    let mut evidence = right();
    evidence.lives = vec![Life { from: at(0, 0), to: at(510, 0), killed: false }];
    let job = &mut evidence.jobs[0];
    job.calls.iter_mut().for_each(|call| call.life = 0);
    job.deliveries.iter_mut().for_each(|delivery| delivery.life = 0);
    change(job);
    judge_nodes(&evidence)
}

#[test]
fn of_several_nodes_only_what_was_never_recorded_may_be_repeated() {
    let right = of_nodes(|job| assert_eq!(unrecorded(job), [4]));
    assert_eq!(right.problems, Vec::<String>::new());
    assert_eq!((right.outcome_count, right.repeated_count), (8, 1));
    let found = |expected: &str, change: fn(&mut JobEvidence)| {
        let problems = of_nodes(change).problems;
        assert!(problems.iter().any(|problem| problem.contains(expected)), "{expected}: {problems:?}");
    };
    found("was fired again", |job| {
        let mut again = job.deliveries[0].clone();
        (again.from, again.to) = (at(70, 0), at(71, 0));
        job.deliveries.insert(1, again);
    });
    found("is not that of its occurrence", |job| job.deliveries[5].tag = "another".into());
    found("was settled before it was fired", |job| drop(job.deliveries.remove(0)));
    found("has no outcome", |job| job.skipped.truncate(1));
    found("counts", |job| job.calls[3].shown.as_mut().unwrap().counters.execution += 1);
    found("before its time", |job| job.records.as_mut().unwrap()[0].started_at = at(59, 900));
}

#[test]
fn what_a_silent_node_has_claimed_may_be_shown_as_in_flight_there() {
    let looked = |next: i64, settled: bool| {
        let seen = of_nodes(|job| {
            let counters = Counters { execution: 2 + u32::from(settled), failure: 2, faulted: 1 };
            let last_started_at = Some(if settled { at(190, 0) } else { at(120, 10) });
            let next_at = Some(at(next, 0));
            let view = JobView { spec: 0, state: JobState::Enabled, counters, last_started_at, next_at };
            job.ask(0, 184, CallKind::Look).shown = Some(view);
            let mut look = job.calls.pop().unwrap();
            if settled {
                look.to = at(195, 0);
            }
            job.calls.insert(1, look);
        });
        seen.problems
    };
    for (next, settled) in [(180, false), (240, false), (240, true)] {
        assert_eq!(looked(next, settled), Vec::<String>::new(), "{next} {settled}");
    }
    for (next, settled) in [(300, false), (180, true), (300, true)] {
        let problems = looked(next, settled);
        assert!(problems.iter().any(|problem| problem.contains("as its next time")), "{problems:?}");
    }
}
