//! `GET /openapi.json`: the description of this API.

use punctual_arm::ApiError;

use crate::answer::{Answer, JSON};

/// The published description.
const DOCUMENT: &str = include_str!("../openapi.json");

pub(crate) fn get() -> Result<Answer, ApiError> {
    Answer::content(JSON, DOCUMENT)
}
