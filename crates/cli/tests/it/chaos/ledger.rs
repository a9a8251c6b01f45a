//! What was seen, judged; and how long it took others to take over.

use std::collections::HashMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use punctual_sim::evidence::{self, CallKind, Delivery, Evidence, JobEvidence, Life};

use super::fault::Fault;
use super::{Caller, Kind};
use crate::crash::Clock;

/// How long a request may be on its way, on a machine that does all of this at once.
const ON_ITS_WAY: SignedDuration = SignedDuration::from_secs(2);

/// How far the clocks of nodes, taken from the database's, may differ from ours.
const CLOCKS: SignedDuration = SignedDuration::from_millis(20);

/// How long a request may arrive after the acknowledgement of an edit that it does not know: a second is promised, and
/// another is for the machine.
const AFTER_EDIT: SignedDuration = SignedDuration::from_secs(2);

/// How close to a fault something without a record must be. Outcomes wait for the database, and a lease is gone some
/// seconds after the node is.
const NEAR: Duration = Duration::from_secs(6);

/// All that was seen.
pub(super) struct Ledger {
    clock: Clock,
    faults: Vec<Fault>,
    evidence: Evidence,
}

/// Reads whatever can be seen of the jobs of a caller.
pub(super) fn collect(caller: &mut Caller, address: &str) {
    let Caller { load, receiver } = caller;
    let (from, end) = (load.evidence.lives[0].from, load.clock.now());
    for hit in receiver.hits() {
        let to = load.clock.at(hit.arrived);
        load.note_delivery(&hit, 0, to - ON_ITS_WAY, to);
    }
    load.collect_history(address, from, end);
}

impl Ledger {
    pub(super) fn new(clock: Clock, faults: Vec<Fault>) -> Self {
        Self { clock, faults, evidence: Evidence::default() }
    }

    pub(super) fn add(&mut self, caller: Caller) {
        let seen = caller.load.evidence;
        self.evidence.slack = seen.slack;
        let to = self.clock.now();
        self.evidence.lives = vec![Life { from: seen.lives[0].from, to, killed: false }];
        for mut job in seen.jobs {
            for call in &mut job.calls {
                (call.from, call.to) = (call.from - CLOCKS, call.to + CLOCKS);
            }
            job.deliveries.iter_mut().for_each(|delivery| delivery.to += CLOCKS);
            // What was never made was never fired.
            assert!(!job.calls.is_empty() || job.deliveries.is_empty(), "{}", job.key.name);
            if !job.calls.is_empty() {
                self.evidence.jobs.push(job);
            }
        }
    }

    /// Says what was seen, and what is wrong with it.
    pub(super) fn judge(&mut self) -> Vec<String> {
        let woken = self.take_woken();
        let judgement = evidence::judge_nodes(&self.evidence);
        let jobs = &self.evidence.jobs;
        let deliveries: usize = jobs.iter().map(|job| job.deliveries.len()).sum();
        let calls: usize = jobs.iter().map(|job| job.calls.len()).sum();
        let unanswered = jobs.iter().flat_map(|job| &job.calls).filter(|ask| !ask.answered).count();
        println!(
            "{} faults: {} jobs, {calls} calls of which {unanswered} were not answered, {deliveries} requests of which {} \
             were repeated and {woken} sent by a node that woke up, {} occurrences accounted for",
            self.faults.len(),
            jobs.len(),
            judgement.repeated_count,
            judgement.outcome_count
        );
        for (what, count) in &judgement.coverage {
            println!("{count:8} times {what}");
        }
        self.print_takeovers();
        let mut problems = judgement.problems;
        problems.extend(jobs.iter().flat_map(|job| self.unexplained(job)));
        problems.extend(late_for_edits(jobs));
        if let Some(story) = judgement.story {
            println!("\n{story}");
        }
        problems
    }

