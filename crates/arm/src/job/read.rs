//! Reads a PUT or a PATCH of a job.

use std::cell::Cell;

use jiff::Timestamp;
use punctual_model::{Action, CredentialHeaders, JobKey, JobSpec, Limits, Sku};
use punctual_recurrence::{Rule, Start};

use super::render_spec;
use crate::action::{self, Certificates, Reading};
use crate::json::{Json, Members};
use crate::merge::{merge, move_misplaced_retry};
use crate::reader::{Object, Path, Problems, kind, parse_object, shown};
use crate::shape::{self, Unknown};
use crate::{ApiError, ApiVersion, Dialect, id, quota, recurrence};

/// The largest definition, as compact JSON including its secrets.
pub(crate) const JOB_BYTES_MAX: usize = 16 * 1024;

/// What reading a job depends on besides the body.
#[derive(Clone, Debug)]
pub struct JobContext {
    /// The request's.
    pub version: ApiVersion,
    /// The plan of the job's collection.
    pub sku: Sku,
    /// What the server allows.
    pub limits: Limits,
    /// The time of the request.
    pub now: Timestamp,
    /// The time of the PUT: now, or under a PATCH that of the last PUT.
    pub put_at: Timestamp,
    /// The headers whose values are credentials.
    pub credential_headers: CredentialHeaders,
}

/// Whether certificate files are opened, which takes as many rounds of key derivation as their author chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// They are opened: call this where it may take long.
    Allowed,
    /// [`Unread::MustOpen`] if there is one that was not opened before.
    Denied,
}

/// Why a body did not become a definition.
#[derive(Debug)]
pub enum Unread {
    /// It is refused.
    Rejected(ApiError),
    /// A certificate must be opened: read it again where that is allowed.
    MustOpen,
}

impl Unread {
    fn into_error(self) -> ApiError {
        match self {
            Self::Rejected(error) => error,
            // Where opening is allowed nothing asks for it.
            Self::MustOpen => ApiError::internal(),
        }
    }
}

impl From<ApiError> for Unread {
    fn from(error: ApiError) -> Self {
        Self::Rejected(error)
    }
}

/// Reads the body of a PUT. `existing` is the definition that it replaces: what an older api-version can't
/// express stays as it was, and masks of credentials stand for its credentials. Certificates are opened, so this may take
/// long.
pub fn read_put(
    body: &[u8],
    key: &JobKey,
    existing: Option<&JobSpec>,
    context: &JobContext,
) -> Result<JobSpec, ApiError> {
    try_read_put(body, key, existing, context, Opening::Allowed).map_err(Unread::into_error)
}

/// Reads the body of a PATCH onto the stored definition: absent members keep their value, secrets included;
/// null removes; members of another action type than the resulting one are dropped. Secrets of an action that goes to
/// another address must be sent again. Certificates are opened, so this may take long.
pub fn read_patch(
    body: &[u8],
    key: &JobKey,
    existing: &JobSpec,
    context: &JobContext,
) -> Result<JobSpec, ApiError> {
    try_read_patch(body, key, existing, context, Opening::Allowed).map_err(Unread::into_error)
}

/// [`read_put`], which opens certificates only if that is allowed.
pub fn try_read_put(
    body: &[u8],
    key: &JobKey,
    existing: Option<&JobSpec>,
    context: &JobContext,
    opening: Opening,
) -> Result<JobSpec, Unread> {
    let document = parse(body)?;
    let unknown = Unknown::of(&document, shape::JOB, context.version);
    let stored = existing.map(|spec| &spec.action);
    let with_time_zone = context.version.has_additions();
    let kept =
        Kept { stored, keeps_secrets: false, with_time_zone, timing: None, opening, only_given: false };
    let mut spec = read_document(&document, key, kept, &unknown, context)?;
    if !with_time_zone && let Some(rule) = &mut spec.recurrence {
        rule.time_zone = existing.and_then(|spec| spec.recurrence.as_ref()?.time_zone.clone());
    }
    // White space and unknown members don't count, so most bodies need no exact measurement.
    if body.len() > JOB_BYTES_MAX {
        check_size(&spec)?;
    }
    Ok(spec)
}

