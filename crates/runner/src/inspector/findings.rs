//! The findings: which are open, and how many there were. Bounded, whatever is found.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use punctual_model::inspect::{DueEntry, Finding, FindingKind, Flaw, KindCount, Pass, Report, Subject};
use punctual_model::{Chain, JobId, JobKey};
use punctual_store::{Extent, Trouble};

/// The most findings that are kept. If there are more, the first ones show what is wrong.
const FINDINGS_MAX: usize = 1_000;

/// The most suspects that wait to be examined.
const SUSPECTS_MAX: usize = 1_000;

/// The most log lines between two looks; of the others only the number is logged.
const LINES_MAX: usize = 50;

/// The findings of an inspector.
#[derive(Default)]
pub(super) struct Findings {
    pub(super) enabled: bool,
    pub(super) extent: Option<Extent>,
    pub(super) oldest_due: Option<DueEntry>,
    pub(super) due_count: usize,
    pub(super) looked_at: Option<Timestamp>,
    pub(super) progress: Option<f64>,
    last_pass: Option<Pass>,
    pass_count: u64,
    open: BTreeMap<(Subject, FindingKind), Finding>,
    /// What others have met and could not read, to be examined next.
    suspects: BTreeSet<Subject>,
    totals: BTreeMap<FindingKind, u64>,
    /// Findings that were not kept: now, in the pass under way, and in the last complete one.
    unkept_pending: BTreeMap<FindingKind, u64>,
    unkept_walk: BTreeMap<FindingKind, u64>,
    unkept_last: BTreeMap<FindingKind, u64>,
    /// The most that were not kept at once: every pass finds the same ones again.
    unkept_most: BTreeMap<FindingKind, u64>,
    troubles: BTreeMap<Task, String>,
    problems: Vec<String>,
    line_count: usize,
}

/// The task that reads the store.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Task {
    Look,
    Walk,
}

impl Findings {
    /// Sets the flaws of a stored subject; none if it is sound or gone.
    pub(super) fn set_stored(
        &mut self,
        subject: &Subject,
        key: Option<&JobKey>,
        flaws: &[Flaw],
        now: Timestamp,
    ) {
        let gone: Vec<_> = self
            .open
            .range((subject.clone(), FindingKind::ALL[0])..)
            .take_while(|((of, _), _)| of == subject)
            .map(|(place, _)| place.clone())
            .filter(|(_, kind)| !kind.is_lasting() && !flaws.iter().any(|flaw| flaw.kind == *kind))
            .collect();
        gone.iter().for_each(|place| self.close(place));
        for flaw in flaws {
            let finding = Finding {
                kind: flaw.kind,
                subject: subject.clone(),
                key: key.cloned(),
                detail: flaw.detail.clone(),
                found_at: now,
            };
            if !self.open(finding) {
                *self.unkept_walk.entry(flaw.kind).or_default() += 1;
                self.count_unkept(flaw.kind);
            }
        }
    }

    /// Sets everything that has lasted too long; other findings of these kinds are closed.
    pub(super) fn set_pending(&mut self, findings: Vec<Finding>) {
        let found: BTreeSet<_> =
            findings.iter().map(|finding| (finding.subject.clone(), finding.kind)).collect();
        let over = |place: &&(Subject, FindingKind)| place.1.is_lasting() && !found.contains(place);
        let gone: Vec<_> = self.open.keys().filter(over).cloned().collect();
        gone.iter().for_each(|place| self.close(place));
        self.unkept_pending.clear();
        for finding in findings {
            let kind = finding.kind;
            if !self.open(finding) {
                *self.unkept_pending.entry(kind).or_default() += 1;
                self.count_unkept(kind);
            }
        }
    }

    /// Whether there is such a finding.
    pub(super) fn has(&self, job: JobId, kind: FindingKind) -> bool {
        self.open.contains_key(&(Subject::Job(job), kind))
    }

    /// Whether there is a finding about what is stored of a job.
    pub(super) fn has_stored(&self, job: JobId) -> bool {
        let job = Subject::Job(job);
        let of_job =
            self.open.range((job.clone(), FindingKind::ALL[0])..).take_while(|((of, _), _)| *of == job);
        of_job.map(|((_, kind), _)| kind).any(|kind| !kind.is_lasting())
    }

    /// Subjects after one that have findings about what is stored; at most `limit`.
    pub(super) fn stored_behind(&self, behind: Option<&Subject>, limit: usize) -> Vec<Subject> {
        let stored =
            self.open.keys().filter(|(of, kind)| behind.is_none_or(|it| of > it) && !kind.is_lasting());
        let mut subjects: Vec<Subject> = stored.map(|(of, _)| of.clone()).collect();
        subjects.dedup();
        subjects.truncate(limit);
        subjects
    }

