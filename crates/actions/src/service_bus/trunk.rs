//! The task behind a connection that links share: it opens the connection, begins a session for each link
//! and puts the tokens that they need, and lets go when the last link has.
//!
//! Each link has a session of its own, as some brokers end the whole session where a link is refused. What
//! goes wrong with one link is left to that link; what goes wrong with the connection is the end of it for
//! new links, while those on it see for themselves.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use fe2o3_amqp::Session;
use fe2o3_amqp::session::{BeginError, SessionHandle};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::cbs::CbsError;
use super::open::{OpenConnection, Opener, Party};
use super::trouble::Trouble;
use crate::failure::{Failure, Within};
use crate::shelf::Shelf;

/// Links that share a connection; the next one gets another. Sessions are begun one after another, so that
/// more would wait too long for each other, and fewer suffer from each other when a connection breaks.
const LINKS_MAX: usize = 32;

/// Sessions that a connection begins in its life. A broker that never answers the end of one keeps its
/// channel taken. Where a broker has fewer channels, the connection is replaced when they are used up.
const SESSIONS_MAX: usize = 240;

/// How long a broker that has answered before gets for an answer, as a part of an attempt's time: 15 s of
/// 60. Then the connection is taken for dead, and the attempt has time left for another one.
const ANSWER_SHARE: u32 = 4;

/// Parties whose connections are known; the one unused for longest is forgotten, and lives on for its links.
const PARTIES_MAX: usize = 512;

/// Why something is not done.
pub(super) enum Setback {
    /// What has worked before is gone: a new one may do better, and nothing was sent.
    Stale,
    Failed(Failure),
}

/// All connections.
pub(super) struct Trunks {
    opener: Arc<Opener>,
    known: Shelf<[u8; 32], Mutex<Vec<Weak<State>>>>,
    opened: AtomicUsize,
}

/// The way to a connection's task, which ends when all are gone.
#[derive(Clone)]
pub(super) struct Trunk(Arc<State>);

struct State {
    orders: mpsc::Sender<Order>,
    /// Gets no new links.
    retired: AtomicBool,
    /// Has begun a session before.
    seasoned: AtomicBool,
    joined: AtomicUsize,
    answer_max: Duration,
}

/// What a link begins with.
pub(super) struct Joint {
    pub(super) session: SessionHandle<()>,
    /// When its token should be renewed; never where there is none.
    pub(super) renew_at: Option<Instant>,
    /// For the link's name: unlike any other link's.
    pub(super) container: String,
    /// The connection has worked before.
    pub(super) seasoned: bool,
}

enum Order {
    Join { entity: String, answer: oneshot::Sender<Result<Joint, Setback>> },
    Renew { entity: String, answer: oneshot::Sender<Result<Option<Instant>, Setback>> },
}

impl Trunks {
    pub(super) fn new(opener: Opener) -> Self {
        Self { opener: Arc::new(opener), known: Shelf::new(PARTIES_MAX), opened: AtomicUsize::new(0) }
    }

    pub(super) fn timeout(&self) -> Duration {
        self.opener.timeout()
    }

    /// A connection with room for a link, of those with this key; a new one if there is none. `tag` makes
    /// its name unlike that of other processes.
    pub(super) fn get(&self, key: [u8; 32], party: &Party, tag: &str) -> Trunk {
        let known = self.known.get_or_make(key, Mutex::default);
        let mut known = known.lock().expect("nothing panics while it holds this lock");
        known.retain(|state| state.upgrade().is_some_and(|state| state.usable()));
        let roomy = known.iter().filter(|state| state.strong_count() < LINKS_MAX);
        if let Some(state) = roomy.filter_map(Weak::upgrade).next() {
            return Trunk(state);
        }
        let number = self.opened.fetch_add(1, Ordering::Relaxed);
        let trunk = Trunk::start(Arc::clone(&self.opener), party.clone(), format!("punctual-{tag}-{number}"));
        known.push(Arc::downgrade(&trunk.0));
        trunk
    }
}

impl State {
    fn usable(&self) -> bool {
        !self.orders.is_closed()
            && !self.retired.load(Ordering::Relaxed)
            && self.joined.load(Ordering::Relaxed) < SESSIONS_MAX
    }
}

impl Trunk {
    fn start(opener: Arc<Opener>, party: Party, container: String) -> Self {
        let (orders, queue) = mpsc::channel(LINKS_MAX);
        let state = Arc::new(State {
            orders,
            retired: AtomicBool::new(false),
            seasoned: AtomicBool::new(false),
            joined: AtomicUsize::new(0),
            answer_max: opener.timeout() / ANSWER_SHARE,
        });
        let trouble = Trouble::new(party.key.expose());
        let task = Task {
            opener,
            party,
            container,
            trouble,
            queue,
            state: Arc::downgrade(&state),
            joined: 0,
            spoilt: None,
        };
        tokio::spawn(task.run());
        Self(state)
    }

    /// Begins a session for a link to an entity, with a token where one is wanted.
    pub(super) async fn join(&self, entity: &str) -> Result<Joint, Setback> {
        self.0.joined.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        self.order(Order::Join { entity: entity.to_owned(), answer }, answered).await
    }

    /// Puts a new token in place of the one that is about to expire; says when the next is due.
    pub(super) async fn renew(&self, entity: &str) -> Result<Option<Instant>, Setback> {
        let (answer, answered) = oneshot::channel();
        self.order(Order::Renew { entity: entity.to_owned(), answer }, answered).await
    }

