//! The operations of job collections.

mod delete;
mod get;
mod list;
mod patch;
mod put;
mod switch;

pub(crate) use delete::delete;
pub(crate) use get::{get, head};
pub(crate) use list::{gather, list};
pub(crate) use patch::patch;
pub(crate) use put::put;
pub(crate) use switch::switch;

use punctual_arm::ApiError;
use punctual_model::{Collection, CollectionKey};

use crate::answer::trouble;
use crate::state::ApiState;

async fn load(state: &ApiState, key: &CollectionKey) -> Result<Option<Collection>, ApiError> {
    state.store.collection(key).await.map_err(|error| trouble(&error))
}

async fn find(state: &ApiState, key: &CollectionKey) -> Result<Collection, ApiError> {
    load(state, key).await?.ok_or_else(|| ApiError::collection_not_found(key))
}
