//! The echo target: a small HTTP server on loopback that answers what it was sent.
//!
//! A first job needs something to call, and jobs may not call the server itself. It repeats the method, the path, the
//! scheduler's own headers and the beginning of the body, as plain text. It repeats no other header, since those may
//! hold credentials. Paths that begin so answer otherwise: `/status/503/…` with that status, `/flaky/10/…` with 503 every tenth
//! time, `/slow/250/…` after so many milliseconds. Each connection, the number of them and what is read of each are bounded.

use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt::Write;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};
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

/// The longest that an answer may be asked to take.
const SLOW_MAX: Duration = Duration::from_secs(20);

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
    let counts = Arc::new(Counts::default());
    let accepting = async {
        loop {
            let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return };
            let Ok((stream, _)) = listener.accept().await else {
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            let counts = Arc::clone(&counts);
            tokio::spawn(async move {
                let answer = |request| answer(request, &counts);
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

/// How many paths are counted; beyond that all counts begin anew.
const COUNTS_MAX: usize = 1_000;

/// How often each path was asked for that fails every so many times.
#[derive(Default)]
struct Counts(Mutex<HashMap<String, u64>>);

impl Counts {
    fn next(&self, path: &str) -> u64 {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.len() >= COUNTS_MAX && !counts.contains_key(path) {
            counts.clear();
        }
        let count = counts.entry(path.to_owned()).or_default();
        *count += 1;
        *count
    }
}

/// What the path of a request asks for.
#[derive(Debug, PartialEq, Eq)]
enum Wish {
    Echo,
    Status(StatusCode),
    /// Every so many times it fails.
    Flaky(u64),
    Slow(Duration),
}

impl Wish {
    fn of(path: &str) -> Self {
        let mut segments = path.trim_start_matches('/').split('/');
        let (what, number) = (segments.next().unwrap_or_default(), segments.next().unwrap_or_default());
        let number: Option<u64> = number.parse().ok();
        match (what, number) {
            ("status", Some(code)) => {
                let code = u16::try_from(code).ok().filter(|code| (200..600).contains(code));
                code.and_then(|code| StatusCode::from_u16(code).ok()).map_or(Self::Echo, Self::Status)
            }
            ("flaky", Some(times)) if times > 0 => Self::Flaky(times),
            ("slow", Some(millis)) => Self::Slow(Duration::from_millis(millis).min(SLOW_MAX)),
            _ => Self::Echo,
        }
    }

    /// The status of the answer, when it is time for it.
    async fn come_true(self, path: &str, counts: &Counts) -> StatusCode {
        match self {
            Self::Echo => StatusCode::OK,
            Self::Status(status) => status,
            Self::Flaky(times) => {
                if counts.next(path).is_multiple_of(times) {
                    StatusCode::SERVICE_UNAVAILABLE
                } else {
                    StatusCode::OK
                }
            }
            Self::Slow(time) => {
                tokio::time::sleep(time).await;
                StatusCode::OK
            }
        }
    }
}

async fn answer(request: Request<Incoming>, counts: &Counts) -> Result<Response<Full<Bytes>>, Infallible> {
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
            let mut response = Response::new(Full::from(text));
            *response.status_mut() = Wish::of(head.uri.path()).come_true(head.uri.path(), counts).await;
            response
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_may_ask_for_a_status_for_failures_or_for_patience() {
        let check = |path: &str, expected: Wish| assert_eq!(Wish::of(path), expected, "{path}");
        check("/", Wish::Echo);
        check("/orders", Wish::Echo);
        check("/status/503", Wish::Status(StatusCode::SERVICE_UNAVAILABLE));
        check("/status/410/rates", Wish::Status(StatusCode::GONE));
        check("/flaky/10/x", Wish::Flaky(10));
        check("/slow/250", Wish::Slow(Duration::from_millis(250)));
        check("/slow/99999999", Wish::Slow(SLOW_MAX));
        for odd in [
            "/status",
            "/status/x",
            "/status/100",
            "/status/1000",
            "/status/65736",
            "/flaky/0",
            "/flaky/-1",
            "/statuses/500",
        ] {
            check(odd, Wish::Echo);
        }
    }

    #[tokio::test]
    async fn what_is_flaky_fails_every_so_many_times() {
        let counts = Counts::default();
        let mut failed = Vec::new();
        for number in 1..=6 {
            if Wish::Flaky(3).come_true("/flaky/3/a", &counts).await != StatusCode::OK {
                failed.push(number);
            }
            assert_eq!(Wish::Flaky(100).come_true("/flaky/100/b", &counts).await, StatusCode::OK);
        }
        assert_eq!(failed, [3, 6]);
    }
}
