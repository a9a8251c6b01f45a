//! `GET /jobs`: jobs across collections

use jiff::Timestamp;
use punctual_arm::job_row::{self, JobRow};
use punctual_arm::{ApiError, JobsQuery};
use punctual_model::{Collection, Job, JobId, RecentPast, decide};
use punctual_store::{JobSearch, shown_target};
use serde_json::Value;

use super::{aside, readable};
use crate::answer::{Answer, trouble};
use crate::job::in_flight;
use crate::operation::Operation;
use crate::request::Call;
use crate::state::ApiState;
use crate::unreadable;

/// The most jobs that one request looks at. A filter that matches fewer takes several requests.
pub(super) const VISIT_MAX: usize = 20_000;

/// The most latest outcomes of a job.
const RECENT_MAX: usize = 30;

/// The most records, and the most skips, that are read for the latest outcomes of a job: a few attempts for each.
const RECENT_ROWS_MAX: usize = 3 * RECENT_MAX;

pub(crate) async fn jobs(state: &ApiState, asked: &Operation, call: &Call<'_>) -> Result<Answer, ApiError> {
    call.own_version("jobs")?;
    let JobsQuery { scope, filter, sort, after, limit, recent, count } = JobsQuery::read(&call.query)?;
    let scopes = readable(asked, call, &scope)?;
    let search = JobSearch { scopes, filter, sort, after, limit, visit_max: VISIT_MAX };
    let found = state.store.search(&search).await.map_err(|error| trouble(&error))?;
    let count = if count {
        let count = state.store.search_count(&search).await.map_err(|error| trouble(&error))?;
        Some((count.number, count.capped))
    } else {
        None
    };
    let rows = Rows::read(
        state,
        found.jobs.into_iter().map(|(job, collection)| (job, collection, None)).collect(),
        recent,
    )
    .await?;
    let (next, now) = (found.next, state.now());
    let body: Value = aside(move || {
        let rows = rows.render(now);
        job_row::answer_list(rows, next.as_ref(), count).to_value()
    })
    .await?;
    Ok(unreadable::tell(state, Answer::ok(&body)?, &found.unreadable))
}

/// The jobs of a list, with all that is shown of them.
pub(super) struct Rows {
    jobs: Vec<(Job, Collection, Option<Timestamp>)>,
    in_flight: Vec<JobId>,
    recent: Option<Vec<RecentPast>>,
}

impl Rows {
    /// Reads what is shown besides; each job comes with the occurrence that the list is about, if it is about one.
    pub(super) async fn read(
        state: &ApiState,
        jobs: Vec<(Job, Collection, Option<Timestamp>)>,
        recent: bool,
    ) -> Result<Self, ApiError> {
        let in_flight = in_flight(state, jobs.iter().map(|(job, ..)| job)).await?;
        let recent = if recent {
            let ids: Vec<JobId> = jobs.iter().map(|(job, ..)| job.id).collect();
            Some(state.store.recent(&ids, RECENT_ROWS_MAX).await.map_err(|error| trouble(&error))?)
        } else {
            None
        };
        Ok(Self { jobs, in_flight, recent })
    }

    /// Renders them.
    pub(super) fn render(&self, now: Timestamp) -> Vec<punctual_arm::Json<'_>> {
        let mut rendered = Vec::with_capacity(self.jobs.len());
        for (index, (job, collection, due_at)) in self.jobs.iter().enumerate() {
            let in_flight = self.in_flight.contains(&job.id);
            let past = self.recent.as_ref().and_then(|recent| recent.get(index));
            rendered.push(job_row::answer(JobRow {
                job,
                collection,
                target: shown_target(&job.spec.action.kind),
                next_at: decide::next_execution_at(job, collection.enabled(), in_flight),
                in_flight,
                recent: past.map(|past| past.outcomes(job, in_flight, now, RECENT_MAX)),
                due_at: *due_at,
            }));
        }
        rendered
    }
}
