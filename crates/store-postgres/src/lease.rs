//! The lease of this node: kept by a thread of its own, so that nothing that keeps the others busy can end it.
//!
//! Every second the thread raises the beat of the node and looks at those of the others; who sees a beat stand still for
//! as long as the takeover time deletes that node's row, and its claims are free. The node itself stops beginning a
//! second before, counted from when it *sent* the last renewal that was answered, by a clock that goes on while the machine
//! is suspended. Wall clocks decide nothing here.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use punctual_model::Clock;
use punctual_store::instant::to_ticks;
use punctual_store::{BootInstant, NodeReport, NodeStanding};
use tokio::sync::{oneshot, watch};
use tokio::time::{sleep, timeout};
use tokio_postgres::Row;

use crate::clock_offset::ClockOffset;
use crate::connection::Connection;
use crate::error::PgError;
use crate::observation::Observation;
use crate::open::{NodeIdentity, OpenError};
use crate::param::params;
use crate::store::{Inner, KeyNews};
use crate::{query, schema};

/// How often the lease is renewed.
const RENEWAL: Duration = Duration::from_secs(1);

/// How long to wait for the answer to a renewal.
const ANSWER: Duration = Duration::from_millis(1_500);

/// By how much a node stops beginning before others may take over.
const MARGIN: Duration = Duration::from_secs(1);

/// How much longer than the takeover time a node waits at its start for one that may be dead.
const PATIENCE: Duration = Duration::from_secs(2);

/// Why a node that somebody has drained does not fire.
pub(crate) const DRAINED: &str = "drained";

/// The pause after a renewal that failed.
const PAUSE: Duration = Duration::from_millis(200);

/// What the rest of the store knows of the lease.
pub(crate) struct Lease {
    pub(crate) standing: watch::Sender<NodeStanding>,
    report: Mutex<NodeReport>,
    boot: Arc<dyn Fn() -> Duration + Send + Sync>,
    pub(crate) settings: LeaseSettings,
    /// Held while the lease is renewed or given up; true when it was given up for good.
    left: tokio::sync::Mutex<bool>,
    /// Why the node does not fire, if it does not.
    problem: Mutex<Option<String>>,
    /// Where other nodes serve the API.
    pub(crate) peers: watch::Sender<Vec<String>>,
}

/// How the lease is kept.
#[derive(Clone)]
pub(crate) struct LeaseSettings {
    pub(crate) identity: NodeIdentity,
    pub(crate) takeover: Duration,
    pub(crate) clock: Arc<dyn Clock>,
    /// How far the clock may be off; none if it is not compared.
    pub(crate) clock_allowance: Option<Duration>,
    /// Whether the clock is a virtual one.
    pub(crate) virtual_clock: bool,
}

impl Lease {
    pub(crate) fn new(
        settings: LeaseSettings,
        boot: Arc<dyn Fn() -> Duration + Send + Sync>,
        fires: bool,
    ) -> Self {
        let standing = NodeStanding {
            lease: 0,
            may_fire: false,
            valid_until: Some(BootInstant(Duration::ZERO)),
            ..NodeStanding::alone()
        };
        Self {
            standing: watch::Sender::new(standing),
            report: Mutex::new(NodeReport { fires, ..NodeReport::default() }),
            boot,
            settings,
            left: tokio::sync::Mutex::new(false),
            problem: Mutex::default(),
            peers: watch::Sender::new(Vec::new()),
        }
    }

    /// The time by which leases are judged.
    pub(crate) fn boot(&self) -> Duration {
        (self.boot)()
    }

    /// The standing, if it allows to claim and to begin now.
    pub(crate) fn valid(&self) -> Option<NodeStanding> {
        let standing = *self.standing.borrow();
        let in_time = standing.valid_until.is_none_or(|until| self.boot() < until.0);
        (standing.may_fire && in_time).then_some(standing)
    }

    /// The lease, valid or not.
    pub(crate) fn number(&self) -> i64 {
        i64::try_from(self.standing.borrow().lease).unwrap_or(0)
    }

    pub(crate) fn report(&self, report: NodeReport) {
        *self.report.lock().unwrap_or_else(PoisonError::into_inner) = report;
    }

