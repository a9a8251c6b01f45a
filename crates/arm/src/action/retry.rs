//! Retry policies.

use crate::json::{Json, Members};
use jiff::SignedDuration;
use punctual_model::{PlanLimits, RetryPolicy, Sku};

use crate::Dialect;
use crate::quota::{Setting, plan_name};
use crate::reader::{Object, Problems};
use crate::shape::{Member, value};
use crate::time;

pub(super) const RETRY_POLICY: &[Member] = &[value("retryType"), value("retryInterval"), value("retryCount")];

/// 18 months, counted like the largest interval of days.
const INTERVAL_MAX: SignedDuration = SignedDuration::from_hours(548 * 24);
const COUNT_MAX: i64 = 20;

/// Reads the `retryPolicy` of an action; if it has none, the one that published templates put into its
/// `request` by mistake.
pub(super) fn read(
    action: &Object<'_>,
    plan: (Sku, PlanLimits),
    problems: &mut Problems,
) -> Option<RetryPolicy> {
    if let Some(value) = action.get("retryPolicy") {
        let policy = Object::of(value, action.at("retryPolicy"), problems)?;
        return Some(read_policy(&policy, plan, problems));
    }
    if action.nulled("retryPolicy") {
        return None;
    }
    let path = action.at("request");
    // A request that is no object has been reported already.
    let request = Object::of(action.get("request")?, path, &mut Problems::default())?;
    let policy = Object::of(request.get("retryPolicy")?, request.at("retryPolicy"), problems)?;
    Some(read_policy(&policy, plan, problems))
}

fn read_policy(policy: &Object<'_>, plan: (Sku, PlanLimits), problems: &mut Problems) -> RetryPolicy {
    let fixed = policy.name_of("retryType", &[("Fixed", true), ("None", false)], problems);
    let interval = policy.span("retryInterval", problems);
    let (sku, PlanLimits { retry_interval_min: min, .. }) = plan;
    if let Some(interval) = interval.filter(|interval| !(min..=INTERVAL_MAX).contains(interval)) {
        let message = format!(
            "must be from {} to {} on the {} plan (setting {}), not {}",
            time::time_span(min),
            time::time_span(INTERVAL_MAX),
            plan_name(sku),
            Setting::RetryInterval.of(sku),
            time::time_span(interval)
        );
        policy.note("retryInterval", message, problems);
    }
    let count = policy.integer("retryCount", problems);
    if let Some(count) = count.filter(|count| !(0..=COUNT_MAX).contains(count)) {
        policy.note("retryCount", format!("must be from 0 to {COUNT_MAX}, not {count}"), problems);
    }
    let count = count.and_then(|count| u32::try_from(count).ok());
    RetryPolicy { fixed: fixed.unwrap_or(true), interval, count }
}

pub(super) fn render(policy: &RetryPolicy, dialect: Dialect) -> Json<'static> {
    let mut members = Members::new();
    members.insert("retryType", if policy.fixed { "fixed" } else { "none" }.into());
    if let Some(interval) = policy.interval {
        members.insert("retryInterval", dialect.duration(interval).into());
    }
    if let Some(count) = policy.count {
        members.insert("retryCount", count.into());
    }
    members.into()
}
