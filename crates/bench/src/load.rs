//! A closed loop: some connections, each with one request at a time, until all have been sent.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, bail};
use tokio::task::JoinSet;

use crate::client::Connection;
use crate::clock;
use crate::distribution::Distribution;

/// No load takes longer than this.
const TIME_MAX: Duration = Duration::from_secs(30 * 60);
/// How often progress is shown.
const PROGRESS_EVERY: usize = 100_000;

/// What is sent.
pub(crate) struct Load {
    pub(crate) address: SocketAddr,
    pub(crate) connections: usize,
    pub(crate) count: usize,
    /// The only expected status.
    pub(crate) status: u16,
}

/// The result of a load.
pub(crate) struct Sent {
    pub(crate) elapsed: Duration,
    pub(crate) distribution: Distribution,
    pub(crate) count: usize,
}

impl Sent {
    pub(crate) fn per_second(&self) -> f64 {
        self.count as f64 / self.elapsed.as_secs_f64()
    }
}

/// Writes request number `n` into an empty buffer.
pub(crate) type Write = dyn Fn(usize, &mut Vec<u8>) + Send + Sync;

impl Load {
    /// Sends requests 0 to `count`, on one thread.
    pub(crate) fn send(self, write: Box<Write>) -> anyhow::Result<Sent> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.context("could not start a runtime")?;
        let sent = runtime.block_on(async { tokio::time::timeout(TIME_MAX, self.run(write.into())).await });
        sent.context("sending took too long")?
    }

    async fn run(self, write: Arc<Write>) -> anyhow::Result<Sent> {
        let Self { address, connections, count, status } = self;
        let mut opened = Vec::with_capacity(connections);
        for _ in 0..connections {
            opened.push(Connection::open(address).await?);
        }
        let next = Arc::new(AtomicUsize::new(0));
        let since = clock::now();
        let mut set = JoinSet::new();
        for connection in opened {
            let (next, write) = (Arc::clone(&next), Arc::clone(&write));
            set.spawn(repeat(connection, next, count, status, write));
        }
        let mut times = Vec::with_capacity(count);
        while let Some(done) = set.join_next().await {
            times.extend(done.context("a connection panicked")??);
        }
        let elapsed = since.elapsed();
        Ok(Sent { elapsed, distribution: Distribution::of(times), count })
    }
}

async fn repeat(
    mut connection: Connection,
    next: Arc<AtomicUsize>,
    count: usize,
    status: u16,
    write: Arc<Write>,
) -> anyhow::Result<Vec<Duration>> {
    let mut request = Vec::with_capacity(1_024);
    let mut times = Vec::new();
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= count {
            return Ok(times);
        }
        if number > 0 && number.is_multiple_of(PROGRESS_EVERY) {
            eprintln!("  {number} of {count}");
        }
        request.clear();
        write(number, &mut request);
        let since = clock::now();
        let answer = connection.exchange(&request).await?;
        times.push(since.elapsed());
        if answer.status != status {
            bail!(
                "request {number} was answered {} instead of {status}: {}",
                answer.status,
                String::from_utf8_lossy(answer.body)
            );
        }
    }
}