    /// Why the node does not fire, as a sentence.
    pub(crate) fn problem(&self) -> Option<String> {
        self.problem.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_problem(&self, problem: Option<String>) {
        let mut known = self.problem.lock().unwrap_or_else(PoisonError::into_inner);
        if *known != problem {
            match &problem {
                Some(problem) => tracing::warn!("this node fires nothing: {problem}"),
                None => tracing::info!("this node may fire again"),
            }
            *known = problem;
        }
    }

    /// Gives the lease up for good. Nothing is renewed meanwhile.
    pub(crate) async fn leave(
        &self,
        delete: impl AsyncFnOnce(i64) -> Result<(), PgError>,
    ) -> Result<(), PgError> {
        let mut left = self.left.lock().await;
        *left = true;
        self.standing.send_modify(|standing| standing.may_fire = false);
        delete(self.number()).await
    }
}

/// The thread that keeps the lease. Dropping it ends the thread, and leaves the lease to end by itself.
pub(crate) struct LeaseThread {
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl LeaseThread {
    /// Starts it and waits until the node has a lease.
    pub(crate) async fn start(
        inner: Arc<Inner>,
        spawn: impl FnOnce(Box<dyn FnOnce() + Send>) -> std::io::Result<JoinHandle<()>>,
    ) -> Result<Self, OpenError> {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(OpenError::Thread)?;
        let (stop, stopped) = watch::channel(false);
        let (joined, first) = oneshot::channel();
        let work = move || {
            let keeper = Keeper {
                inner,
                connection: None,
                lease: None,
                observation: Observation::default(),
                offset: ClockOffset::default(),
                wall_at_boot: None,
                drained: false,
                conflict: None,
            };
            runtime.block_on(keeper.run(stopped, joined));
        };
        let thread = Some(spawn(Box::new(work)).map_err(OpenError::Thread)?);
        let started = Self { stop, thread };
        match first.await {
            Ok(joined) => joined.map(|()| started),
            Err(_) => Err(OpenError::Database(PgError::Panicked.to_string().into())),
        }
    }
}

impl Drop for LeaseThread {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        if let Some(thread) = self.thread.take() {
            // It waits for nothing but the stop.
            drop(thread.join());
        }
    }
}

/// Keeps the lease.
struct Keeper {
    inner: Arc<Inner>,
    connection: Option<Connection>,
    lease: Option<i64>,
    observation: Observation,
    offset: ClockOffset,
    /// The wall clock when the machine was started, as it was computed last: it moves if the clock is set.
    wall_at_boot: Option<SignedDuration>,
    /// Somebody wants this node to fire nothing; goes with it if it gets another lease.
    drained: bool,
    /// A virtual clock, and another node that fires; whether the clock is the one of this node.
    conflict: Option<bool>,
}

impl Keeper {
    async fn run(
        mut self,
        mut stopped: watch::Receiver<bool>,
        joined: oneshot::Sender<Result<(), OpenError>>,
    ) {
        let mut joined = Some(joined);
        let started = self.inner.lease.boot();
        loop {
            let began = self.inner.lease.boot();
            let beat = tokio::select! {
                beat = self.beat() => beat,
                _ = stopped.changed() => return,
            };
            let pause = match beat {
                Ok(true) => {
                    if let Some(here) = self.conflict.filter(|_| joined.is_some()) {
                        // The other one may be dead, which shows when its beat has stood still for long enough.
                        let patience = self.inner.lease.settings.takeover + PATIENCE;
                        if began.saturating_sub(started) > patience {
                            self.give_up().await;
                            let refused = Err(OpenError::VirtualClock { here });
                            drop(joined.take().map(|joined| joined.send(refused)));
                            return;
                        }
                    } else if let Some(joined) = joined.take() {
                        // Whoever waits may be gone.
                        let _ = joined.send(Ok(()));
                    }
                    RENEWAL.saturating_sub(self.inner.lease.boot().saturating_sub(began))
                }
                // The lease was given up.
                Ok(false) => return,
                Err(error) => {
                    if let Some(joined) = joined.take() {
                        let _ = joined.send(Err(OpenError::of(error)));
                        return;
                    }
                    self.failed(&error);
                    PAUSE
                }
            };
            tokio::select! {
                () = sleep(pause) => {}
                _ = stopped.changed() => return,
            }
        }
    }

    /// Leaves before it has begun.
    async fn give_up(&mut self) {
        if let (Some(connection), Some(lease)) = (&self.connection, self.lease) {
            // If it fails, the others see that its beat stands still.
            let left = timeout(ANSWER, connection.execute(query::leave, params![lease])).await;
            drop(left);
        }
    }

    /// A renewal failed: the connection is of no use, and when the time is up the lease isn't either.
    fn failed(&mut self, error: &PgError) {
        tracing::debug!(%error, "could not renew the lease");
        self.connection = None;
        let lease = &self.inner.lease;
        if lease.valid().is_none() && lease.standing.borrow().may_fire {
            lease.set_problem(Some("the database does not answer".to_owned()));
            lease.standing.send_modify(|standing| standing.may_fire = false);
        }
    }

