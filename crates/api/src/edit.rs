//! Access to the edit layer, and its errors as errors of the API.

use punctual_arm::{ApiError, quota};
use punctual_edit::{EditError, Editor};

use punctual_model::audit::Author;

use crate::answer::trouble;
use crate::right::denied;
use crate::route;
use crate::state::ApiState;

impl ApiState {
    /// Makes changes that somebody wants.
    pub(crate) fn editor<'a>(&'a self, author: &'a Author) -> Editor<'a> {
        Editor {
            store: &*self.store,
            clock: &self.clock,
            limits: &self.settings.limits,
            author,
            audit_key: self.auditor.key(),
        }
    }

    /// The error for a caller whose change was not made.
    pub(crate) fn refused(&self, error: EditError<ApiError>) -> ApiError {
        let limits = &self.settings.limits;
        match error {
            EditError::Rejected(error) => error,
            EditError::Denied(who_and_where) => {
                let (caller, scope) = *who_and_where;
                denied(&caller, route::write_action(&scope), &scope)
            }
            EditError::NoGroup(key) => ApiError::group_not_found(&key.name),
            EditError::NoCollection(key) => ApiError::collection_not_found(&key),
            EditError::NoJob(key) => ApiError::job_not_found(&key),
            EditError::Final(key, state) => ApiError::job_is_final(&key, state),
            EditError::CollectionDisabled(key) => ApiError::collection_not_enabled(&key),
            EditError::TooManyRuns => ApiError::too_many_requests(),
            EditError::Forbidden(collection, forbidden) => quota::forbidden(&forbidden, &collection, limits),
            EditError::Obstructed(to, obstacles) => quota::obstructed(&obstacles, &to, limits),
            EditError::TooManyJobs(collection, max) => quota::too_many_jobs(max, &collection, limits),
            EditError::TooManyCollections(sku, max) => quota::too_many_collections(max, sku, limits),
            EditError::Contention => ApiError::write_contention(),
            EditError::Trouble(error) => trouble(&error),
        }
    }
}
