//! What a plan or a quota forbids, in the words of the service: 409.

use jiff::Timestamp;
use punctual_model::decide::{self, Forbidden, Obstacle};
use punctual_model::{Collection, Job, JobSpec};

use crate::ApiError;
use crate::collection::pace;

/// Judges a job against its collection: how fast it recurs, and whether it may authenticate itself.
pub fn check_job(spec: &JobSpec, collection: &Collection, now: Timestamp) -> Result<(), ApiError> {
    let reasons: Vec<_> = decide::forbidden(spec, collection, now).iter().map(sentence).collect();
    if reasons.is_empty() { Ok(()) } else { Err(ApiError::conflict(reasons.join(" "))) }
}

/// Judges a change of plan, with all jobs of the collection.
pub fn check_plan_change(from: &Collection, to: &Collection, jobs: &[Job]) -> Result<(), ApiError> {
    let reasons: Vec<_> = decide::obstacles(from, to, jobs).iter().map(reason).collect();
    if reasons.is_empty() {
        return Ok(());
    }
    let message = format!("The job collection '{}' can't change to the Free plan: ", to.key.name);
    Err(ApiError::conflict(message + &reasons.join("; ") + "."))
}

fn sentence(forbidden: &Forbidden) -> String {
    match forbidden {
        Forbidden::Authentication => {
            "HTTP outbound authentication is not available on the Free plan.".to_owned()
        }
        Forbidden::Recurrence { pace: given, limit } => {
            let mut shown = pace(given.interval);
            if let Some(distance) = given.distance {
                shown += &format!(" with {distance:#} between two occurrences");
            }
            format!(
                "The provided recurrence {shown} exceeds the permissible limit of the job collection ({}).",
                pace(*limit)
            )
        }
    }
}

fn reason(obstacle: &Obstacle<'_>) -> String {
    match obstacle {
        Obstacle::JobCount { count, max } => format!("it has {count} jobs, where the Free plan allows {max}"),
        Obstacle::Recurrence(job) => format!("the job '{}' recurs faster than every hour", job.key.name),
        Obstacle::Authentication(job) => {
            format!("the job '{}' uses HTTP outbound authentication", job.key.name)
        }
    }
}
