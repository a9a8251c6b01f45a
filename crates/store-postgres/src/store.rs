//! The store: what its parts share, and the traits.

mod agenda;
mod archive;
mod audit;
mod callers;
mod claim;
mod resources;
mod roster;
mod seals;
mod sessions;
mod survey;
mod views;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use jiff::SignedDuration;
use punctual_model::audit::AuditEntry;
use punctual_model::{Clock, JobId, RandomSource};
use punctual_store::instant::to_ticks;
use punctual_store::{AuditKey, Trouble, Vault};
use tokio::sync::watch;
use tokio::task::AbortHandle;

pub(crate) use self::seals::KeyNews;
use crate::beginner::Beginner;
use crate::connector::Connector;
use crate::error::PgError;
use crate::frontier::Frontier;
use crate::job_ids::JobIds;
use crate::lease::{Lease, LeaseSettings, LeaseThread};
use crate::node_claims::{NodeClaims, TakenBack, Ticket};
use crate::open::{self, OpenError, Opened, Options};
use crate::outage::Outage;
use crate::param::params;
use crate::pool::{Pool, work};
use crate::query;
use crate::stats::StatsWriter;

/// Time limits of calls, after which their connection is closed.
const BEGIN: Duration = Duration::from_secs(1);
const CLAIM: Duration = Duration::from_secs(5);
const SETTLE: Duration = Duration::from_secs(10);
/// Longer than a statement may take.
const API: Duration = Duration::from_secs(35);

/// How many jobs that were written here lately are known, and for how long they count.
const RECENT_MAX: usize = 256;
const RECENT: Duration = Duration::from_secs(5);

/// A store in a PostgreSQL database. Dropping it leaves the lease to end by itself; see
/// [`leave`](punctual_store::Roster::leave).
pub struct PostgresStore {
    inner: Arc<Inner>,
    _lease: Option<LeaseThread>,
    /// Follows what other nodes decide about keys.
    keys: AbortHandle,
}

impl PostgresStore {
    /// Connects to the database, brings its schema up to date, and gets a lease.
    pub async fn open(mut options: Options) -> Result<Self, OpenError> {
        let Opened { connector, audit_key } = open::open(&options).await?;
        let spawn =
            std::mem::replace(&mut options.spawn, Box::new(|_, _| Err(std::io::Error::other("used"))));
        let joins = options.joins;
        let inner = Arc::new(Inner::new(options, connector, audit_key));
        let lease = if joins {
            Some(LeaseThread::start(Arc::clone(&inner), |work| spawn("keeper of the lease", work)).await?)
        } else {
            None
        };
        if let Err(error) = inner.advance_keys().await {
            tracing::debug!(%error, "could not have a new key seal; it is tried again");
        }
        let attending = seals::attend(Arc::downgrade(&inner), inner.key_news.subscribe());
        let keys = tokio::spawn(attending).abort_handle();
        // What was seen before counts as well.
        inner.key_news.send_modify(|_| {});
        Ok(Self { inner, _lease: lease, keys })
    }
}

impl PostgresStore {
    /// Where other nodes serve the API, now and whenever it changes.
    pub fn peers(&self) -> watch::Receiver<Vec<String>> {
        self.inner.lease.peers.subscribe()
    }

    /// Has the problems of this store include those of files, such as the keys; the first who asks for that is heard.
    pub fn watch(&self, others: impl Fn() -> Vec<String> + Send + Sync + 'static) {
        let _ = self.inner.watched.set(Box::new(others));
    }

    /// What the server says it is, such as `PostgreSQL 15.18`.
    pub async fn server_version(&self) -> Result<String, Trouble> {
        let read = work!(|connection| {
            let row = connection.one(query::server_version, &[]).await?.ok_or(PgError::Rows(0))?;
            Ok::<String, PgError>(row.try_get(0)?)
        });
        self.inner.api.run(read).await.map_err(|error| error.trouble("ask for the version of the server"))
    }
}

impl Drop for PostgresStore {
    fn drop(&mut self) {
        self.keys.abort();
    }
}

