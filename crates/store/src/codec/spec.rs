//! A job's definition as it is stored, version 1.

mod action;
mod rule;

use std::borrow::Cow;

use jiff::{SignedDuration, Timestamp};
use punctual_model::JobSpec;
use serde::{Deserialize, Serialize};

use super::CodecError;
use super::seal::{Incoming, Outgoing};
use crate::instant::{from_ticks, to_ticks};
use action::Action1;
use rule::Rule1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Spec1<'a> {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    start_at: Option<Instant1>,
    action: Action1<'a>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    recurrence: Option<Rule1<'a>>,
    enabled: bool,
}

impl<'a> Spec1<'a> {
    pub(super) fn of(spec: &'a JobSpec, secrets: &mut Outgoing<'a>) -> Self {
        let JobSpec { start_at, action, recurrence, enabled } = spec;
        Self {
            start_at: start_at.map(Instant1::of),
            action: Action1::of(action, secrets),
            recurrence: recurrence.as_ref().map(Rule1::of),
            enabled: *enabled,
        }
    }

    pub(super) fn into_model(self, secrets: &mut Incoming<'_>) -> Result<JobSpec, CodecError> {
        Ok(JobSpec {
            start_at: self.start_at.map(Instant1::into_model).transpose()?,
            action: self.action.into_model(secrets)?,
            recurrence: self.recurrence.map(Rule1::into_model).transpose()?,
            enabled: self.enabled,
        })
    }
}

/// An instant in ticks.
#[derive(Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Instant1(i64);

impl Instant1 {
    pub(super) fn of(at: Timestamp) -> Self {
        Self(to_ticks(at))
    }

    pub(super) fn into_model(self) -> Result<Timestamp, CodecError> {
        from_ticks(self.0).ok_or(CodecError::Invalid { what: "instant" })
    }
}

/// A duration in seconds and nanoseconds of the same sign.
#[derive(Serialize, Deserialize)]
pub(super) struct Span1(i64, i32);

impl Span1 {
    fn of(span: SignedDuration) -> Self {
        Self(span.as_secs(), span.subsec_nanos())
    }

    fn into_model(self) -> Result<SignedDuration, CodecError> {
        const NANOSECONDS_A_SECOND: i32 = 1_000_000_000;
        if self.1.abs() >= NANOSECONDS_A_SECOND || (self.0 > 0 && self.1 < 0) || (self.0 < 0 && self.1 > 0) {
            return Err(CodecError::Invalid { what: "duration" });
        }
        Ok(SignedDuration::new(self.0, self.1))
    }
}

/// Names and values, in order.
pub(super) type Pairs1<'a> = Vec<(Cow<'a, str>, Cow<'a, str>)>;

pub(super) fn pairs(pairs: &[(String, String)]) -> Pairs1<'_> {
    pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
}

pub(super) fn owned_pairs(pairs: Pairs1<'_>) -> Vec<(String, String)> {
    pairs.into_iter().map(|(name, value)| (name.into_owned(), value.into_owned())).collect()
}

fn shared(text: Option<&String>) -> Option<Cow<'_, str>> {
    text.map(Cow::from)
}

fn owned(text: Option<Cow<'_, str>>) -> Option<String> {
    text.map(Cow::into_owned)
}