    /// Renews the lease, or gets one. False if it was given up.
    async fn beat(&mut self) -> Result<bool, PgError> {
        let inner = Arc::clone(&self.inner);
        let left = inner.lease.left.lock().await;
        if *left {
            return Ok(false);
        }
        let connection = match self.connection.take() {
            Some(connection) if connection.is_open() => connection,
            _ => timeout(ANSWER, inner.connector.connect()).await.unwrap_or(Err(PgError::TimedOut))?,
        };
        let sent = self.inner.lease.boot();
        let wall = self.inner.lease.settings.clock.now();
        connection.taken();
        // A connection that does not answer is closed by dropping it.
        timeout(ANSWER, self.exchange(&connection, sent, wall)).await.unwrap_or(Err(PgError::TimedOut))?;
        connection.done();
        self.connection = Some(connection);
        Ok(true)
    }

    async fn exchange(
        &mut self,
        connection: &Connection,
        sent: Duration,
        wall: Timestamp,
    ) -> Result<(), PgError> {
        let renewed = match self.lease {
            Some(lease) => self.renew(connection, lease, sent, wall).await?,
            None => false,
        };
        if !renewed {
            let lease = self.join(connection, wall).await?;
            // Its answer compares the clocks: none fires before that.
            let (asked, wall) = (self.inner.lease.boot(), self.inner.lease.settings.clock.now());
            if !self.renew(connection, lease, asked, wall).await? {
                return Err(PgError::Rows(0));
            }
        }
        let rows = connection.rows(query::look, &[]).await?;
        self.look(connection, &rows, sent).await
    }

    /// Raises the beat; false if the lease has ended.
    async fn renew(
        &mut self,
        connection: &Connection,
        lease: i64,
        sent: Duration,
        wall: Timestamp,
    ) -> Result<bool, PgError> {
        let NodeReport { fires, held, in_flight } = self.report();
        let (held, in_flight) = (i64::from(held), i64::from(in_flight));
        let offset = i64::try_from(self.offset.lead().as_nanos() / 100).unwrap_or(0);
        let problem = self.inner.lease.problem();
        // Others take its share.
        let fires = fires && problem.is_none();
        let (keys, problem) = (self.keys(), problem.unwrap_or_default());
        let row = connection
            .one(query::renew, params![lease, fires, held, in_flight, offset, keys, problem])
            .await?;
        let Some(row) = row else {
            tracing::warn!(lease, "the lease of this node has ended; it gets a new one");
            return Ok(false);
        };
        self.measure(row.try_get(0)?, sent, wall);
        Ok(true)
    }

    async fn join(&mut self, connection: &Connection, wall: Timestamp) -> Result<i64, PgError> {
        let inner = Arc::clone(&self.inner);
        let NodeIdentity { name, home, url, version, tzdata, started_at } = &inner.lease.settings.identity;
        if let (None, Some(home)) = (self.lease, home) {
            // Whoever has this home has its lock, so that its earlier owner is gone.
            connection.execute(query::leave_home, params![*home]).await?;
        }
        let home = home.clone().unwrap_or_default();
        let (least, fires) = (wall.as_millisecond(), self.report().fires);
        let (keys, virtual_clock) = (self.keys(), inner.lease.settings.virtual_clock);
        let (known, started_at) = (i32::try_from(schema::VERSION).unwrap_or(i32::MAX), to_ticks(*started_at));
        let lease = connection
            .number(
                query::join,
                params![
                    least,
                    fires,
                    *name,
                    home,
                    *url,
                    *version,
                    known,
                    *tzdata,
                    started_at,
                    keys,
                    self.drained,
                    virtual_clock,
                ],
            )
            .await?
            .ok_or(PgError::Rows(0))?;
        self.lease = Some(lease);
        inner.node_claims().drop_others(lease);
        inner.frontier().reset();
        Ok(lease)
    }

