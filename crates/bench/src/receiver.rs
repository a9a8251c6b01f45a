//! The target of the firings: a minimal HTTP server on a thread of its own, which records when the request of
//! each job arrived.
//!
//! It shares the processors with the server, so it does as little as possible: one read, one look at the clock,
//! one store into a preallocated array, one write.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Context;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::oneshot;

use crate::client::{content_length, head_end};
use crate::clock;

/// The most connections that may wait to be accepted; the kernel may allow fewer.
const BACKLOG: u32 = 4_096;
/// A larger request is an error.
const REQUEST_BYTES_MAX: usize = 64 * 1024;
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";

/// A running receiver. Dropping it ends it.
pub(crate) struct Receiver {
    address: SocketAddr,
    log: Arc<Log>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What arrived.
pub(crate) struct Log {
    /// When the first request of each job arrived, in nanoseconds since 1970; 0 if none did.
    arrivals: Box<[AtomicU64]>,
    arrived: AtomicUsize,
    repeated: AtomicUsize,
}

impl Receiver {
    /// Listens on 127.0.0.`host` for the firings of `job_count` jobs, and answers each after `hang`.
    pub(crate) fn start(host: u8, job_count: usize, hang: Duration) -> anyhow::Result<Self> {
        let log = Arc::new(Log::new(job_count));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.context("could not start a runtime")?;
        let listener = runtime.block_on(async { listen(host) })?;
        let address = listener.local_addr()?;
        let (stop, stopped) = oneshot::channel();
        let shared = Arc::clone(&log);
        let thread = std::thread::Builder::new().name("receiver".to_owned()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = accept(&listener, &shared, hang) => {}
                    _ = stopped => {}
                }
            });
        });
        let thread = Some(thread.context("could not start a thread")?);
        Ok(Self { address, log, stop: Some(stop), thread })
    }

    /// The URL that a job fires at.
    pub(crate) fn url(&self, job: usize) -> String {
        format!("http://{}/{job}", self.address)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn log(&self) -> &Log {
        &self.log
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Log {
    fn new(job_count: usize) -> Self {
        let arrivals = std::iter::repeat_with(AtomicU64::default).take(job_count).collect();
        Self { arrivals, arrived: AtomicUsize::new(0), repeated: AtomicUsize::new(0) }
    }

    fn note(&self, job: Option<usize>, at: u64) {
        let Some(place) = job.and_then(|job| self.arrivals.get(job)) else { return };
        if place.compare_exchange(0, at, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            self.arrived.fetch_add(1, Ordering::Release);
        } else {
            self.repeated.fetch_add(1, Ordering::Release);
        }
    }

    /// How many jobs have fired.
    pub(crate) fn arrived(&self) -> usize {
        self.arrived.load(Ordering::Acquire)
    }

    /// How many requests came after the first one of each job.
    pub(crate) fn repeated(&self) -> usize {
        self.repeated.load(Ordering::Acquire)
    }

    /// When each job fired, if it did.
    pub(crate) fn arrivals(&self) -> impl Iterator<Item = Option<u64>> {
        self.arrivals.iter().map(|at| Some(at.load(Ordering::Relaxed)).filter(|&at| at > 0))
    }
}

fn listen(host: u8) -> anyhow::Result<TcpListener> {
    let socket = TcpSocket::new_v4().context("could not make a socket")?;
    let address = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(127, 0, 0, host)), 0);
    socket.bind(address).with_context(|| format!("could not bind {address}"))?;
    socket.listen(BACKLOG).context("could not listen")
}

async fn accept(listener: &TcpListener, log: &Arc<Log>, hang: Duration) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let log = Arc::clone(log);
                // The runtime owns it, and ends it with the receiver.
                tokio::spawn(async move {
                    // A broken connection shows as a lost job.
                    let _ = answer(stream, &log, hang).await;
                });
            }
            // For example too many open files: open connections go on.
            Err(_) => tokio::time::sleep(Duration::from_millis(1)).await,
        }
    }
}

async fn answer(mut stream: TcpStream, log: &Log, hang: Duration) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = Vec::with_capacity(4 * 1024);
    loop {
        while let Some(request) = read_request(&buffer) {
            log.note(request.job, clock::wall_nanos());
            if !hang.is_zero() {
                tokio::time::sleep(hang).await;
            }
            stream.write_all(ANSWER).await?;
            buffer.drain(..request.end_at);
        }
        if buffer.len() > REQUEST_BYTES_MAX || stream.read_buf(&mut buffer).await? == 0 {
            return Ok(());
        }
    }
}

struct Request {
    job: Option<usize>,
    end_at: usize,
}

/// A whole request at the start of the bytes.
fn read_request(bytes: &[u8]) -> Option<Request> {
    let body_at = head_end(bytes)?;
    let head = &bytes[..body_at];
    let end_at = body_at + content_length(head).unwrap_or(0);
    if bytes.len() < end_at {
        return None;
    }
    let path = head.split(|&byte| byte == b' ').nth(1).unwrap_or_default();
    let job = path.strip_prefix(b"/").and_then(|path| std::str::from_utf8(path).ok());
    Some(Request { job: job.and_then(|job| job.parse().ok()), end_at })
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn requests_are_noted_by_job_and_repetitions_counted() {
        let receiver = Receiver::start(1, 3, Duration::ZERO).unwrap();
        let mut stream = std::net::TcpStream::connect(receiver.address()).unwrap();
        let requests =
            b"POST /1 HTTP/1.1\r\nContent-Length: 3\r\n\r\nabcGET /2 HTTP/1.1\r\n\r\nGET /1 HTTP/1.1\r\n\r\n";
        stream.write_all(requests).unwrap();
        let mut answers = vec![0; ANSWER.len() * 3];
        stream.read_exact(&mut answers).unwrap();
        let log = receiver.log();
        assert_eq!((log.arrived(), log.repeated()), (2, 1));
        assert_eq!(log.arrivals().map(|at| at.is_some()).collect::<Vec<_>>(), [false, true, true]);
    }
}
