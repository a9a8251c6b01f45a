//! `GET /doctor`: what the inspector has found, for people and machines.

use std::time::Duration;

use jiff::Timestamp;
use punctual_arm::{ApiError, id, time};
use punctual_model::Chain;
use punctual_model::inspect::{
    Census, DueEntry, FaultedJob, Finding, FindingKind, KindCount, Pass, Report, Subject,
};
use serde::{Deserialize, Serialize};

use crate::answer::Answer;
use crate::state::ApiState;

/// The health of a store, as JSON.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Checkup {
    /// `healthy`, `findings`, `trouble` (a task of the server has ended, the store can't be read or written, or it
    /// has a problem as a whole), or `off` (there is no inspector).
    pub status: String,
    /// The version of the program.
    pub version: String,
    /// The version of the store's schema, if it is known.
    pub schema_version: Option<u32>,
    /// The time now, by the schedule's clock.
    pub time: String,
    /// How many jobs there are now; none if the store could not count in time.
    #[serde(default)]
    pub jobs: Option<Jobs>,
    /// The connections of callers; none if nobody serves any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<Connections>,
    /// The progress of the inspector.
    pub scan: Scan,
    /// The unclaimed entry that has been due for longest.
    pub oldest_due: Option<OldestDue>,
    /// What is wrong with the server or the store as a whole: sentences that say what to do.
    #[serde(default)]
    pub problems: Vec<String>,
    /// The kinds of findings: how many there are, and what they mean.
    pub kinds: Vec<Kind>,
    /// The open findings.
    pub findings: Vec<FindingView>,
}

/// How many jobs there are now.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Jobs {
    /// How many.
    pub count: u64,
    /// How many of them have failed for good; counted up to 10,000.
    pub faulted_count: u64,
    /// The latest of those.
    pub faulted: Vec<Faulted>,
}

/// The connections of callers.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Connections {
    /// How many are open now.
    pub open: usize,
    /// How many may be open at once.
    pub max: usize,
    /// How many were closed since the start because there were too many.
    pub refused_count: u64,
}

/// A job that has failed for good.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Faulted {
    /// The id of the job.
    pub job_id: i64,
    /// Its resource id.
    pub job: String,
    /// Since when.
    pub ended_at: String,
}

/// The progress of the inspector.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Scan {
    /// The progress of the pass under way, from 0 to 1.
    pub progress: Option<f64>,
    /// The number of complete passes.
    pub pass_count: u64,
    /// When the last one ended.
    pub last_pass_ended_at: Option<String>,
    /// How long it took, in real seconds.
    pub last_pass_seconds: Option<f64>,
    /// The number of jobs of the last pass.
    pub job_count: Option<u64>,
    /// Why the store can't be read, if it can't.
    pub trouble: Option<String>,
}

/// An entry that is due.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OldestDue {
    /// The id of its job.
    pub job_id: i64,
    /// Since when.
    pub due_at: String,
    /// For how long, in seconds of the schedule's clock.
    pub seconds: f64,
}

/// A kind of finding.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Kind {
    /// Its name.
    pub kind: String,
    /// How many are open now.
    pub open: u64,
    /// How many there were since the start.
    pub total: u64,
    /// What it means.
    pub meaning: String,
    /// What to do.
    pub advice: String,
}

/// A finding.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FindingView {
    /// The name of its kind.
    pub kind: String,
    /// The id of the job; none if it is not about one.
    pub job_id: Option<i64>,
    /// The resource id of the job, if it is about one and the id is known.
    pub job: Option<String>,
    /// The resource id of the collection or group, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// The sequence number of the record, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<i64>,
    /// The values that violate the invariant.
    pub detail: String,
    /// When it was found, by the schedule's clock.
    pub found_at: String,
}

