//! A connection over HTTP/1.1, kept going by whoever uses it.
//!
//! It has no task of its own: a request and its connection are polled together, so that no firing pays for
//! two tasks that wake each other. Nobody polls a connection while it is idle; that the target has hung up is
//! seen when it is taken from the pool, or when the pool is swept.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::Request;
use http::response::Parts;
use http_body_util::Full;
use hyper::client::conn::TrySendError;
use hyper::client::conn::http1::{Builder, Connection, SendRequest};

use super::HEAD_BYTES_MAX;
use super::answer::Answer;
use super::pool::Unanswered;
use crate::connector::{Contact, Stream};

pub(super) struct Http1 {
    sender: SendRequest<Full<Bytes>>,
    /// None once the connection has ended.
    driver: Option<Connection<Stream, Full<Bytes>>>,
    /// It has carried an answer.
    pub(super) used: bool,
    pub(super) contact: Contact,
}

impl Http1 {
    pub(super) async fn open(stream: Stream, contact: Contact) -> Result<Box<Self>, hyper::Error> {
        // Requests are small: head and body in one piece are cheaper than two slices.
        let (sender, driver) =
            Builder::new().max_buf_size(HEAD_BYTES_MAX).writev(false).handshake(stream).await?;
        Ok(Box::new(Self { sender, driver: Some(driver), used: false, contact }))
    }

    /// Sends a request and reads what is wanted of the answer.
    pub(super) async fn exchange(
        &mut self,
        request: Request<Full<Bytes>>,
        wanted: impl Fn(&Parts) -> usize,
    ) -> Result<Answer, Unanswered> {
        let mut head = pin!(self.sender.try_send_request(request));
        let driver = &mut self.driver;
        let response = poll_fn(|cx| {
            drive(driver, cx);
            head.as_mut().poll(cx)
        });
        let response = response.await.map_err(|mut error: TrySendError<Request<Full<Bytes>>>| {
            let unsent = error.take_message();
            Unanswered { stale: self.used, unsent, error: error.into_error() }
        })?;
        self.used = true;
        let driver = &mut self.driver;
        Answer::read(response, wanted, |cx| drive(driver, cx)).await.map_err(Unanswered::broken)
    }

    /// Whether another request may be sent: the last exchange is over and the target has not hung up.
    pub(super) fn is_open(&mut self, cx: &mut Context<'_>) -> bool {
        drive(&mut self.driver, cx);
        self.driver.is_some() && self.sender.is_ready()
    }

    /// The same, asked by somebody who does not wait for an answer.
    pub(super) fn is_open_now(&mut self) -> bool {
        self.is_open(&mut Context::from_waker(Waker::noop()))
    }

    /// Closes it as the protocol wants it closed, as long as somebody polls this.
    pub(super) async fn close(self) {
        let Self { sender, driver, .. } = self;
        drop(sender);
        if let Some(driver) = driver {
            // There is nobody left whom an error would concern.
            let _ = driver.await;
        }
    }
}

/// Does what can be done without waiting. A connection that has ended is dropped, so that a request that it did
/// not take is told.
fn drive(driver: &mut Option<Connection<Stream, Full<Bytes>>>, cx: &mut Context<'_>) {
    if let Some(running) = driver
        && let Poll::Ready(_) = Pin::new(running).poll(cx)
    {
        *driver = None;
    }
}
