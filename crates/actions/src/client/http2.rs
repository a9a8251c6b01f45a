//! HTTP/2 connections. All requests to an origin share one, so it has a task of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http::response::Parts;
use http_body_util::Full;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioTimer};

use super::HEAD_BYTES_MAX;
use super::answer::Answer;
use super::pool::ExchangeError;
use crate::connector::Stream;
use crate::peer::Peer;

/// The flow-control window of a stream. Only two kilobytes of a body are read.
const STREAM_WINDOW_BYTES: u32 = 16 * 1024;

/// The flow-control window of a connection with all its streams.
const CONNECTION_WINDOW_BYTES: u32 = 1024 * 1024;

/// How often the peer is pinged while requests are in flight. Without pings, a connection to a dead peer would stay
/// in use and fail every later request.
const PING_EVERY: Duration = Duration::from_secs(10);

#[derive(Clone)]
pub(super) struct Http2 {
    sender: SendRequest<Full<Bytes>>,
    /// An answer was received on it.
    used: Arc<AtomicBool>,
    pub(super) peer: Peer,
}

impl Http2 {
    pub(super) async fn open(stream: Stream, peer: Peer) -> Result<Self, hyper::Error> {
        let handshake = Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .max_header_list_size(HEAD_BYTES_MAX as u32)
            .initial_stream_window_size(STREAM_WINDOW_BYTES)
            .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
            .keep_alive_interval(PING_EVERY)
            .keep_alive_timeout(PING_EVERY)
            .handshake(stream);
        let (sender, driver) = handshake.await?;
        // The task ends when the last sender is dropped. Its errors reach the requests in flight.
        tokio::spawn(async move { driver.await.ok() });
        Ok(Self { sender, used: Arc::default(), peer })
    }

    /// Sends a request and reads the answer, with up to `body_limit` bytes of its body.
    pub(super) async fn exchange(
        &mut self,
        request: Request<Full<Bytes>>,
        body_limit: impl Fn(&Parts) -> usize,
    ) -> Result<Answer, ExchangeError> {
        let response = self.sender.try_send_request(request).await.map_err(|mut error| {
            let unsent = error.take_message();
            ExchangeError { reused: self.used.load(Ordering::Relaxed), unsent, error: error.into_error() }
        })?;
        self.used.store(true, Ordering::Relaxed);
        Answer::read(response, body_limit, |_| ()).await.map_err(ExchangeError::broken)
    }

    pub(super) fn is_open(&self) -> bool {
        !self.sender.is_closed()
    }

    /// Whether both are handles to the same connection.
    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.used, &other.used)
    }
}
