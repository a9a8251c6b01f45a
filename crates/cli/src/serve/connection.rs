//! What a caller's connection may cost before a request is even read.

use std::time::Duration;

use hyper_util::rt::{TokioExecutor, TokioTimer};
use hyper_util::server::conn::auto::Builder;

/// The largest head of a request: a path and query of 8 KiB, and headers.
const HEAD_BYTES_MAX: usize = 64 * 1024;

/// The most headers of a request.
const HEADERS_MAX: usize = 100;

/// A caller that takes longer to send the head of a request is gone, or wants to hold a connection.
const HEAD_TIME_MAX: Duration = Duration::from_secs(15);

/// How many requests one HTTP/2 connection may have under way.
const STREAMS_MAX: u32 = 128;

pub(super) fn bound(builder: &mut Builder<TokioExecutor>) {
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME_MAX)
        .max_buf_size(HEAD_BYTES_MAX)
        .max_headers(HEADERS_MAX);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(u32::try_from(HEAD_BYTES_MAX).expect("64 KiB fit"))
        .max_concurrent_streams(STREAMS_MAX);
}
