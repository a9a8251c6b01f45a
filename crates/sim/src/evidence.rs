//! What was seen of a real process, judged by the ledger of the simulator.
//!
//! A world tells the ledger of each step as it happens. From outside a process that is killed again and
//! again less is seen: what arrived at the receiver, what the API answered, and what it shows afterwards. Two
//! things stay unknown, and are the only tolerance there is:
//!
//! - the exact moment of a call: it is carried out at some instant between asking and answering, on the
//!   clock of the server; and with it the order of calls and attempts that come so close to one another;
//! - whether a call was carried out whose answer never came.
//!
//! So orders and instants are tried ([`path`]) until the ledger finds nothing wrong with one of them. If it
//! finds something wrong with each, that is a failure.

mod course;
mod path;
mod story;
#[cfg(test)]
mod tests;

use jiff::{SignedDuration, Timestamp};
use punctual_model::{Counters, JobKey, JobSpec, JobState, RecordStatus, SkipReason, Sku};

use self::course::course;
use self::path::find_path;
use crate::ledger::Sights;

/// All that was seen of a process and those that came after it on the same data.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// One after the other.
    pub lives: Vec<Life>,
    /// Each job that was ever made.
    pub jobs: Vec<JobEvidence>,
    /// How long a commit may take before others see it: calls and attempts that are closer to one another
    /// can have happened in either order.
    pub slack: SignedDuration,
}

/// From the start of a process to its end, on its clock, which never goes back from one to the next.
#[derive(Clone, Copy, Debug)]
pub struct Life {
    /// Not later than its first moment.
    pub from: Timestamp,
    /// Not earlier than its last moment.
    pub to: Timestamp,
    /// It was killed: what was in flight is not recorded.
    pub killed: bool,
}

/// What was seen of a job, from its creation to its deletion.
#[derive(Clone, Debug)]
pub struct JobEvidence {
    /// Which.
    pub key: JobKey,
    /// The plan of its collection.
    pub sku: Sku,
    /// All definitions that were asked for.
    pub specs: Vec<JobSpec>,
    /// What was asked, one after the other. The first is the PUT that made the job.
    pub asks: Vec<Ask>,
    /// What arrived at the receiver, in that order.
    pub deliveries: Vec<Delivery>,
    /// What its history shows at the end, in the order of writing; none if it was deleted.
    pub records: Option<Vec<Noted>>,
    /// What its history showed before.
    pub earlier_records: Vec<Noted>,
    /// The occurrences that are skipped, and why.
    pub skipped: Vec<(Timestamp, SkipReason)>,
    /// The occurrences that are shown as made, and whether as succeeded.
    pub made: Vec<(Timestamp, bool)>,
}

/// A call of the API.
#[derive(Clone, Debug)]
pub struct Ask {
    /// The index of the life that it was made in.
    pub life: usize,
    /// Not later than the moment at which it was carried out.
    pub from: Timestamp,
    /// Not earlier than that.
    pub to: Timestamp,
    /// What for.
    pub what: What,
    /// Whether it was answered; if not, it may have been carried out or not.
    pub answered: bool,
    /// What the answer shows.
    pub shown: Option<Sight>,
}

/// What is asked for. Definitions are indices of [`JobEvidence::specs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum What {
    Put(usize),
    Patch(usize),
    Run,
    Delete,
    Look,
}

/// What an answer shows of a job.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Sight {
    pub spec: usize,
    pub state: JobState,
    pub counters: Counters,
    pub last_started_at: Option<Timestamp>,
    pub next_at: Option<Timestamp>,
}

/// A request that arrived at the receiver.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// The index of the life that it was made in.
    pub life: usize,
    /// Not later than the moment at which the attempt began.
    pub from: Timestamp,
    /// Not earlier than that.
    pub to: Timestamp,
    /// The definition that it was made by.
    pub spec: usize,
    /// 0 for the main action, 1 to 5 for error actions.
    pub step: u8,
    /// Which attempt it says it is.
    pub attempt: u32,
    /// When it says it was expected, in whole seconds.
    pub expected_at: Timestamp,
    /// What it says that identifies it.
    pub tag: String,
    /// Whether the receiver answered that it succeeded.
    pub succeeds: bool,
}

/// A record as the history shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in a record")]
pub struct Noted {
    /// What tells it from all others, and grows.
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

/// What evidence came to.
#[derive(Debug, Default)]
pub struct Judgement {
    /// What is wrong; empty if nothing is.
    pub problems: Vec<String>,
    /// All that was seen of the first job with which something is wrong.
    pub story: Option<String>,
    /// What was seen.
    pub sights: Sights,
    /// Occurrences with an outcome: started or skipped.
    pub outcome_count: usize,
    /// Deliveries of attempts that had been delivered before.
    pub repeated_count: usize,
}

/// Judges all that was seen.
pub fn judge(evidence: &Evidence) -> Judgement {
    let mut judgement = Judgement::default();
    judgement.problems.extend(shared_tags(evidence));
    for job in &evidence.jobs {
        let name = &job.key.name;
        let course = match course(job, evidence) {
            Ok(course) => course,
            Err(problems) => {
                judgement.problems.extend(problems.into_iter().map(|problem| format!("{name}: {problem}")));
                judgement.story.get_or_insert_with(|| job.story(&evidence.lives));
                continue;
            }
        };
        judgement.repeated_count += course.repeated_count;
        match find_path(job, evidence, &course) {
            Ok(found) => {
                judgement.outcome_count += found.outcome_count;
                for (what, count) in found.sights {
                    *judgement.sights.entry(what).or_default() += count;
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
