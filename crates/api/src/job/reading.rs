//! Reading bodies that may be costly away from the threads that serve everybody.

use punctual_arm::ApiError;

/// Opening a certificate file takes as many rounds of key derivation as its author liked. Such a body is
/// read on a thread of its own; all others, by far the most, right here.
pub(super) async fn read<T: Send + 'static>(
    body: &[u8],
    reading: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    let costly = body.windows(3).any(|part| part.eq_ignore_ascii_case(b"pfx") || part == b"\\u0");
    if !costly {
        return reading();
    }
    tokio::task::spawn_blocking(reading).await.unwrap_or_else(|_| Err(ApiError::internal()))
}
