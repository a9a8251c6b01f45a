//! Serves one connection, within bounds: of size before a request is read, and of time throughout.

use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::http::Request;
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use punctual_api::{HEAD_BYTES_MAX, HEADERS_MAX, Peer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::either::Either;

use super::activity::{Activity, Asking, FIRST_BYTE_TIME_MAX};
use super::gate::Place;
use super::listener::Stopping;
use super::refused;
use super::watched::Watched;

/// The largest list of headers that HTTP/2 accepts. It is larger than what the API allows, so that the API can refuse
/// in its own form. Above it the library `h2` answers 431 without a body, and lets nobody replace that: the frames
/// are compressed and belong to a stream, so that they can't be exchanged on the way as for HTTP/1.1. Clients are
/// told of the limit when they connect.
const HTTP2_HEAD_BYTES_MAX: u32 = 256 * 1024;

/// The most concurrent requests of one HTTP/2 connection.
const STREAMS_MAX: u32 = 128;

/// How long a connection whose time is up has to say goodbye.
const CLOSING_TIME_MAX: Duration = Duration::from_secs(2);

/// One type for both kinds of streams, so that HTTP is compiled once, not twice.
type Stream = Either<TcpStream, TlsStream<TcpStream>>;

/// What all connections of a listener are served with.
pub(super) struct Connections {
    builder: Builder<TokioExecutor>,
    app: TowerToHyperService<Router>,
    tls: Option<TlsAcceptor>,
    refused: refused::Answer,
}

impl Connections {
    pub(super) fn new(app: Router, tls: Option<TlsAcceptor>, refused: refused::Answer) -> Self {
        let mut builder = Builder::new(TokioExecutor::new());
        // Time is watched by `activity`: hyper knows one time for the head of a request and for the pause before it.
        builder
            .http1()
            .timer(TokioTimer::new())
            .header_read_timeout(None)
            .max_buf_size(HEAD_BYTES_MAX)
            .max_headers(HEADERS_MAX);
        builder
            .http2()
            .timer(TokioTimer::new())
            .max_header_list_size(HTTP2_HEAD_BYTES_MAX)
            .max_concurrent_streams(STREAMS_MAX);
        Self { builder, app: TowerToHyperService::new(app), tls, refused }
    }

    /// Serves a connection to its end.
    pub(super) async fn serve(
        self: Arc<Self>,
        stream: TcpStream,
        peer: SocketAddr,
        place: Place,
        stopping: Stopping,
    ) {
        // Answers are written whole: there is nothing to wait for. Where it can't be set they are only later.
        let _ = stream.set_nodelay(true);
        let activity = Activity::new(place);
        let watched = Arc::clone(&activity);
        let serving = async {
            match &self.tls {
                None => self.serve_http(Stream::Left(stream), peer, activity, stopping).await,
                Some(tls) => {
                    let shaken = tokio::time::timeout(FIRST_BYTE_TIME_MAX, tls.accept(stream)).await;
                    // A caller that speaks no TLS, or no version of ours, is its own trouble.
                    if let Ok(Ok(stream)) = shaken {
                        self.serve_http(Stream::Right(stream), peer, activity, stopping).await;
                    }
                }
            }
        };
        tokio::select! {
            () = serving => {}
            () = watched.has_to_close() => {}
        }
    }

    async fn serve_http(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        peer: SocketAddr,
        activity: Arc<Activity>,
        mut stopping: Stopping,
    ) {
        let (app, begun) = (self.app.clone(), Arc::clone(&activity));
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(Peer(peer));
            let mut asking = begun.begin(request.version());
            let answering = app.call(request);
            async move {
                let answer = answering.await;
                asking.offered();
                answer.map(|answer| answer.map(|body| Attended { body, asking }))
            }
        });
        let stream = Watched::new(stream, Arc::clone(&activity));
        let stream = refused::Stream::new(stream, Arc::clone(&self.refused));
        let mut connection = pin!(self.builder.serve_connection(TokioIo::new(stream), service));
        let mut time = Time::new(activity);
        let mut told_to_stop = false;
        loop {
            tokio::select! {
                biased;
                // How it ended is the caller's business.
                _ = connection.as_mut() => return,
                () = stopping.begins(), if !told_to_stop => {
                    told_to_stop = true;
                    connection.as_mut().graceful_shutdown();
                }
                () = &mut time => {
                    if time.closing {
                        return;
                    }
                    time.close();
                    connection.as_mut().graceful_shutdown();
                }
            }
        }
    }
}

/// Is ready when the time of a connection is up. It asks at each poll when that is: whatever changes it also wakes the
/// connection, which is polled by the same task.
struct Time {
    activity: Arc<Activity>,
    sleep: Pin<Box<Sleep>>,
    closing: bool,
}

impl Time {
    fn new(activity: Arc<Activity>) -> Self {
        Self { activity, sleep: Box::pin(tokio::time::sleep(FIRST_BYTE_TIME_MAX)), closing: false }
    }

    /// From now on the connection has only so long as a goodbye takes.
    fn close(&mut self) {
        self.closing = true;
        self.sleep.as_mut().reset(Instant::now() + CLOSING_TIME_MAX);
    }
}

impl Future for Time {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        if !this.closing {
            let Some(deadline) = this.activity.deadline() else { return Poll::Pending };
            if deadline != this.sleep.deadline() {
                this.sleep.as_mut().reset(deadline);
            }
        }
        this.sleep.as_mut().poll(context)
    }
}

/// The body of an answer, which keeps its request open until the last part of it was taken.
struct Attended {
    body: Body,
    asking: Asking,
}

impl HttpBody for Attended {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = self.get_mut();
        this.asking.taken();
        let frame = Pin::new(&mut this.body).poll_frame(context);
        if let Poll::Ready(Some(_)) = &frame {
            // hyper asks again when the caller takes more.
            this.asking.offered();
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests;