/// [`read_patch`], which opens certificates only if that is allowed.
pub fn try_read_patch(
    body: &[u8],
    key: &JobKey,
    existing: &JobSpec,
    context: &JobContext,
    opening: Opening,
) -> Result<JobSpec, Unread> {
    let mut patch = parse(body)?;
    let unknown = Unknown::of(&patch, shape::JOB, context.version);
    let properties = patch.get_mut("properties");
    if let Some(action) = properties.and_then(|properties| properties.get_mut("action")) {
        move_misplaced_retry(action);
    }
    if !context.version.has_additions()
        && let Some(properties) = patch.get_mut("properties")
        && let Some(Json::Object(rule)) = properties.get_mut("recurrence")
    {
        rule.remove("timeZone");
    }
    let mut properties = render_spec(existing, ApiVersion::V2026_11, Dialect::default());
    properties.insert("state", if existing.enabled { "enabled" } else { "disabled" }.into());
    let mut document = Members::new();
    document.insert("properties", properties.into());
    let mut document = Json::from(document);
    merge(&mut document, patch);
    let (stored, only_given) = (Some(&existing.action), false);
    let kept = Kept {
        stored,
        keeps_secrets: true,
        with_time_zone: true,
        timing: Some(existing),
        opening,
        only_given,
    };
    let spec = read_document(&document, key, kept, &unknown, context)?;
    check_size(&spec)?;
    Ok(spec)
}

/// The members that hold secrets.
const SECRETS: [&str; 5] = ["password", "pfx", "secret", "sasToken", "sasKey"];

/// Whether a body sends a secret, or takes one away, wherever that is.
pub fn sends_secrets(body: &[u8], credential_headers: &CredentialHeaders) -> bool {
    fn within(value: &Json<'_>, credential_headers: &CredentialHeaders) -> bool {
        match value {
            Json::Object(members) => {
                action::sends_credentials(members, credential_headers)
                    || members.iter().any(|(name, value)| {
                        SECRETS.iter().any(|secret| secret.eq_ignore_ascii_case(name))
                            || within(value, credential_headers)
                    })
            }
            Json::List(items) => items.iter().any(|item| within(item, credential_headers)),
            Json::Null | Json::Bool(_) | Json::Integer(_) | Json::Float(_) | Json::Text(_) => false,
        }
    }
    // A body that is no JSON is refused by whoever reads it.
    parse_object(body).is_ok_and(|document| within(&document, credential_headers))
}

/// The unknown members of a body, which are ignored under this api-version, as the value of a header.
pub fn ignored(body: &[u8], version: ApiVersion) -> Option<String> {
    shape::ignored(body, shape::JOB, version)
}

/// Parses a JSON object that has properties: anything else is not a job.
fn parse(body: &[u8]) -> Result<Json<'_>, ApiError> {
    let document = parse_object(body).map_err(ApiError::malformed_job)?;
    match document.get("properties") {
        Some(Json::Object(_)) => Ok(document),
        None | Some(Json::Null) => Err(ApiError::malformed_job("properties is required")),
        Some(other) => {
            Err(ApiError::malformed_job(format!("properties must be an object, not {}", kind(other))))
        }
    }
}

/// What is kept from the stored job.
#[derive(Clone, Copy)]
pub(super) struct Kept<'a> {
    /// The main action: masks stand for its credentials, and its certificates were opened before.
    pub(super) stored: Option<&'a Action>,
    /// Whether its secrets stay where none are given.
    pub(super) keeps_secrets: bool,
    /// Whether `timeZone` is a known name.
    pub(super) with_time_zone: bool,
    /// The definition whose start and recurrence are not checked again if they stay as they are.
    pub(super) timing: Option<&'a JobSpec>,
    /// Whether certificates are opened.
    pub(super) opening: Opening,
    /// Whether only those are opened that the document gives with their password.
    pub(super) only_given: bool,
}

fn read_document(
    document: &Json<'_>,
    key: &JobKey,
    kept: Kept<'_>,
    unknown: &Unknown,
    context: &JobContext,
) -> Result<JobSpec, Unread> {
    let mut problems = Problems::default();
    let problems = &mut problems;
    let must_open = Cell::new(false);
    if context.version.has_additions() {
        unknown.add_to(problems);
    }
    let spec = Object::of(document, Path::Root, problems).and_then(|document| {
        check_id(&document, key, problems);
        let properties = Object::of(document.get("properties")?, document.at("properties"), problems)?;
        read_properties(&properties, kept, &must_open, context, problems).into_spec()
    });
    if must_open.get() {
        return Err(Unread::MustOpen);
    }
    let without_action = document.get("properties").and_then(|it| it.get("action")).is_none_or(Json::is_null);
    let problems = std::mem::take(problems).into_vec();
    match spec {
        Some(spec) if problems.is_empty() => Ok(spec),
        _ => {
            let error = ApiError::invalid(&problems);
            Err(if without_action { ApiError::malformed_job(error.message) } else { error }.into())
        }
    }
}

