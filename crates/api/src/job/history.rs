//! `GET …/jobs/{job}/history`: newest first

use punctual_arm::{ApiError, HistoryPage, history as arm_history, page};
use punctual_model::JobKey;
use punctual_store::{HistoryAsk, HistoryCursor};

use super::find;
use crate::answer::{Answer, trouble};
use crate::request::Call;
use crate::state::ApiState;

pub(crate) async fn history(state: &ApiState, call: &Call<'_>, key: &JobKey) -> Result<Answer, ApiError> {
    call.version()?;
    let page = HistoryPage::read(&call.query)?;
    let (_, job) = find(state, key).await?;
    if page.empty {
        return Answer::ok(&page::answer(Vec::new(), None));
    }
    let after = page.after.map(|(started_at, sequence)| HistoryCursor { started_at, sequence });
    // One more than is shown says whether there is more.
    let ask =
        HistoryAsk { job: job.id, statuses: page.statuses, after, skip: page.skip, limit: page.limit + 1 };
    let mut records = state.store.history(&ask).await.map_err(|error| trouble(&error))?;
    let more = records.len() > page.limit && !page.topped;
    records.truncate(page.limit);
    let last = records.last().filter(|_| more);
    let next = last.map(|last| {
        let token = HistoryPage::token(last.record.started_at, last.sequence);
        call.next_link(state, "$skiptoken", &token)
    });
    let values = records.iter().map(|stored| arm_history::answer(&job.key, &stored.record, stored.sequence));
    Answer::ok(&page::answer(values.collect(), next))
}
