//! Jobs.

use punctual_model::JobState;

/// A job's state as it is written: in lower case.
pub(crate) fn state_name(state: JobState) -> &'static str {
    match state {
        JobState::Enabled => "enabled",
        JobState::Disabled => "disabled",
        JobState::Completed => "completed",
        JobState::Faulted => "faulted",
    }
}