/// What a definition is made of, as far as it could be read.
pub(super) struct Parts {
    pub(super) start_at: Option<Timestamp>,
    pub(super) action: Option<Action>,
    pub(super) recurrence: Option<Rule>,
    pub(super) enabled: bool,
}

impl Parts {
    /// The definition; none if there is no action.
    pub(super) fn into_spec(self) -> Option<JobSpec> {
        let Self { start_at, action, recurrence, enabled } = self;
        Some(JobSpec { start_at, action: action?, recurrence, enabled })
    }
}

pub(super) fn read_properties(
    properties: &Object<'_>,
    kept: Kept<'_>,
    must_open: &Cell<bool>,
    context: &JobContext,
    problems: &mut Problems,
) -> Parts {
    let start_at = properties.instant("startTime", problems);
    let start = Start { start_at, put_at: context.now };
    if let Err(mut problem) = start.check(context.limits.start_ahead_months_max) {
        problem.message += &format!(" (setting {})", quota::START_SETTING);
        problems.add_below(properties.path(), vec![problem]);
    }
    if properties.get("action").is_none() {
        properties.note("action", "is required", problems);
    }
    let action = properties.get("action").and_then(|value| {
        let plan = (context.sku, *context.limits.of(context.sku));
        let (may_open, rounds) = (kept.opening == Opening::Allowed, Cell::new(0));
        let Kept { stored, keeps_secrets, only_given, .. } = kept;
        let certificates = Certificates { opened: stored, may_open, only_given, must_open, rounds: &rounds };
        let credential_headers = &context.credential_headers;
        let reading = Reading { plan, stored, keeps_secrets, credential_headers, certificates };
        action::read(value, properties.at("action"), reading, problems)
    });
    let recurrence: Option<Rule> = properties.get("recurrence").and_then(|value| {
        recurrence::read(value, properties.at("recurrence"), kept.with_time_zone, problems)
    });
    // A missing interval is answered as 1, and clients send the 1 back: that is no change.
    let kept_rule = kept.timing.and_then(|kept| kept.recurrence.as_ref());
    let recurrence = match (kept_rule, recurrence) {
        (Some(kept), Some(new)) if new.is_the_same_as(kept) => Some(kept.clone()),
        (_, recurrence) => recurrence,
    };
    let changed = kept.timing.is_none_or(|kept| kept.start_at != start_at || kept.recurrence != recurrence);
    if let Some(rule) = recurrence.as_ref().filter(|_| changed && context.version.has_additions()) {
        let start = Start { start_at, put_at: context.put_at };
        recurrence::check_matches(rule, start, properties.at("recurrence"), problems);
    }
    let enabled = read_state(properties, problems);
    Parts { start_at, action, recurrence, enabled }
}

fn read_state(properties: &Object<'_>, problems: &mut Problems) -> bool {
    let Some(state) = properties.text("state", problems) else { return true };
    let is = |name: &str| state.eq_ignore_ascii_case(name);
    if is("completed") || is("faulted") {
        let message = format!("'{state}' is set by the service alone: ask for Enabled or Disabled");
        properties.note("state", message, problems);
    } else if !is("enabled") && !is("disabled") {
        properties.note("state", format!("'{}' is not one of Enabled, Disabled", shown(state)), problems);
    }
    !is("disabled")
}

/// Clients send back what they read, so there may be an id; but it must be that of this job.
fn check_id(document: &Object<'_>, key: &JobKey, problems: &mut Problems) {
    if let Some(written) = document.text("id", problems)
        && written.to_lowercase() != id::job(key).to_lowercase()
    {
        document.note("id", "is that of another resource than the one in the URL", problems);
    }
}

pub(super) fn check_size(spec: &JobSpec) -> Result<(), ApiError> {
    let shown = Json::from(render_spec(spec, ApiVersion::V2026_11, Dialect::default()));
    let bytes = shown.to_bytes().len() + action::secret_bytes(&spec.action);
    if bytes <= JOB_BYTES_MAX {
        return Ok(());
    }
    let message = format!("The job is too large: {bytes} bytes, where at most {JOB_BYTES_MAX} are allowed.");
    Err(ApiError::bad_request(message))
}