    /// Something could not be read. If there is no room for it, it will be met again.
    pub(super) fn suspect(&mut self, subject: Subject) {
        if self.suspects.len() < SUSPECTS_MAX {
            self.suspects.insert(subject);
        }
    }

    /// Takes some suspects to examine them.
    pub(super) fn take_suspects(&mut self, limit: usize) -> Vec<Subject> {
        std::iter::from_fn(|| self.suspects.pop_first()).take(limit).collect()
    }

    /// Adds a finding; false if there is no room. One that is there already keeps its time.
    fn open(&mut self, finding: Finding) -> bool {
        let place = (finding.subject.clone(), finding.kind);
        if let Some(known) = self.open.get_mut(&place) {
            known.detail = finding.detail;
            known.key = finding.key.or(known.key.take());
            return true;
        }
        if self.open.len() >= FINDINGS_MAX {
            return false;
        }
        let Finding { kind, subject, key, detail, .. } = &finding;
        if self.has_line() {
            let key = key.as_ref().map(|key| format!("{}/{}", key.collection.name, key.name));
            let (job, name) = (subject.job().map(|job| job.0), key.or_else(|| name(subject)));
            tracing::warn!(kind = kind.name(), job, name, detail, "an invariant does not hold");
        }
        *self.totals.entry(*kind).or_default() += 1;
        self.open.insert(place, finding);
        true
    }

    fn close(&mut self, place: &(Subject, FindingKind)) {
        if let Some(Finding { kind, subject, .. }) = self.open.remove(place)
            && self.has_line()
        {
            let (job, name) = (subject.job().map(|job| job.0), name(&subject));
            tracing::info!(kind = kind.name(), job, name, "an invariant holds again");
        }
    }

    /// Whether another line may be logged: a finding that comes and goes must not flood the log.
    fn has_line(&mut self) -> bool {
        self.line_count += 1;
        self.line_count <= LINES_MAX
    }

    /// Begins a look: logs how many lines were left out.
    pub(super) fn begin_look(&mut self) {
        let count = std::mem::take(&mut self.line_count).saturating_sub(LINES_MAX);
        if count > 0 {
            tracing::warn!(count, "more invariants do not hold, or hold again; `punctual doctor` lists them");
        }
    }

    fn count_unkept(&mut self, kind: FindingKind) {
        let now = [&self.unkept_pending, &self.unkept_walk];
        let now = now.iter().filter_map(|unkept| unkept.get(&kind)).sum();
        if self.unkept_most.is_empty() {
            tracing::warn!(
                kept = FINDINGS_MAX,
                "there are more findings than are kept; the others are counted only"
            );
        }
        let most = self.unkept_most.entry(kind).or_default();
        if now > *most {
            *most = now;
            *self.totals.entry(kind).or_default() += 1;
        }
    }

    pub(super) fn begin_pass(&mut self, extent: Extent) {
        self.extent = Some(extent);
        self.progress = Some(0.0);
        self.unkept_walk.clear();
    }

    pub(super) fn end_pass(&mut self, pass: Pass) {
        self.progress = None;
        self.pass_count += 1;
        self.last_pass = Some(pass);
        self.unkept_last = std::mem::take(&mut self.unkept_walk);
    }

    /// The store could not be read, or can be read again. Logged once.
    pub(super) fn note_trouble(&mut self, task: Task, trouble: Option<Trouble>) {
        let text = trouble.map(|trouble| Chain(&trouble).to_string());
        match (self.troubles.remove(&task), &text) {
            (old, Some(new)) if old.as_ref() != Some(new) => {
                tracing::warn!(error = new, "could not inspect the store; trying again later");
            }
            (Some(_), None) => tracing::info!("the store can be inspected again"),
            (_, _) => {}
        }
        self.troubles.extend(text.map(|text| (task, text)));
    }

    /// What is wrong with the store as a whole. Logged when it begins and when it is over.
    pub(super) fn set_problems(&mut self, problems: Vec<String>) {
        let old = std::mem::take(&mut self.problems);
        for problem in problems.iter().filter(|problem| !old.contains(problem)) {
            tracing::error!(problem, "there is a problem with the store");
        }
        for problem in old.iter().filter(|problem| !problems.contains(problem)) {
            tracing::info!(problem, "a problem with the store is over");
        }
        self.problems = problems;
    }