    /// Judges what was seen, and tells where this node stands.
    async fn look(&mut self, connection: &Connection, rows: &[Row], sent: Duration) -> Result<(), PgError> {
        let inner = Arc::clone(&self.inner);
        let (lease, own) = (&inner.lease, self.lease.unwrap_or(0));
        let (mut beats, mut firing, mut peers) = (Vec::new(), Vec::new(), Vec::new());
        let (mut token_changes, mut min_version, mut news) = (0, 0, KeyNews::default());
        let mut known_by_all: Option<Vec<i64>> = None;
        let virtual_here = lease.settings.virtual_clock;
        let mut conflicts = Vec::new();
        for row in rows {
            let (other, beat, fires): (i64, i64, bool) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
            (token_changes, min_version) = (row.try_get::<_, i64>(3)?, row.try_get::<_, i32>(4)?);
            (news.sealing, news.change_count) = (row.try_get(5)?, row.try_get(6)?);
            let keys: Vec<i64> = row.try_get(7)?;
            known_by_all.get_or_insert_with(|| keys.clone()).retain(|id| keys.contains(id));
            if other == own {
                self.drained = row.try_get(8)?;
                continue;
            }
            beats.push((other, beat));
            if fires {
                firing.push(other);
                if virtual_here || row.try_get(9)? {
                    conflicts.push(other);
                }
            }
            let url: String = row.try_get(10)?;
            peers.extend(Some(url).filter(|url| !url.is_empty()));
        }
        news.known_by_all = known_by_all.and_then(|keys| keys.into_iter().max()).unwrap_or(0);
        inner.key_news.send_if_modified(|old| std::mem::replace(old, news) != news);
        lease.peers.send_if_modified(|old| {
            let changed = *old != peers;
            *old = peers;
            changed
        });
        inner.tokens_seen(token_changes);
        let still = self.observation.look(lease.boot(), &beats, lease.settings.takeover);
        for (dead, beat) in still {
            if connection.execute(query::take_over, params![dead, beat]).await? == 1 {
                tracing::warn!(lease = dead, "the beat of a node stood still; its claims are free");
                firing.retain(|lease| *lease != dead);
                conflicts.retain(|lease| *lease != dead);
                inner.frontier().reset();
                inner.wake();
            }
        }
        // Of two, the one that came first goes on.
        conflicts.retain(|other| *other < own);
        self.conflict = (!conflicts.is_empty() && self.report().fires).then_some(virtual_here);
        let problem = self.problem(min_version, news.sealing);
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let valid_until = sent + lease.settings.takeover.saturating_sub(MARGIN);
        let standing = NodeStanding {
            lease: u64::try_from(own).unwrap_or(0),
            firing_count: count(firing.len() + usize::from(self.report().fires && problem.is_none())).max(1),
            rank: count(firing.iter().filter(|other| **other < own).count()),
            may_fire: problem.is_none(),
            valid_until: Some(BootInstant(valid_until)),
            clock_lead: if lease.settings.clock_allowance.is_some() {
                self.offset.lead()
            } else {
                SignedDuration::ZERO
            },
        };
        lease.set_problem(problem);
        lease.standing.send_if_modified(|old| std::mem::replace(old, standing) != standing);
        Ok(())
    }

    /// Why this node must not fire; none if it may.
    fn problem(&self, min_version: i32, sealing: i64) -> Option<String> {
        if self.drained {
            return Some(DRAINED.to_owned());
        }
        if usize::try_from(min_version).is_ok_and(|least| least > schema::VERSION) {
            return Some(format!(
                "the database needs nodes that know schema version {min_version}, and this one knows {}: \
                 install the newer version here",
                schema::VERSION
            ));
        }
        if sealing > 0 && !self.keys().contains(&sealing) {
            return Some(format!(
                "key {sealing} seals, and it is not among the keys of this node: put it there, and start the node again"
            ));
        }
        if self.conflict.is_some() {
            return Some("a virtual clock is for one node, and there are two".to_owned());
        }
        let allowance = self.inner.lease.settings.clock_allowance?;
        self.offset.exceeds(allowance).then(|| {
            let lead = self.offset.lead();
            let direction = if lead.is_negative() { "behind" } else { "ahead of" };
            format!(
                "its clock is {} ms {direction} the database's, which is more than {} ms: set both clocks by NTP",
                lead.unsigned_abs().as_millis(),
                allowance.as_millis()
            )
        })
    }

    /// The keys that this node has.
    fn keys(&self) -> Vec<i64> {
        self.inner.vault.ids().into_iter().map(i64::from).collect()
    }

    /// Compares the clocks: the server's, in microseconds since 1970, and ours when it was asked.
    fn measure(&mut self, server_micros: i64, sent: Duration, wall: Timestamp) {
        let boot = SignedDuration::try_from(sent).unwrap_or(SignedDuration::MAX);
        let wall_at_boot = wall.duration_since(Timestamp::UNIX_EPOCH).saturating_sub(boot);
        let moved = self.wall_at_boot.replace(wall_at_boot).map(|before| (wall_at_boot - before).abs());
        if moved.is_some_and(|by| by > SignedDuration::from_millis(20)) {
            self.offset.clear();
        }
        let round_trip = self.inner.lease.boot().saturating_sub(sent);
        let half = SignedDuration::try_from(round_trip / 2).unwrap_or(SignedDuration::ZERO);
        let ours = wall.duration_since(Timestamp::UNIX_EPOCH).saturating_add(half);
        self.offset.add(round_trip, ours.saturating_sub(SignedDuration::from_micros(server_micros)));
    }

    fn report(&self) -> NodeReport {
        *self.inner.lease.report.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