impl std::fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PostgresStore")
    }
}

/// What the parts of the store share.
pub(crate) struct Inner {
    pub(crate) connector: Arc<Connector>,
    pub(crate) claims: Arc<Pool>,
    pub(crate) begins: Arc<Pool>,
    pub(crate) settles: Arc<Pool>,
    pub(crate) api: Arc<Pool>,
    pub(crate) lease: Lease,
    pub(crate) beginner: Beginner,
    pub(crate) outage: Arc<Outage>,
    pub(crate) vault: Arc<Vault>,
    pub(crate) random: Arc<dyn RandomSource>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) audit_key: AuditKey,
    pub(crate) job_ids: JobIds,
    node_claims: Mutex<NodeClaims>,
    frontier: Mutex<Frontier>,
    recent: Mutex<VecDeque<(Duration, i64)>>,
    tickets: AtomicI64,
    changes: watch::Sender<u64>,
    token_changes: watch::Sender<u64>,
    /// How often tokens were changed, as far as this node knows.
    token_version: AtomicI64,
    reconciled: Mutex<Reconciled>,
    pub(crate) key_news: watch::Sender<KeyNews>,
    /// What the audit log says when a key of this node begins to seal.
    key_note: Mutex<Option<AuditEntry>>,
    /// Tells problems of files.
    pub(crate) watched: OnceLock<Box<dyn Fn() -> Vec<String> + Send + Sync>>,
    /// Those that no settlement uses at the moment.
    stats_writers: Mutex<Vec<StatsWriter>>,
}

/// When this node last compared its claims with the database, and how many connections it had lost by then.
#[derive(Default)]
struct Reconciled {
    at: Duration,
    lost_count: u64,
}

impl Inner {
    fn new(options: Options, connector: Arc<Connector>, audit_key: AuditKey) -> Self {
        let Options { vault, random, clock, boot, clock_allowance, takeover, fires, identity, .. } = options;
        let outage = Arc::new(Outage::default());
        let pool = |size, limit| Pool::new(Arc::clone(&connector), Arc::clone(&outage), size, limit);
        let virtual_clock = options.virtual_clock;
        let settings =
            LeaseSettings { identity, takeover, clock: Arc::clone(&clock), clock_allowance, virtual_clock };
        // Fences of an earlier run must not be valid in this one.
        let first_fence = u64::try_from(random.random() >> 65).unwrap_or(0);
        Self {
            claims: pool(1, CLAIM),
            begins: pool(1, BEGIN),
            settles: pool(2, SETTLE),
            api: pool(options.api_connections.max(2), API),
            lease: Lease::new(settings, boot, fires),
            beginner: Beginner::default(),
            vault,
            random,
            clock,
            audit_key,
            job_ids: JobIds::default(),
            node_claims: Mutex::new(NodeClaims::new(first_fence)),
            frontier: Mutex::new(Frontier::new()),
            recent: Mutex::default(),
            tickets: AtomicI64::new(1),
            changes: watch::Sender::new(0),
            token_changes: watch::Sender::new(0),
            token_version: AtomicI64::new(-1),
            reconciled: Mutex::default(),
            key_news: watch::Sender::new(KeyNews::default()),
            key_note: Mutex::new(options.key_note),
            watched: OnceLock::new(),
            stats_writers: Mutex::default(),
            connector,
            outage,
        }
    }

    /// They are consistent whenever nobody holds its lock, so a poisoned lock can be used.
    pub(crate) fn node_claims(&self) -> MutexGuard<'_, NodeClaims> {
        self.node_claims.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn frontier(&self) -> MutexGuard<'_, Frontier> {
        self.frontier.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A writer of statistics that nobody else uses.
    pub(crate) fn take_stats_writer(&self) -> StatsWriter {
        let free = self.stats_writers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        free.unwrap_or_else(|| StatsWriter::new(i64::try_from(self.random.random() >> 65).unwrap_or(0)))
    }

    /// Others may use it.
    pub(crate) fn give_stats_writer(&self, writer: StatsWriter) {
        if !writer.is_full() {
            self.stats_writers.lock().unwrap_or_else(PoisonError::into_inner).push(writer);
        }
    }