    pub(super) fn report(&self) -> Report {
        let count = |kind| {
            let kept = self.open.keys().filter(|(_, of)| *of == kind).count();
            let of = |unkept: &BTreeMap<FindingKind, u64>| unkept.get(&kind).copied().unwrap_or(0);
            let unkept = of(&self.unkept_pending) + of(&self.unkept_walk).max(of(&self.unkept_last));
            let total = self.totals.get(&kind).copied().unwrap_or(0);
            KindCount { kind, open: kept as u64 + unkept, total }
        };
        Report {
            enabled: self.enabled,
            schema_version: self.extent.map(|extent| extent.schema_version),
            findings: self.open.values().cloned().collect(),
            counts: FindingKind::ALL.map(count).to_vec(),
            oldest_due: self.oldest_due,
            due_count: self.due_count as u64,
            looked_at: self.looked_at,
            progress: self.progress,
            last_pass: self.last_pass,
            pass_count: self.pass_count,
            trouble: self.troubles.values().next().cloned(),
            failure: None,
            outage: None,
            problems: self.problems.clone(),
        }
    }
}

/// The name of a subject that is not a job.
fn name(subject: &Subject) -> Option<String> {
    match subject {
        Subject::Job(_) | Subject::Clock => None,
        Subject::Group(key) => Some(format!("resource group {}", key.name)),
        Subject::Collection(key) => Some(format!("collection {}/{}", key.group.name, key.name)),
        Subject::Record(_, sequence) => Some(format!("record {sequence}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flaw(kind: FindingKind) -> Flaw {
        Flaw { kind, detail: "x".into() }
    }

    fn wait(job: i64, kind: FindingKind) -> Finding {
        Finding {
            kind,
            subject: Subject::Job(JobId(job)),
            key: None,
            detail: "x".into(),
            found_at: Timestamp::UNIX_EPOCH,
        }
    }

    fn counts(findings: &Findings, kind: FindingKind) -> (u64, u64) {
        let counts = findings.report().counts;
        let count = counts.iter().find(|count| count.kind == kind).unwrap();
        (count.open, count.total)
    }

    #[test]
    fn a_finding_is_counted_once_until_it_is_gone() {
        let mut findings = Findings::default();
        let now = Timestamp::UNIX_EPOCH;
        let both = [flaw(FindingKind::NoEntry), flaw(FindingKind::Counters)];
        findings.set_stored(&Subject::Job(JobId(1)), None, &both, now);
        findings.set_stored(&Subject::Job(JobId(1)), None, &both, now);
        findings.set_stored(&Subject::Job(JobId(2)), None, &both[..1], now);
        assert_eq!(counts(&findings, FindingKind::NoEntry), (2, 2));
        findings.set_pending(vec![wait(1, FindingKind::Overdue)]);
        findings.set_stored(&Subject::Job(JobId(1)), None, &both[1..], now);
        assert_eq!(counts(&findings, FindingKind::NoEntry), (1, 2));
        assert_eq!(counts(&findings, FindingKind::Counters), (1, 1));
        assert_eq!(counts(&findings, FindingKind::Overdue), (1, 1), "of another source");
        findings.set_pending(Vec::new());
        findings.set_stored(&Subject::Job(JobId(1)), None, &[], now);
        findings.set_stored(&Subject::Job(JobId(2)), None, &[], now);
        assert_eq!(findings.report().findings, []);
        assert_eq!(counts(&findings, FindingKind::NoEntry), (0, 2));
        findings.set_stored(&Subject::Job(JobId(2)), None, &both[..1], now);
        assert_eq!(counts(&findings, FindingKind::NoEntry), (1, 3));
    }

    #[test]
    fn however_much_is_wrong_the_findings_stay_few() {
        let mut findings = Findings::default();
        let many = i64::try_from(FINDINGS_MAX).unwrap() + 500;
        for _ in 0..3 {
            findings.begin_pass(Extent { schema_version: 1, last_job: JobId(many) });
            for job in 1..=many {
                findings.set_stored(
                    &Subject::Job(JobId(job)),
                    None,
                    &[flaw(FindingKind::NoEntry)],
                    Timestamp::UNIX_EPOCH,
                );
            }
            let took = std::time::Duration::ZERO;
            findings.end_pass(Pass { ended_at: Timestamp::UNIX_EPOCH, took, job_count: 1 });
            assert_eq!(findings.report().findings.len(), FINDINGS_MAX);
            assert_eq!(counts(&findings, FindingKind::NoEntry), (1_500, 1_500));
        }
        let behind = findings.stored_behind(Some(&Subject::Job(JobId(10))), 3);
        assert_eq!(behind, [11, 12, 13].map(|job| Subject::Job(JobId(job))));
    }
}
