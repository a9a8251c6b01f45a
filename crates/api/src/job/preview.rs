//! `POST …/preview`: when a definition would run, what may surprise, and all that is wrong with it, before it is written
//!
//! It reads no more than the collection, the job of that name and a bounded piece of the agenda. What takes arithmetic is
//! done on a thread for that, few at a time: a rule may be hard to search.

use jiff::{SignedDuration, Timestamp};
use punctual_arm::job::{DraftMethod, read_draft};
use punctual_arm::preview::{PreviewRequest, Previewed, PreviewedJob};
use punctual_arm::{ApiError, ApiVersion, JobContext, id};
use punctual_model::access::{Caller, Role};
use punctual_model::{Collection, CollectionKey, Job, Scope};
use punctual_store::DueCountAsk;

use super::load;
use crate::answer::{Answer, trouble};
use crate::request::{Call, UnreadBody};
use crate::state::ApiState;

/// From so many other jobs in the same second on a preview warns of them.
const HERD_MIN: usize = 100;

/// The most entries of the agenda that are looked at.
const HERD_MAX: usize = 10_000;

pub(crate) async fn preview(
    state: &ApiState,
    call: &Call<'_>,
    body: UnreadBody,
    key: &CollectionKey,
) -> Result<Answer, ApiError> {
    let version = call.own_version("preview")?;
    let body = body.into_bytes().await?;
    let asked = PreviewRequest::read(&body)?;
    let (collection, existing) = match &asked.name {
        Some(name) => load(state, &key.job(name.as_str())).await?,
        None => {
            let found = state.store.collection(key).await.map_err(|error| trouble(&error))?;
            (found.ok_or_else(|| ApiError::collection_not_found(key))?, None)
        }
    };
    let method = existing.as_ref().map_or(DraftMethod::Put, |_| asked.method.unwrap_or(DraftMethod::Patch));
    let now = asked.now.unwrap_or_else(|| state.now());
    let mut shown = {
        let context = context(state, version, &collection, existing.as_ref(), method, now);
        let (existing, collection, limits) = (existing.clone(), collection.clone(), state.settings.limits);
        let convert = move |opening| {
            let existing = existing.as_ref();
            let draft = read_draft(&body, existing, method, &context, opening)?;
            let (collection, limits) = (&collection, &limits);
            let job = PreviewedJob { draft: &draft, method, existing, collection, limits, now };
            Ok(job.preview(asked.count))
        };
        state.openers.calculate(convert).await?
    };
    if let Some(Err(error)) = asked.name.as_deref().map(|name| id::check_job(&key.job(name))) {
        shown.add_problem("name", error.message);
    }
    warn_of_herd(state, &call.caller, key, existing.as_ref(), &mut shown).await?;
    Answer::ok(&shown.to_json())
}

/// What reading a definition depends on that is going to be written like this.
pub(super) fn context(
    state: &ApiState,
    version: ApiVersion,
    collection: &Collection,
    existing: Option<&Job>,
    method: DraftMethod,
    now: Timestamp,
) -> JobContext {
    let put_at = existing.filter(|_| method == DraftMethod::Patch).map_or(now, |job| job.put_at);
    let (sku, limits) = (collection.sku, state.settings.limits);
    JobContext {
        version,
        sku,
        limits,
        now,
        put_at,
        credential_headers: state.settings.credential_headers.clone(),
    }
}

/// Warns if many other jobs are due in the same second as this one is next. Counts what the caller may read.
async fn warn_of_herd(
    state: &ApiState,
    caller: &Caller,
    key: &CollectionKey,
    existing: Option<&Job>,
    shown: &mut Previewed,
) -> Result<(), ApiError> {
    let second = shown.next_at().and_then(|at| Timestamp::from_second(at.as_second()).ok());
    let Some((from, until)) = second.and_then(|from| Some((from, from.checked_add(SECOND).ok()?))) else {
        return Ok(());
    };
    let scopes = [
        Scope::Everything,
        Scope::Subscription(key.group.subscription.clone()),
        Scope::Group(key.group.clone()),
    ];
    let widest = scopes.into_iter().find(|scope| caller.may(Role::Reader, scope));
    let scope = widest.unwrap_or_else(|| Scope::Collection(key.clone()));
    let ask = DueCountAsk { scope, from, until, limit: HERD_MAX };
    let count = state.store.due_count(&ask).await.map_err(|error| trouble(&error))?;
    let own = existing.and_then(|job| job.progress.entry);
    let own = own.is_some_and(|entry| from <= entry.due_at && entry.due_at < until);
    let others = count.saturating_sub(usize::from(own));
    if others >= HERD_MIN {
        shown.warn_of_herd(from, others, count == HERD_MAX);
    }
    Ok(())
}

const SECOND: SignedDuration = SignedDuration::from_secs(1);