    /// Takes out what a node sent that was stopped right before the first byte, when it woke up: others had done it
    /// meanwhile. No lease can prevent that.
    fn take_woken(&mut self) -> usize {
        let frozen = self.faults.iter().filter(|fault| matches!(fault.kind, Kind::Freeze(_)));
        let frozen: Vec<(Timestamp, Timestamp)> =
            frozen.map(|fault| (self.clock.at(fault.from), self.clock.at(fault.to))).collect();
        let mut count = 0;
        for job in &mut self.evidence.jobs {
            for index in evidence::unrecorded(job).into_iter().rev() {
                let late = &job.deliveries[index];
                let before = |other: &&Delivery| (&other.tag, other.attempt) == (&late.tag, late.attempt);
                let done = job.deliveries[..index].iter().any(|other| before(&other));
                if done && frozen.iter().any(|(from, to)| *from <= late.to && late.to <= *to) {
                    job.deliveries.remove(index);
                    count += 1;
                }
            }
        }
        count
    }

    /// What has no record, though nothing failed at that time.
    fn unexplained(&self, job: &JobEvidence) -> Vec<String> {
        let near = |at: Timestamp| {
            self.faults.iter().any(|fault| {
                let (from, to) = (fault.from.checked_sub(NEAR).unwrap_or(fault.from), fault.to + NEAR);
                self.clock.at(from) <= at && at <= self.clock.at(to)
            })
        };
        let lost = evidence::unrecorded(job).into_iter().map(|index| &job.deliveries[index]);
        lost.filter(|delivery| !near(delivery.to))
            .map(|delivery| format!("{}: has no record, and nothing failed: {delivery:?}", job.key.name))
            .collect()
    }

    /// How late the last steady job was that was due when a node had fallen silent, or was in flight.
    fn print_takeovers(&self) {
        let mut longest = Vec::new();
        for fault in self.faults.iter().filter(|fault| fault.kind.is_taken_over()) {
            let failed = self.clock.at(fault.from);
            let mut firsts: HashMap<&str, Timestamp> = HashMap::new();
            let mut delay = SignedDuration::ZERO;
            let steady =
                self.evidence.jobs.iter().filter(|job| {
                    ["steady", "slow"].iter().any(|name| job.key.name.as_str().starts_with(name))
                });
            for delivery in steady.flat_map(|job| &job.deliveries) {
                let first = *firsts.entry(&delivery.tag).or_insert(delivery.to);
                let was_due = delivery.expected_at + SignedDuration::from_secs(1) >= failed
                    && delivery.expected_at <= failed + SignedDuration::from_secs(6);
                // What came before it failed, and only once, was not concerned.
                let concerned =
                    was_due && (delivery.to > failed && (first == delivery.to || first <= failed));
                if concerned {
                    delay = delay.max(delivery.to.duration_since(failed.max(delivery.expected_at)));
                }
            }
            println!("{:?}: the last was taken over after {:.1?}", fault.kind, delay.unsigned_abs());
            longest.push(delay.unsigned_abs());
        }
        longest.sort_unstable();
        if let (Some(last), Some(middle)) = (longest.last(), longest.get(longest.len() / 2)) {
            println!("taken over {} times, p50 {middle:.1?}, max {last:.1?}", longest.len());
        }
    }
}

/// What arrived too long after the acknowledgement of an edit that it did not know.
fn late_for_edits(jobs: &[JobEvidence]) -> Vec<String> {
    let mut problems = Vec::new();
    let mut latest = SignedDuration::ZERO;
    for job in jobs {
        for call in job.calls.iter().filter(|call| call.answered) {
            let replaced = |delivery: &&Delivery| match call.what {
                CallKind::Put(spec) | CallKind::Patch(spec) => delivery.spec < spec,
                CallKind::Delete => true,
                CallKind::Run | CallKind::Look => false,
            };
            for delivery in job.deliveries.iter().filter(replaced) {
                let after = delivery.to.duration_since(call.to);
                latest = latest.max(after);
                if after > AFTER_EDIT {
                    let name = &job.key.name;
                    problems.push(format!("{name}: came {after:?} after {:?} held: {delivery:?}", call.what));
                }
            }
        }
    }
    println!(
        "the latest request of a replaced definition came {:.3?} after the acknowledgement",
        latest.unsigned_abs()
    );
    problems
}