    async fn order<T>(
        &self,
        order: Order,
        answered: oneshot::Receiver<Result<T, Setback>>,
    ) -> Result<T, Setback> {
        let asked = async {
            self.0.orders.send(order).await.map_err(|_| Setback::Stale)?;
            answered.await.unwrap_or(Err(Setback::Stale))
        };
        self.in_time(asked).await
    }

    /// What a connection that has worked before does in time; else it is not used for new links any more.
    pub(super) async fn in_time<T>(
        &self,
        work: impl Future<Output = Result<T, Setback>>,
    ) -> Result<T, Setback> {
        if !self.0.seasoned.load(Ordering::Relaxed) {
            return work.await;
        }
        tokio::time::timeout(self.0.answer_max, work).await.unwrap_or_else(|_| {
            self.retire();
            Err(Setback::Stale)
        })
    }

    /// Takes the connection out of use for new links.
    pub(super) fn retire(&self) {
        self.0.retired.store(true, Ordering::Relaxed);
    }
}

struct Task {
    opener: Arc<Opener>,
    party: Party,
    container: String,
    trouble: Trouble,
    queue: mpsc::Receiver<Order>,
    state: Weak<State>,
    /// Sessions that were begun.
    joined: usize,
    /// Why no session will be begun any more. The connection is kept for the links that it has.
    spoilt: Option<Failure>,
}

impl Task {
    async fn run(mut self) {
        let mut open = match self.opener.open(&self.party, &self.container, &self.trouble).await {
            Ok(open) => open,
            Err(failure) => return self.refuse(|| Setback::Failed(failure.clone())),
        };
        loop {
            let order = tokio::select! {
                biased;
                _ = open.connection.on_close() => break self.refuse(|| Setback::Stale),
                order = self.queue.recv() => order,
            };
            match order {
                Some(Order::Join { entity, answer }) if !answer.is_closed() => {
                    let _ = answer.send(self.join(&mut open, &entity).await);
                }
                Some(Order::Renew { entity, answer }) if !answer.is_closed() => {
                    let _ = answer.send(self.put_token(&mut open, &entity).await);
                }
                Some(Order::Join { .. } | Order::Renew { .. }) => {}
                None => return open.close().await,
            }
        }
    }

    async fn join(&mut self, open: &mut OpenConnection, entity: &str) -> Result<Joint, Setback> {
        let renew_at = self.put_token(open, entity).await?;
        let session = match self.answer(Session::begin(&mut open.connection)).await {
            Some(Ok(session)) => session,
            Some(Err(error @ BeginError::RemoteEndedWithError(_))) => {
                return Err(Setback::Failed(self.trouble.of_begin(&error)));
            }
            Some(Err(error)) => return Err(self.spoil(self.trouble.of_begin(&error))),
            None => return Err(self.spoil(self.silence("did not begin a session"))),
        };
        let seasoned = self.joined > 0;
        self.joined += 1;
        if let Some(state) = self.state.upgrade() {
            state.seasoned.store(true, Ordering::Relaxed);
        }
        let container = format!("{}-{}", self.container, self.joined);
        Ok(Joint { session, renew_at, container, seasoned })
    }

    async fn put_token(
        &mut self,
        open: &mut OpenConnection,
        entity: &str,
    ) -> Result<Option<Instant>, Setback> {
        if let Some(failure) = &self.spoilt {
            return Err(self.setback(failure.clone()));
        }
        let Some(tokens) = &mut open.tokens else { return Ok(None) };
        match self.answer(tokens.put(&self.opener, &self.party, entity)).await {
            Some(Ok(renew_at)) => Ok(Some(renew_at)),
            Some(Err(error @ CbsError::Status { .. })) => Err(Setback::Failed(self.trouble.of_token(&error))),
            // An answer may still come, and would be taken for that to the next token.
            Some(Err(error)) => Err(self.spoil(self.trouble.of_token(&error))),
            None => Err(self.spoil(self.silence("did not answer to the token"))),
        }
    }

    /// What a broker answers in time.
    async fn answer<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::time::timeout(self.answer_max(), work).await.ok()
    }

    fn answer_max(&self) -> Duration {
        let limit = self.opener.timeout();
        if self.joined > 0 { limit / ANSWER_SHARE } else { limit }
    }

    /// What a broker did not do in time.
    fn silence(&self, what: &str) -> Failure {
        Failure::timeout(format_args!("the broker {what} within {}", Within(self.answer_max())))
    }

    /// The connection is of no use to new links any more.
    fn spoil(&mut self, failure: Failure) -> Setback {
        if let Some(state) = self.state.upgrade() {
            state.retired.store(true, Ordering::Relaxed);
        }
        self.spoilt = Some(failure.clone());
        self.setback(failure)
    }

    /// Where the connection never was of use, the failure tells why; else the next one may do better.
    fn setback(&self, failure: Failure) -> Setback {
        if self.joined > 0 { Setback::Stale } else { Setback::Failed(failure) }
    }

    /// Takes no more, and tells those who wait.
    fn refuse(&mut self, setback: impl Fn() -> Setback) {
        self.queue.close();
        while let Ok(order) = self.queue.try_recv() {
            match order {
                Order::Join { answer, .. } => drop(answer.send(Err(setback()))),
                Order::Renew { answer, .. } => drop(answer.send(Err(setback()))),
            }
        }
    }
}