    /// Wakes whoever waits for the agenda.
    pub(crate) fn wake(&self) {
        self.changes.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Entries were written, the earliest of which is this one.
    pub(crate) fn wrote(&self, earliest: Option<(i64, i64)>) {
        if let Some(place) = earliest {
            self.frontier().wrote(place);
        }
    }

    /// A job was written here that is due soon: this node claims it, whoever's share it is.
    pub(crate) fn wrote_recently(&self, place: Option<(i64, i64)>) {
        let soon = self.clock.now().saturating_add(SignedDuration::from_secs(2)).map_or(i64::MAX, to_ticks);
        let Some((_, job)) = place.filter(|(due_at, _)| *due_at <= soon) else { return };
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if recent.len() == RECENT_MAX {
            recent.pop_front();
        }
        recent.push_back((self.lease.boot(), job));
    }

    /// Jobs that were written here lately.
    fn recent(&self) -> Vec<i64> {
        let now = self.lease.boot();
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        while recent.front().is_some_and(|(at, _)| now.saturating_sub(*at) > RECENT) {
            recent.pop_front();
        }
        recent.iter().map(|(_, job)| *job).collect()
    }

    /// Takes the claim of a job back that is about to be edited; none if it is in flight or nobody's.
    pub(crate) fn take_back(&self, job: JobId) -> Option<Ticket> {
        match self.node_claims().take_back(job) {
            TakenBack::Yes(ticket) => Some(ticket),
            TakenBack::Free | TakenBack::InFlight => None,
        }
    }

    /// Gives claims back in the database that are no longer held here, whether anybody waits for that or not.
    pub(crate) fn give_back(self: &Arc<Self>, tickets: Vec<Ticket>) {
        if tickets.is_empty() {
            return;
        }
        let inner = Arc::clone(self);
        tokio::spawn(async move {
            // If it fails, reconciling finds them.
            if let Err(error) = inner.release_tickets(tickets).await {
                tracing::debug!(%error, "could not give claims back");
            }
            inner.frontier().reset();
            inner.wake();
        });
    }

    /// Gives claims back in the database. May be repeated: a ticket is never used again.
    pub(crate) async fn release_tickets(&self, mut tickets: Vec<Ticket>) -> Result<(), PgError> {
        tickets.sort_unstable();
        let column = |value: fn(&Ticket) -> i64| tickets.iter().map(value).collect::<Vec<i64>>();
        let jobs = column(|ticket| ticket.job.0);
        let (leases, numbers) = (column(|ticket| ticket.lease), column(|ticket| ticket.ticket));
        let release = work!(|connection| with jobs, leases, numbers; {
            connection.execute(query::release, params![jobs, leases, numbers]).await
        });
        self.claims.run(release).await.map(|_| ())
    }

    /// The number of tokens' changes was seen in the database.
    pub(crate) fn tokens_seen(&self, version: i64) {
        let before = self.token_version.fetch_max(version, Ordering::Relaxed);
        if before >= 0 && version > before {
            self.tokens_changed();
        }
    }

    fn tokens_changed(&self) {
        self.token_changes.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// A number that no other claiming call of this process has.
    fn next_ticket(&self) -> i64 {
        self.tickets.fetch_add(1, Ordering::Relaxed)
    }

    /// How many connections were lost, whose answers may be missing.
    fn lost_count(&self) -> u64 {
        [&self.claims, &self.settles, &self.begins].into_iter().map(|pool| pool.lost_count()).sum()
    }
}

/// Decodes rows. Many of them are decoded on a thread of their own, since that takes time.
pub(crate) async fn decode<T: Send + 'static>(
    count: usize,
    work: impl FnOnce() -> Result<T, PgError> + Send + 'static,
) -> Result<T, PgError> {
    const FEW: usize = 16;
    if count <= FEW {
        return work();
    }
    tokio::task::spawn_blocking(work).await.unwrap_or(Err(PgError::Panicked))
}
