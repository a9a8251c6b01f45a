//! Reads a definition that somebody is still writing: it need not be valid, and what can be read of it is used.
//!
//! Secrets that a stored job has count as given where they are masked or left out. They are not used for anything: a
//! certificate is opened only if both it and its password are given, so that a reader can't find out a stored password by
//! sending files that it opens.

use std::cell::Cell;

use jiff::Timestamp;
use punctual_model::{Job, JobSpec};
use punctual_recurrence::{Problem, Rule, Start};

use super::read::{JobContext, Kept, Opening, Unread, check_size, read_properties};
use crate::reader::{Object, Path, Problems, parse_object};
use crate::shape::{JOB_PROPERTIES, Unknown};
use crate::{ApiError, recurrence};

/// How a definition is going to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DraftMethod {
    /// By a PUT: the job begins anew.
    Put,
    /// By a PATCH of all that differs: the job keeps its anchor and its counters.
    Patch,
}

/// A definition as far as it could be read.
#[derive(Clone, Debug)]
pub struct Draft {
    /// Its start.
    pub start_at: Option<Timestamp>,
    /// Its recurrence; none if it runs once.
    pub rule: Option<Rule>,
    /// Whether start and recurrence are good, so that it can be said when it runs.
    pub timed: bool,
    /// Whether it is enabled.
    pub enabled: bool,
    /// The whole definition; none if it has no readable action.
    pub spec: Option<JobSpec>,
    /// All that is wrong with it, with paths below `properties`.
    pub problems: Vec<Problem>,
}

/// Reads the `properties` of a body. `existing` is the stored job of that name.
pub fn read_draft(
    body: &[u8],
    existing: Option<&Job>,
    method: DraftMethod,
    context: &JobContext,
    opening: Opening,
) -> Result<Draft, Unread> {
    let document = parse_object(body).map_err(ApiError::bad_request)?;
    let Some(properties) = document.get("properties") else {
        return Err(ApiError::bad_request("properties: is required").into());
    };
    let mut problems = Problems::default();
    Unknown::of(properties, JOB_PROPERTIES, context.version).add_to(&mut problems);
    let Some(object) = Object::of(properties, Path::Root, &mut problems) else {
        let problems = problems.into_vec();
        return Ok(Draft { start_at: None, rule: None, timed: false, enabled: true, spec: None, problems });
    };
    let spec = existing.map(|job| &*job.spec);
    let kept = Kept {
        stored: spec.map(|spec| &spec.action),
        keeps_secrets: true,
        with_time_zone: true,
        timing: spec.filter(|_| method == DraftMethod::Patch),
        opening,
        only_given: true,
    };
    let must_open = Cell::new(false);
    let parts = read_properties(&object, kept, &must_open, context, &mut problems);
    if must_open.get() {
        return Err(Unread::MustOpen);
    }
    let mut problems = problems.into_vec();
    let (start_at, rule, enabled) = (parts.start_at, parts.recurrence.clone(), parts.enabled);
    let timed = timed(&object, start_at, rule.as_ref(), context, &problems);
    let spec = parts.into_spec();
    // Of a job that is there the size would tell how long its stored secrets are; whoever writes is told.
    if existing.is_none()
        && let Some(Err(error)) = spec.as_ref().map(check_size)
    {
        problems.push(Problem::new("", error.message));
    }
    Ok(Draft { start_at, rule, timed, enabled, spec, problems })
}

/// Whether start and recurrence have no problem but that the schedule never matches.
fn timed(
    object: &Object<'_>,
    start_at: Option<Timestamp>,
    rule: Option<&Rule>,
    context: &JobContext,
    problems: &[Problem],
) -> bool {
    let mut never = Problems::default();
    if let Some(rule) = rule {
        let start = Start { start_at, put_at: context.put_at };
        recurrence::check_matches(rule, start, object.at("recurrence"), &mut never);
    }
    let never = never.into_vec();
    let about = |path: &str| matches!(path, "startTime" | "recurrence") || path.starts_with("recurrence.");
    problems.iter().filter(|problem| about(&problem.path)).all(|problem| never.contains(problem))
}
