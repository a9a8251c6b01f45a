//! `GET …/jobs/{job}/history`: newest first

use punctual_arm::{ApiError, HistoryPage, history as arm_history, page};
use punctual_model::JobKey;
use punctual_store::{HistoryAsk, HistoryCursor};

use super::find_id;
use crate::answer::{Answer, trouble};
use crate::request::Call;
use crate::state::ApiState;
use crate::unreadable;

pub(crate) async fn history(state: &ApiState, call: &Call<'_>, key: &JobKey) -> Result<Answer, ApiError> {
    call.version()?;
    let page = HistoryPage::read(&call.query)?;
    let (job, key) = find_id(state, key).await?;
    if page.empty {
        return Answer::ok(&page::answer(Vec::new(), None));
    }
    let after = page.after.map(|(started_at, sequence)| HistoryCursor { started_at, sequence });
    let HistoryPage { statuses, skip, limit, .. } = page;
    let ask = HistoryAsk { job, statuses, after, skip, limit };
    let records = state.store.history(&ask).await.map_err(|error| trouble(&error))?;
    let next = records.next.filter(|_| !page.topped).map(|last| {
        let token = HistoryPage::token(last.started_at, last.sequence);
        call.next_link(state, "$skiptoken", &token)
    });
    let shown = records.items.iter();
    let shown = shown.map(|stored| arm_history::answer(&key, &stored.record, stored.sequence));
    let answer = Answer::ok(&page::answer(shown.collect(), next))?;
    Ok(unreadable::tell(state, answer, &records.unreadable))
}
