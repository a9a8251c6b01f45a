//! What was seen of a real process, judged by the oracle of the simulator.
//!
//! A world reports each step to the oracle as it happens. Of a process that is killed again and again less is
//! seen from outside: what arrived at the receiver, what the API answered, and what it shows afterwards. Two
//! things stay unknown, and they are the only tolerance:
//!
//! - the exact instant of a call: it is carried out at some instant between request and answer, on the clock of
//!   the server; and so the order of calls and attempts that are close to one another;
//! - whether a call without an answer was carried out.
//!
//! So orders and instants are tried ([`path`]) until the oracle finds nothing wrong with one of them. If it
//! finds something wrong with each, that is a failure.

mod nodes;
mod path;
mod story;
#[cfg(test)]
mod tests;
mod timeline;

use jiff::{SignedDuration, Timestamp};
use punctual_model::{Counters, JobKey, JobSpec, JobState, RecordStatus, SkipReason, Sku};

pub use self::nodes::{judge_nodes, unrecorded};
use self::path::find_path;
use self::timeline::timeline;
use crate::oracle::Coverage;

/// All that was seen of a process and its successors on the same data.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// The processes, in order.
    pub lives: Vec<Life>,
    /// Each job that was ever created.
    pub jobs: Vec<JobEvidence>,
    /// How long a commit may take before others see it: calls and attempts that are closer to one another can
    /// have happened in either order.
    pub slack: SignedDuration,
}

/// A process from its start to its end, on its clock, which never goes back from one to the next.
#[derive(Clone, Copy, Debug)]
pub struct Life {
    /// Not later than its start.
    pub from: Timestamp,
    /// Not earlier than its end.
    pub to: Timestamp,
    /// It was killed: attempts in flight are not recorded.
    pub killed: bool,
}

/// What was seen of a job, from its creation to its deletion.
#[derive(Clone, Debug)]
pub struct JobEvidence {
    /// The key of the job.
    pub key: JobKey,
    /// The plan of its collection.
    pub sku: Sku,
    /// All definitions that were written.
    pub specs: Vec<JobSpec>,
    /// The calls, in order. The first is the PUT that created the job.
    pub calls: Vec<ApiCall>,
    /// The requests that arrived at the receiver, in order.
    pub deliveries: Vec<Delivery>,
    /// Its history at the end, in the order of writing; none if it was deleted.
    pub records: Option<Vec<SeenRecord>>,
    /// Records that its history showed earlier.
    pub earlier_records: Vec<SeenRecord>,
    /// The skipped occurrences, with the reason.
    pub skipped: Vec<(Timestamp, SkipReason)>,
    /// The occurrences that are shown as started, and whether as succeeded.
    pub made: Vec<(Timestamp, bool)>,
}

/// A call of the API.
#[derive(Clone, Debug)]
pub struct ApiCall {
    /// The index of the process that it was sent to.
    pub life: usize,
    /// Not later than when it was carried out.
    pub from: Timestamp,
    /// Not earlier than when it was carried out.
    pub to: Timestamp,
    /// What for.
    pub what: CallKind,
    /// Whether it was answered; if not, it may have been carried out or not.
    pub answered: bool,
    /// What the answer shows.
    pub shown: Option<JobView>,
}

/// The kinds of calls. Definitions are indices of [`JobEvidence::specs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum CallKind {
    Put(usize),
    Patch(usize),
    Run,
    Delete,
    Look,
}

/// What an answer shows of a job.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub struct JobView {
    pub spec: usize,
    pub state: JobState,
    pub counters: Counters,
    pub last_started_at: Option<Timestamp>,
    pub next_at: Option<Timestamp>,
}

/// A request that arrived at the receiver.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// The index of the process that sent it.
    pub life: usize,
    /// Not later than the start of the attempt.
    pub from: Timestamp,
    /// Not earlier than the start of the attempt.
    pub to: Timestamp,
    /// The definition that it was made by.
    pub spec: usize,
    /// 0 for the main action, 1 to 5 for error actions.
    pub step: u8,
    /// The attempt number that it has.
    pub attempt: u32,
    /// The expected time that it has, in whole seconds.
    pub expected_at: Timestamp,
    /// The execution tag that it has.
    pub tag: String,
    /// Whether the receiver answered with success.
    pub succeeds: bool,
}

/// A record as the history shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in a record")]
pub struct SeenRecord {
    /// Unique and ascending.
    pub sequence: i64,
    pub nominal_at: Timestamp,
    pub started_at: Timestamp,
    pub ended_at: Timestamp,
    pub status: RecordStatus,
    /// Whether it is of an error action.
    pub error_action: bool,
    pub attempt: u32,
    pub ordinal: u32,
}

/// The result of judging evidence.
#[derive(Debug, Default)]
pub struct Judgement {
    /// What is wrong; empty if nothing is.
    pub problems: Vec<String>,
    /// All that was seen of the first job with a problem.
    pub story: Option<String>,
    /// What was covered.
    pub coverage: Coverage,
    /// Occurrences with an outcome: started or skipped.
    pub outcome_count: usize,
    /// Deliveries of attempts that had been delivered before.
    pub repeated_count: usize,
}

/// Judges evidence.
pub fn judge(evidence: &Evidence) -> Judgement {
    let mut judgement = Judgement::default();
    judgement.problems.extend(shared_tags(evidence));
    for job in &evidence.jobs {
        let name = &job.key.name;
        let timeline = match timeline(job, evidence) {
            Ok(timeline) => timeline,
            Err(problems) => {
                judgement.problems.extend(problems.into_iter().map(|problem| format!("{name}: {problem}")));
                judgement.story.get_or_insert_with(|| job.story(&evidence.lives));
                continue;
            }
        };
        judgement.repeated_count += timeline.repeated_count;
        match find_path(job, evidence, &timeline) {
            Ok(found) => {
                judgement.outcome_count += found.outcome_count;
                for (what, count) in found.coverage {
                    *judgement.coverage.entry(what).or_default() += count;
                }
            }
            Err(problems) => {
                judgement.problems.extend(problems);
                judgement.story.get_or_insert_with(|| job.story(&evidence.lives));
            }
        }
    }
    judgement
}

/// A tag belongs to one step of one occurrence of one job.
fn shared_tags(evidence: &Evidence) -> Vec<String> {
    let mut owners = std::collections::HashMap::new();
    let mut problems = Vec::new();
    for (index, job) in evidence.jobs.iter().enumerate() {
        for delivery in &job.deliveries {
            let owner = (index, delivery.expected_at, delivery.step);
            if *owners.entry(delivery.tag.as_str()).or_insert(owner) != owner {
                problems
                    .push(format!("{}: {} has the tag of another: {delivery:?}", job.key.name, delivery.tag));
            }
        }
    }
    problems
}
