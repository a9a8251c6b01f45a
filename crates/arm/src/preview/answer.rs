//! What a preview shows of a definition.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use punctual_model::decide::{self, Forbidden};
use punctual_model::preview::{MissingDay, Run, Runs, Timing};
use punctual_model::{Collection, Job, Limits, TICK};
use punctual_recurrence::{Problem, Start, Timetable};
use serde_json::{Value, json};

use super::{end_words, sentence};
use crate::job::{Draft, DraftMethod};
use crate::{ApiError, quota, time};

/// The number of instants before now that are shown.
const PREVIOUS_COUNT: usize = 5;

/// What a preview is of.
#[derive(Clone, Copy, Debug)]
pub struct PreviewedJob<'a> {
    /// The definition, as far as it could be read.
    pub draft: &'a Draft,
    /// How it is going to be written.
    pub method: DraftMethod,
    /// The stored job, if there is one.
    pub existing: Option<&'a Job>,
    /// The collection that the job is or will be in.
    pub collection: &'a Collection,
    /// What the server allows.
    pub limits: &'a Limits,
    /// The assumed time of the change.
    pub now: Timestamp,
}

/// A preview.
#[derive(Clone, Debug)]
pub struct Previewed {
    description: Option<String>,
    runs_at_once: bool,
    zone: TimeZone,
    next: Vec<Run>,
    previous: Vec<Run>,
    ends: Option<String>,
    warnings: Vec<Value>,
    problems: Vec<Problem>,
}

impl PreviewedJob<'_> {
    /// The preview with at most `count` coming runs.
    pub fn preview(&self, count: usize) -> Previewed {
        let Draft { start_at, rule, timed, spec, .. } = self.draft;
        let mut shown = Previewed {
            description: None,
            runs_at_once: false,
            zone: TimeZone::UTC,
            next: Vec::new(),
            previous: Vec::new(),
            ends: None,
            warnings: Vec::new(),
            problems: self.draft.problems.clone(),
        };
        if let Some(job) = self.existing.filter(|job| job.state.is_final()) {
            shown.problems.push(Problem::new("", ApiError::job_is_final(&job.key, job.state).message));
        }
        let too_often = rule
            .as_ref()
            .filter(|_| *timed)
            .and_then(|rule| decide::too_often(rule, *start_at, self.collection, self.limits, self.now));
        if let Some(forbidden) = too_often {
            let text = quota::sentence(&forbidden, self.collection, self.limits);
            shown.warn("tooOften", text.clone(), Some("recurrence"));
            shown.problems.push(Problem::new("recurrence", text));
        }
        let forbidden =
            spec.as_ref().map(|spec| decide::forbidden(spec, self.collection, self.limits, self.now));
        if forbidden.is_some_and(|forbidden| forbidden.contains(&Forbidden::Authentication)) {
            let text = quota::sentence(&Forbidden::Authentication, self.collection, self.limits);
            shown.problems.push(Problem::new("action", text));
        }
        if let Some(timetable) = self.timetable() {
            self.show_runs(&timetable, count, &mut shown);
        }
        shown
    }

    /// The timetable of the definition; none if it can't be said.
    fn timetable(&self) -> Option<Timetable> {
        let start = self.start();
        match &self.draft.rule {
            _ if !self.draft.timed => None,
            None => Some(Timetable::once(start)),
            Some(rule) => Some(rule.check().ok()?.timetable(start)),
        }
    }

    /// The job that goes on with this definition, if it does.
    fn continued(&self) -> Option<&Job> {
        self.existing.filter(|_| self.method == DraftMethod::Patch)
    }

    fn start(&self) -> Start {
        Start { start_at: self.draft.start_at, put_at: self.continued().map_or(self.now, |job| job.put_at) }
    }

    fn show_runs(&self, timetable: &Timetable, count: usize, shown: &mut Previewed) {
        let continued = self.continued();
        let past_at = continued.and_then(|job| job.progress.past_at);
        let timing = Timing {
            timetable,
            rule: self.draft.rule.as_ref(),
            start: self.start(),
            now: self.now,
            from: continued.map(|_| past_at.map_or(self.now, |past_at| self.now.max(past_at + TICK))),
            started_count: continued.map_or(0, |job| job.progress.started_count),
        };
        let Runs { runs, end } = timing.runs(count);
        let never_matches = timetable.never_matches();
        let at_once = runs.first().is_some_and(|run| run.at <= self.now);
        shown.runs_at_once = at_once && self.draft.enabled && self.collection.enabled();
        shown.description = Some(sentence(timetable.describe()));
        shown.zone = timing.zone();
        shown.ends = end_words(end, runs.is_empty(), never_matches.as_deref());
        if shown.runs_at_once {
            let why = match self.draft.start_at {
                None => "it has no start time",
                Some(_) => "its start time is past",
            };
            let path = Some("startTime");
            shown.warn("runsAtOnce", format!("It runs as soon as it is saved, because {why}."), path);
        }
        if let Some(text) = shown.ends.clone().filter(|_| never_matches.is_some() || runs.is_empty()) {
            let path = if never_matches.is_some() { "recurrence.schedule" } else { "recurrence" };
            shown.warn("neverMatches", sentence(text), Some(path).filter(|_| timing.rule.is_some()));
        }
        if let Some((at, note)) = timing.next_clock_change() {
            let day = at.to_zoned(shown.zone.clone()).strftime("%Y-%m-%d").to_string();
            shown.warn("clockChange", format!("On {day}: {note}."), Some("recurrence.timeZone"));
        }
        if let Some(missing) = timing.missing_day() {
            let (text, path) = missing_words(missing);
            shown.warn("missingDay", text, Some(path));
        }
        shown.next = runs;
        shown.previous = timing.previous(PREVIOUS_COUNT);
    }
}

