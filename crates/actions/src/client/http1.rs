//! HTTP/1.1 connections.
//!
//! A connection has no task of its own. The attempt that uses it polls the request and the connection together, which
//! saves two tasks that wake each other. An idle connection is not polled: that the target has closed it is noticed
//! when it is taken from the pool, or when the pool is swept.

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
use super::pool::ExchangeError;
use crate::connector::Stream;
use crate::peer::Peer;

pub(super) struct Http1 {
    sender: SendRequest<Full<Bytes>>,
    /// `None` once the connection has ended.
    driver: Option<Connection<Stream, Full<Bytes>>>,
    /// An answer was received on it.
    pub(super) used: bool,
    pub(super) peer: Peer,
}

impl Http1 {
    pub(super) async fn open(stream: Stream, peer: Peer) -> Result<Box<Self>, hyper::Error> {
        // Requests are small: copying head and body into one buffer is cheaper than a vectored write.
        let (sender, driver) =
            Builder::new().max_buf_size(HEAD_BYTES_MAX).writev(false).handshake(stream).await?;
        Ok(Box::new(Self { sender, driver: Some(driver), used: false, peer }))
    }

    /// Sends a request and reads the answer, with up to `body_limit` bytes of its body.
    pub(super) async fn exchange(
        &mut self,
        request: Request<Full<Bytes>>,
        body_limit: impl Fn(&Parts) -> usize,
    ) -> Result<Answer, ExchangeError> {
        let mut head = pin!(self.sender.try_send_request(request));
        let driver = &mut self.driver;
        let response = poll_fn(|cx| {
            drive(driver, cx);
            head.as_mut().poll(cx)
        });
        let response = response.await.map_err(|mut error: TrySendError<Request<Full<Bytes>>>| {
            let unsent = error.take_message();
            ExchangeError { reused: self.used, unsent, error: error.into_error() }
        })?;
        self.used = true;
        let driver = &mut self.driver;
        Answer::read(response, body_limit, |cx| drive(driver, cx)).await.map_err(ExchangeError::broken)
    }

    /// Whether another request may be sent: the last exchange is complete and the target has not closed the
    /// connection.
    pub(super) fn is_open(&mut self, cx: &mut Context<'_>) -> bool {
        drive(&mut self.driver, cx);
        self.driver.is_some() && self.sender.is_ready()
    }

    /// The same outside of a task: nobody is woken later.
    pub(super) fn is_open_now(&mut self) -> bool {
        self.is_open(&mut Context::from_waker(Waker::noop()))
    }

    /// Closes it in an orderly way.
    pub(super) async fn close(self) {
        let Self { sender, driver, .. } = self;
        drop(sender);
        if let Some(driver) = driver {
            // No attempt uses the connection any more, so an error does not matter.
            let _ = driver.await;
        }
    }
}

/// Polls the connection. One that has ended is dropped, so that a request that it has not sent yet gets an error.
fn drive(driver: &mut Option<Connection<Stream, Full<Bytes>>>, cx: &mut Context<'_>) {
    if let Some(running) = driver
        && let Poll::Ready(_) = Pin::new(running).poll(cx)
    {
        *driver = None;
    }
}