impl Checkup {
    /// The checkup of a report and a census at an instant.
    pub fn new(report: &Report, census: Option<&Census>, now: Timestamp) -> Self {
        let status = match report {
            Report { failure: Some(_), .. } | Report { outage: Some(_), .. } => "trouble",
            Report { enabled: false, .. } => "off",
            Report { trouble: Some(_), .. } => "trouble",
            Report { problems, .. } if !problems.is_empty() => "trouble",
            Report { counts, .. } if counts.iter().any(|count| count.open > 0) => "findings",
            Report { .. } => "healthy",
        };
        Self {
            status: status.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            schema_version: report.schema_version,
            time: time::instant(now),
            jobs: census.map(Jobs::new),
            connections: None,
            scan: Scan::new(report),
            oldest_due: report.oldest_due.map(|due| OldestDue::new(due, now)),
            problems: problems(report),
            kinds: report.counts.iter().map(Kind::new).collect(),
            findings: report.findings.iter().map(FindingView::new).collect(),
        }
    }
}

fn problems(report: &Report) -> Vec<String> {
    let failure = report.failure.as_ref().map(|failure| {
        format!(
            "The server stops after an internal error: {failure}. Start it anew; whatever supervises it should do \
             that when its exit code is not 0. The log has more; please report it."
        )
    });
    let outage = report.outage.as_ref().map(|why| {
        format!(
            "Nothing can be written in the data directory: {why}. What is due waits, and so does the record of what \
             was fired. Free some space, or repair the disk; a server that runs goes on by itself then."
        )
    });
    failure.into_iter().chain(outage).chain(report.problems.iter().cloned()).collect()
}

impl Jobs {
    fn new(census: &Census) -> Self {
        let faulted = |one: &FaultedJob| Faulted {
            job_id: one.job.0,
            job: id::job(&one.key),
            ended_at: time::instant(one.ended_at),
        };
        Self {
            count: census.job_count,
            faulted_count: census.faulted_count,
            faulted: census.faulted.iter().map(faulted).collect(),
        }
    }
}

impl Scan {
    fn new(report: &Report) -> Self {
        let last: Option<Pass> = report.last_pass;
        Self {
            progress: report.progress,
            pass_count: report.pass_count,
            last_pass_ended_at: last.map(|pass| time::instant(pass.ended_at)),
            last_pass_seconds: last.map(|pass| pass.took.as_secs_f64()),
            job_count: last.map(|pass| pass.job_count),
            trouble: report.trouble.clone(),
        }
    }
}

impl OldestDue {
    fn new(due: DueEntry, now: Timestamp) -> Self {
        let seconds = now.duration_since(due.due_at).as_secs_f64();
        Self { job_id: due.job.0, due_at: time::instant(due.due_at), seconds }
    }
}

impl Kind {
    fn new(count: &KindCount) -> Self {
        let (meaning, advice) = explain(count.kind);
        Self {
            kind: count.kind.name().to_owned(),
            open: count.open,
            total: count.total,
            meaning: meaning.to_owned(),
            advice: advice.to_owned(),
        }
    }
}

impl FindingView {
    fn new(finding: &Finding) -> Self {
        let (resource, record) = match &finding.subject {
            Subject::Job(_) | Subject::Clock => (None, None),
            Subject::Group(key) => (Some(id::group(key)), None),
            Subject::Collection(key) => (Some(id::collection(key)), None),
            Subject::Record(_, sequence) => (None, Some(*sequence)),
        };
        Self {
            kind: finding.kind.name().to_owned(),
            job_id: finding.subject.job().map(|job| job.0),
            job: finding.key.as_ref().map(id::job),
            resource,
            record,
            detail: finding.detail.clone(),
            found_at: time::instant(finding.found_at),
        }
    }
}

