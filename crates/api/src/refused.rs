//! Requests that are refused before they are routed.
//!
//! The server refuses a head that it can't read, or that is too large, before any routing. Its answer is made
//! here, so that it has the form of every other error.

use http::{HeaderMap, Method, Response};
use punctual_arm::ApiError;

use crate::answer::{Answer, Ids};
use crate::state::ApiState;

/// The largest head of a request: names and values of its headers.
pub const HEAD_BYTES_MAX: usize = 64 * 1024;

/// The most headers of a request.
pub const HEADERS_MAX: usize = 100;

/// The answer to a request whose head the server refuses with this status.
pub fn refused_head(state: &ApiState, status: u16) -> Response<Vec<u8>> {
    let error = match status {
        414 => ApiError::uri_too_long(crate::request::TARGET_BYTES_MAX),
        431 => headers_too_large(),
        _ => ApiError::bad_request("The request is not HTTP that the server can read."),
    };
    let (parts, _) = Answer::error(&error).into_response(&Ids::new(state), &Method::GET).into_parts();
    Response::from_parts(parts, error.to_json().to_string().into_bytes())
}

/// Why the headers of a request are refused, if they are. Over HTTP/1.1 the server has refused such a head
/// already.
pub(crate) fn refused_headers(headers: &HeaderMap) -> Option<ApiError> {
    let bytes: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    (bytes > HEAD_BYTES_MAX || headers.len() > HEADERS_MAX).then(headers_too_large)
}

fn headers_too_large() -> ApiError {
    ApiError::headers_too_large(HEAD_BYTES_MAX, HEADERS_MAX)
}
