//! A connection over HTTP/2, shared by all requests to its origin. It has a task of its own.

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
use super::pool::Unanswered;
use crate::connector::{Contact, Stream};

/// How much of a body a target may send ahead before we ask for more; two kilobytes are kept.
const STREAM_WINDOW_BYTES: u32 = 16 * 1024;

/// The same for one connection with all its streams.
const CONNECTION_WINDOW_BYTES: u32 = 1024 * 1024;

/// How often a connection is asked whether it still lives, while requests wait on it. Without it one dead peer
/// would take every later request with it.
const PING_EVERY: Duration = Duration::from_secs(10);

#[derive(Clone)]
pub(super) struct Http2 {
    sender: SendRequest<Full<Bytes>>,
    /// It has carried an answer.
    used: Arc<AtomicBool>,
    pub(super) contact: Contact,
}

impl Http2 {
    pub(super) async fn open(stream: Stream, contact: Contact) -> Result<Self, hyper::Error> {
        let handshake = Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .max_header_list_size(HEAD_BYTES_MAX as u32)
            .initial_stream_window_size(STREAM_WINDOW_BYTES)
            .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
            .keep_alive_interval(PING_EVERY)
            .keep_alive_timeout(PING_EVERY)
            .handshake(stream);
        let (sender, driver) = handshake.await?;
        // It ends when its last sender is gone. Whoever waits for an answer is told of its errors.
        tokio::spawn(async move { driver.await.ok() });
        Ok(Self { sender, used: Arc::default(), contact })
    }

    /// Sends a request and reads what is wanted of the answer.
    pub(super) async fn exchange(
        &mut self,
        request: Request<Full<Bytes>>,
        wanted: impl Fn(&Parts) -> usize,
    ) -> Result<Answer, Unanswered> {
        let response = self.sender.try_send_request(request).await.map_err(|mut error| {
            let unsent = error.take_message();
            Unanswered { stale: self.used.load(Ordering::Relaxed), unsent, error: error.into_error() }
        })?;
        self.used.store(true, Ordering::Relaxed);
        Answer::read(response, wanted, |_| ()).await.map_err(Unanswered::broken)
    }

    pub(super) fn is_open(&self) -> bool {
        !self.sender.is_closed()
    }

    /// Whether it is this very connection.
    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.used, &other.used)
    }
}
