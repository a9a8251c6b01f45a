//! Bounds what a caller's connection may cost before a request is read.

use std::time::Duration;

use hyper_util::rt::{TokioExecutor, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use punctual_api::{HEAD_BYTES_MAX, HEADERS_MAX};

/// The largest list of headers that HTTP/2 accepts. It is larger than what the API allows, so that the API can refuse
/// in its own form. Above it the library `h2` answers 431 without a body, and lets nobody replace that: the frames
/// are compressed and belong to a stream, so that they can't be exchanged on the way as for HTTP/1.1. Clients are
/// told of the limit when they connect.
const HTTP2_HEAD_BYTES_MAX: u32 = 256 * 1024;

/// A caller that takes longer to send the head of a request is gone, or tries to occupy a connection.
const HEAD_TIME_MAX: Duration = Duration::from_secs(15);

/// The most concurrent requests of one HTTP/2 connection.
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
        .max_header_list_size(HTTP2_HEAD_BYTES_MAX)
        .max_concurrent_streams(STREAMS_MAX);
}