fn missing_words(missing: MissingDay) -> (String, &'static str) {
    match missing {
        MissingDay::Chosen(day) if day > 0 => (
            format!("Not every month has a day {day}: months without it are passed over."),
            "recurrence.schedule.monthDays",
        ),
        MissingDay::Chosen(day) => (
            format!("Not every month has {} days: shorter months are passed over.", day.unsigned_abs()),
            "recurrence.schedule.monthDays",
        ),
        MissingDay::Fifth(one) => (
            format!("Not every month has a fifth {}: months without it are passed over.", one.day.name()),
            "recurrence.schedule.monthlyOccurrences",
        ),
        MissingDay::OfStart(day) => (
            format!("Not every month has a day {day}: in months without it the job runs on the last day."),
            "startTime",
        ),
    }
}

impl Previewed {
    /// When it is due next, other than at once; none if never.
    pub fn next_at(&self) -> Option<Timestamp> {
        self.next.iter().map(|run| run.at).nth(usize::from(self.runs_at_once))
    }

    /// Adds a problem of what is around the definition.
    pub fn add_problem(&mut self, path: &str, message: impl Into<String>) {
        self.problems.push(Problem::new(path, message));
    }

    /// Warns that many other jobs are due at the same instant.
    pub fn warn_of_herd(&mut self, at: Timestamp, count: usize, capped: bool) {
        let more = if capped { "more than " } else { "" };
        let text = format!(
            "At {} {more}{count} other jobs are due in the same second; another minute would spread them.",
            time::instant(at)
        );
        self.warn("herd", text, Some("recurrence"));
    }

    fn warn(&mut self, code: &str, text: impl Into<Value>, path: Option<&str>) {
        let text: Value = text.into();
        self.warnings.push(json!({"code": code, "text": text, "path": path}));
    }

    /// The answer.
    pub fn to_json(&self) -> Value {
        let runs = |runs: &[Run]| -> Vec<Value> { runs.iter().map(|run| self.run(run)).collect() };
        json!({
            "description": self.description,
            "runsAtOnce": self.runs_at_once,
            "next": runs(&self.next),
            "previous": runs(&self.previous),
            "ends": self.ends,
            "warnings": self.warnings,
            "problems": problems(&self.problems),
            "valid": self.problems.is_empty(),
        })
    }

    fn run(&self, run: &Run) -> Value {
        let fraction = if run.at.subsec_nanosecond() == 0 { "" } else { "%.f" };
        let local = run.at.to_zoned(self.zone.clone());
        let local = local.strftime(&format!("%Y-%m-%dT%H:%M:%S{fraction}%:z")).to_string();
        let note = (!run.notes.is_empty()).then(|| run.notes.join("; "));
        json!({"dueTime": time::instant(run.at), "local": local, "note": note})
    }
}

/// The most problems that are listed; a body can have thousands.
const PROBLEMS_MAX: usize = 200;

/// Problems, each with its path.
pub(crate) fn problems(problems: &[Problem]) -> Vec<Value> {
    let one = |problem: &Problem| json!({"path": problem.path, "text": problem.message});
    problems.iter().take(PROBLEMS_MAX).map(one).collect()
}
