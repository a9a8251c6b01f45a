//! Converts bodies into the model, away from the async threads where that may be costly.

use punctual_arm::ApiError;

/// Runs a conversion of a body. Opening a certificate file takes as many rounds of key derivation as its author
/// chose, so a body that may contain one is converted on a blocking thread; all others, by far the most, at once.
pub(super) async fn convert<T: Send + 'static>(
    body: &[u8],
    conversion: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    let costly = body.windows(3).any(|part| part.eq_ignore_ascii_case(b"pfx") || part == b"\\u0");
    if !costly {
        return conversion();
    }
    tokio::task::spawn_blocking(conversion).await.unwrap_or_else(|_| Err(ApiError::internal()))
}