/// The meaning of a kind of finding, and what to do.
fn explain(kind: FindingKind) -> (&'static str, &'static str) {
    match kind {
        FindingKind::Overdue => (
            "The job is due, and the server does not fire it though it has room to.",
            "Look for errors in the server's log. A restart is safe: it reads the agenda anew.",
        ),
        FindingKind::Backlog => (
            "The job is due and waits, because its target, its collection or the whole server is busy.",
            "See whether the targets answer slowly. Raise runner.slots_per_target, runner.slots_per_collection or \
             runner.slots, or spread the jobs over time.",
        ),
        FindingKind::StaleClaim => (
            "The job was taken to be fired and came to no end, though no attempt takes that long.",
            "Look for errors about it in the server's log, such as a definition that can't be read (delete the \
             job and create it anew). A restart releases it; then it is fired again with the same execution tag.",
        ),
        FindingKind::NoEntry => (
            "The job is enabled and has no next time: it will not run.",
            "Disable and enable the job, or PUT it again: that gives it its next time.",
        ),
        FindingKind::StrayEntry => (
            "The job has a next time, though it or its collection is off, or it has ended: it may fire when it \
             must not.",
            "Switch the job or its collection on and off again; delete the job if it has ended.",
        ),
        FindingKind::Counters => (
            "The executions and failures that the job counts are not those of its history.",
            "The job goes on; if its recurrence has a count, it may end too early or too late. PUT it again to \
             begin new counters.",
        ),
        FindingKind::MissingPart => (
            "A part of what is stored of the job is missing: it can't be shown and does not run.",
            "Stop the server and restore the data directory from a backup; other jobs are not touched by this.",
        ),
        FindingKind::Ahead => (
            "The job has run, or was written, at a time that is yet to come, because the clock was ahead: it would \
             be silent until then.",
            "A server that runs puts such jobs back to the clock when it starts, after the clock was set back, and \
             every hour. If this stays, look for errors in its log.",
        ),
        FindingKind::ClockHeld => (
            "The machine's clock went forward by more than a minute, and no suspension explains it. Nothing fires \
             for clock.hold_seconds, in case it is a mistake.",
            "If the new time is right, do nothing. If it is wrong, set the clock back now, and nothing has happened.",
        ),
        FindingKind::ClockForward => (
            "The machine's clock went forward by more than a minute: of each job, the newest occurrence that came due \
             in between was fired, the others were skipped as missed. This is told for a day.",
            "If the new time is right, do nothing; see that NTP runs. If it is wrong, set the clock back: jobs then \
             go on from the corrected time. Until tomorrow no history is deleted for being old by the new time.",
        ),
        FindingKind::ClockBack => (
            "The machine's clock went back. Jobs that had come further than it go on from the corrected time; what \
             they had fired is not fired again. This is told for a day.",
            "See that NTP runs. The occurrences of a job show what was fired while the clock was ahead (reason clock).",
        ),
        FindingKind::Unreadable => (
            "What is stored of a job, a collection or a group can't be read. Lists leave it out, and such a job does \
             not run.",
            "Delete it and create it anew. If there are several, the disk may be damaged: stop the server and \
             restore the data directory from a backup.",
        ),
        FindingKind::UnreadableRecord => (
            "A record of the job's history can't be read. Lists leave it out; the job itself runs on.",
            "The record goes with its age or with its job. If there are several, the disk may be damaged: stop the \
             server and restore the data directory from a backup.",
        ),
    }
}

/// The most faulted jobs that are named.
pub const FAULTED_NAMED: usize = 5;

/// How long the store may take to count. A hanging store is what doctor is asked about.
const CENSUS_TIME_MAX: Duration = Duration::from_secs(2);

pub(crate) async fn get(state: &ApiState) -> Result<Answer, ApiError> {
    let census = tokio::time::timeout(CENSUS_TIME_MAX, state.store.census(FAULTED_NAMED)).await;
    let mut report = state.inspection.report();
    let census = match census {
        Ok(Ok(census)) => Some(census),
        Ok(Err(trouble)) => {
            report.trouble = report.trouble.or_else(|| Some(Chain(&trouble).to_string()));
            None
        }
        Err(_elapsed) => {
            report.trouble = report.trouble.or_else(|| Some("the store does not answer in time".to_owned()));
            None
        }
    };
    let traffic = &state.traffic;
    let connections = Connections {
        open: traffic.open_count(),
        max: traffic.max(),
        refused_count: traffic.refused_count(),
    };
    let checkup = Checkup::new(&report, census.as_ref(), state.now());
    Answer::ok(&Checkup { connections: Some(connections), ..checkup })
}
