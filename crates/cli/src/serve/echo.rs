//! The echo target: a small HTTP server on loopback that answers what it was sent.
//!
//! A first job needs something to call, and jobs may not call the server itself. It repeats the method, the path, the
//! scheduler's own headers and the beginning of the body, as plain text. It repeats no other header, since those may
//! hold credentials. Each connection, the number of them and what is read of each are bounded.

use std::convert::Infallible;
use std::fmt::Write;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::sync::{Semaphore, watch};

/// How long a connection may last.
const CONNECTION_TIME_MAX: Duration = Duration::from_secs(30);

/// The largest head of a request.
const HEAD_BYTES_MAX: usize = 32 * 1024;

/// The largest body.
const BODY_BYTES_MAX: usize = 16 * 1024;

/// How much of the body is repeated: what a history record shows of an answer.
const REPEATED_CHARS_MAX: usize = 512;

/// A pause after a connection could not be accepted, such as for want of file descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// Opens the port: the wanted one, or any if that is taken, perhaps by another Punctual.
pub(super) fn bind(wanted: SocketAddr) -> anyhow::Result<TcpListener> {
    let listener = TcpListener::bind(wanted).or_else(|_| TcpListener::bind((wanted.ip(), 0)));
    let listener = listener.with_context(|| format!("could not listen on {wanted} for the echo target"))?;
    listener.set_nonblocking(true).context("could not set up the echo target")?;
    Ok(listener)
}

/// Answers until it is told to stop. So many connections are open at once; others wait until one ends.
pub(super) async fn serve(
    listener: TcpListener,
    connections_max: usize,
    mut stopping: watch::Receiver<bool>,
) {
    let listener = match tokio::net::TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => {
            tracing::error!(%error, "the echo target could not be started");
            let _ = stopping.wait_for(|stopping| *stopping).await;
            return;
        }
    };
    let room = Arc::new(Semaphore::new(connections_max));
    let accepting = async {
        loop {
            let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return };
            let Ok((stream, _)) = listener.accept().await else {
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            tokio::spawn(async move {
                let serving = http1::Builder::new()
                    .timer(TokioTimer::new())
                    .max_buf_size(HEAD_BYTES_MAX)
                    .serve_connection(TokioIo::new(stream), service_fn(answer));
                // Whoever breaks off does not matter here.
                let _ = tokio::time::timeout(CONNECTION_TIME_MAX, serving).await;
                drop(permit);
            });
        }
    };
    tokio::select! {
        () = accepting => {}
        _ = stopping.wait_for(|stopping| *stopping) => {}
    }
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let mut response = match Limited::new(body, BODY_BYTES_MAX).collect().await {
        Ok(body) => {
            let mut text = format!("{} {}\n", head.method, head.uri.path());
            let own = head.headers.iter().filter(|(name, _)| name.as_str().starts_with("x-ms-"));
            for (name, value) in own {
                // Writing to a string can't fail.
                let _ = writeln!(text, "{name}: {}", String::from_utf8_lossy(value.as_bytes()));
            }
            let body = body.to_bytes();
            text.extend(String::from_utf8_lossy(&body).chars().take(REPEATED_CHARS_MAX));
            Response::new(Full::from(text))
        }
        Err(_) => {
            let mut response = Response::new(Full::from("The body is too large, or was broken off.\n"));
            *response.status_mut() = StatusCode::PAYLOAD_TOO_LARGE;
            response
        }
    };
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    // What a page sends here must not become a page.
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    Ok(response)
}
