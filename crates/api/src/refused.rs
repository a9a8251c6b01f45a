//! Requests that are refused before they are routed.
//!
//! The server refuses a head that it can't read, or that is too large, before any routing. Its answer is made
//! here, so that it has the form of every other error. What can be read is refused if it is too long, addressed to
//! somebody else, or sent by a page of another site.

use http::request::Parts;
use http::{HeaderMap, Method, Response};
use punctual_arm::ApiError;

use crate::answer::{Answer, Ids};
use crate::operation::{NoOperation, Operation};
use crate::request::TARGET_BYTES_MAX;
use crate::route::Endpoint;
use crate::state::{ApiState, Settings};
use crate::{host, origin};

/// The largest head of a request: names and values of its headers.
pub const HEAD_BYTES_MAX: usize = 64 * 1024;

/// The most headers of a request.
pub const HEADERS_MAX: usize = 100;

/// The answer to a request whose head the server refuses with this status.
pub fn refused_head(state: &ApiState, status: u16) -> Response<Vec<u8>> {
    let error = match status {
        414 => ApiError::uri_too_long(TARGET_BYTES_MAX),
        431 => headers_too_large(),
        _ => ApiError::bad_request("The request is not HTTP that the server can read."),
    };
    let (parts, _) = Answer::error(&error).into_response(&Ids::new(state), &Method::GET).into_parts();
    Response::from_parts(parts, error.to_json().to_string().into_bytes())
}

/// Refuses a request for what its head says, before it is asked who sent it.
pub(crate) fn check(
    parts: &Parts,
    found: &Result<Operation, NoOperation>,
    settings: &Settings,
) -> Result<(), ApiError> {
    let target = parts.uri.path_and_query().map_or(0, |target| target.as_str().len());
    if target > TARGET_BYTES_MAX {
        return Err(ApiError::uri_too_long(TARGET_BYTES_MAX));
    }
    if let Some(error) = refused_headers(&parts.headers) {
        return Err(error);
    }
    // Probes come by whatever name their configuration has, and are told nothing that a stranger may not know.
    let probe = found
        .as_ref()
        .is_ok_and(|operation| matches!(operation.route.endpoint, Endpoint::Live | Endpoint::Ready));
    let addressed = match host::addressed(parts) {
        Err(_) if probe => None,
        addressed => addressed?,
    };
    if !probe {
        host::check(addressed.as_ref(), &settings.hosts)?;
    }
    origin::check(parts, addressed.as_ref(), settings)
}

/// Why the headers of a request are refused, if they are. Over HTTP/1.1 the server has refused such a head
/// already.
fn refused_headers(headers: &HeaderMap) -> Option<ApiError> {
    let bytes: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    (bytes > HEAD_BYTES_MAX || headers.len() > HEADERS_MAX).then(headers_too_large)
}

fn headers_too_large() -> ApiError {
    ApiError::headers_too_large(HEAD_BYTES_MAX, HEADERS_MAX)
}
