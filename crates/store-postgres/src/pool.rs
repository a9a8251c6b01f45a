//! A few connections for one purpose, opened when they are needed.
//!
//! Work goes on when whoever asked for it has stopped waiting, so that a caller who hangs up leaves no transaction in
//! the middle. Each try has a time-out, after which its connection is closed. What lost against others is tried again
//! at once, what lost its connection on a new one; what may have been written is not tried again here.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};

use crate::connection::Connection;
use crate::connector::Connector;
use crate::error::{Class, PgError};
use crate::outage::Outage;

/// How often something that lost against others is tried again.
const AGAIN_MAX: u32 = 3;

/// How long to wait until a connection is free.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// How long to wait until what failed is rolled back.
const TIDY_UP: Duration = Duration::from_secs(2);

/// The first and the longest pause before a new connection is tried.
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// Connections for one purpose.
pub(crate) struct Pool {
    connector: Arc<Connector>,
    outage: Arc<Outage>,
    idle: Mutex<Vec<Connection>>,
    permits: Arc<Semaphore>,
    size: usize,
    /// For each try.
    time_limit: Duration,
    /// How many connections were lost so far.
    lost_count: AtomicU64,
}

/// What is done with a connection.
pub(crate) type Work<'c, T> = BoxFuture<'c, Result<T, PgError>>;

impl Pool {
    pub(crate) fn new(
        connector: Arc<Connector>,
        outage: Arc<Outage>,
        size: usize,
        time_limit: Duration,
    ) -> Arc<Self> {
        Arc::new(Self {
            connector,
            outage,
            idle: Mutex::default(),
            permits: Arc::new(Semaphore::new(size)),
            size,
            time_limit,
            lost_count: AtomicU64::new(0),
        })
    }

    /// Waits until all that is under way now is done, or has taken too long.
    pub(crate) async fn finish_earlier(&self) {
        let all = u32::try_from(self.size).unwrap_or(u32::MAX);
        drop(timeout(WAIT_MAX, Arc::clone(&self.permits).acquire_many_owned(all)).await);
    }

    /// How many connections were lost so far.
    pub(crate) fn lost_count(&self) -> u64 {
        self.lost_count.load(Ordering::Relaxed)
    }

    /// Has something done, also if nobody waits for it any more.
    pub(crate) async fn run<T, W>(self: &Arc<Self>, work: W) -> Result<T, PgError>
    where
        T: Send + 'static,
        W: for<'c> FnMut(&'c Connection) -> Work<'c, T> + Send + 'static,
    {
        let pool = Arc::clone(self);
        tokio::spawn(async move { pool.tries(work).await }).await.unwrap_or(Err(PgError::Panicked))
    }

    async fn tries<T, W>(&self, mut work: W) -> Result<T, PgError>
    where
        W: for<'c> FnMut(&'c Connection) -> Work<'c, T>,
    {
        let permit = timeout(WAIT_MAX, Arc::clone(&self.permits).acquire_owned()).await;
        let _permit: OwnedSemaphorePermit = match permit {
            Ok(Ok(permit)) => permit,
            Ok(Err(_)) | Err(_) => return Err(PgError::NoneFree),
        };
        let (mut again_count, mut pause, mut waited) = (0, PAUSE_MIN, Duration::ZERO);
        loop {
            let error = match self.try_once(&mut work).await {
                Ok(done) => return Ok(done),
                Err(error) => error,
            };
            self.outage.note(&error);
            match error.class() {
                Class::Again if again_count < AGAIN_MAX => again_count += 1,
                Class::Disconnected if waited < self.time_limit => {
                    sleep(pause).await;
                    waited += pause;
                    pause = (pause * 2).min(PAUSE_MAX);
                }
                _ => return Err(error),
            }
        }
    }

    async fn try_once<T, W>(&self, work: &mut W) -> Result<T, PgError>
    where
        W: for<'c> FnMut(&'c Connection) -> Work<'c, T>,
    {
        let connection = self.connection().await?;
        connection.taken();
        let done = timeout(self.time_limit, work(&connection)).await;
        let unanswered = connection.is_unanswered();
        let (usable, answer) = match done {
            Ok(Ok(done)) => (true, Ok(done)),
            Ok(Err(error)) if unanswered => (false, Err(sure_unless_sent(error))),
            Ok(Err(error)) => {
                // It may have failed in the middle of a transaction.
                let usable = error.class() != Class::Disconnected
                    && timeout(TIDY_UP, connection.roll_back()).await.is_ok_and(|done| done.is_ok());
                (usable, Err(error))
            }
            Err(_) => (false, Err(if unanswered { PgError::Unsure } else { PgError::TimedOut })),
        };
        if connection.has_committed() {
            self.outage.over();
        }
        if usable {
            connection.done();
            self.idle().push(connection);
        } else {
            self.lost_count.fetch_add(1, Ordering::Relaxed);
        }
        answer
    }

    async fn connection(&self) -> Result<Connection, PgError> {
        let known = {
            let mut idle = self.idle();
            idle.retain(Connection::is_open);
            idle.pop()
        };
        match known {
            Some(connection) => Ok(connection),
            None => {
                timeout(self.time_limit, self.connector.connect()).await.unwrap_or(Err(PgError::TimedOut))
            }
        }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A failure after something that commits was sent.
fn sure_unless_sent(error: PgError) -> PgError {
    match error {
        PgError::Refused(_) | PgError::Unreadable { .. } => error,
        _ => PgError::Unsure,
    }
}

/// Something to be done with a connection, as [`Pool::run`] takes it. It may be called several times, so what is named
/// behind `with` is cloned for each call.
macro_rules! work {
    (|$connection:ident| with $($shared:ident),+; $body:expr) => {
        $crate::pool::as_work(move |$connection: &$crate::connection::Connection| {
            $(let $shared = ::std::clone::Clone::clone(&$shared);)+
            Box::pin(async move { $body })
        })
    };
    (|$connection:ident| $body:expr) => {
        $crate::pool::as_work(move |$connection: &$crate::connection::Connection| {
            Box::pin(async move { $body })
        })
    };
}

pub(crate) use work;

/// Says what a closure is, so that the compiler knows how long it borrows the connection.
pub(crate) fn as_work<T, W>(work: W) -> W
where
    W: for<'c> FnMut(&'c Connection) -> Work<'c, T>,
{
    work
}
