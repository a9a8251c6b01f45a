//! Shared AMQP connections.
//!
//! A task owns each connection. It opens the connection, begins a session for each link, puts the tokens that
//! the links need, and closes the connection when its last link is gone.
//!
//! Each link has a session of its own, because some brokers end the whole session when they refuse a link. A
//! failure of one link concerns that link only. After a failure of the connection no new links are opened on it;
//! the links that it has notice the failure themselves.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use fe2o3_amqp::Session;
use fe2o3_amqp::session::{BeginError, SessionHandle};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::amqp_failure::AmqpFailures;
use super::cbs::CbsError;
use super::open::{BrokerLogin, ConnectionOpener, OpenConnection};
use crate::cache::Cache;
use crate::failure::{Failure, Within};

/// Links on one connection; the next link gets another connection. Sessions begin one after another: with more
/// links they would wait too long for each other, and more links would break together with their connection.
const LINKS_MAX: usize = 32;

/// Sessions that a connection begins in its life. A session that the broker never ends keeps its channel, and the
/// number of channels is limited. If a broker allows fewer, the connection is replaced when they are used up.
const SESSIONS_MAX: usize = 240;

/// On a connection that has worked before, the broker has this fraction of an attempt's time to answer: 15 s of
/// 60. Without an answer the connection counts as dead, and the attempt has time left to use another one.
const ANSWER_SHARE: u32 = 4;

/// Logins whose connections are cached. The least recently used login is evicted; its connections live on as long
/// as they have links.
const LOGINS_MAX: usize = 512;

/// Why a link, a session or a message did not get through.
#[derive(Clone)]
pub(super) enum LinkError {
    /// The connection or link worked before and is broken now. Nothing was sent, so a new one may be tried.
    Stale,
    /// The attempt has failed.
    Failed(Failure),
}

/// All connections, by login.
pub(super) struct ConnectionPool {
    opener: Arc<ConnectionOpener>,
    connections: Cache<[u8; 32], Mutex<Vec<Weak<Shared>>>>,
    opened_count: AtomicUsize,
}

/// A handle to a connection's task. The task ends when all handles are dropped.
#[derive(Clone)]
pub(super) struct SharedConnection(Arc<Shared>);

struct Shared {
    commands: mpsc::Sender<Command>,
    /// No new links are opened on it.
    retired: AtomicBool,
    /// It has begun a session.
    proven: AtomicBool,
    session_count: AtomicUsize,
    answer_max: Duration,
}

/// A session for one link.
pub(super) struct LinkSession {
    pub(super) session: SessionHandle<()>,
    /// When to renew the token; `None` without tokens.
    pub(super) renew_at: Option<Instant>,
    /// A unique prefix for the link's name.
    pub(super) container: String,
    /// The connection had begun a session before this one.
    pub(super) proven: bool,
}

enum Command {
    BeginSession { entity: String, answer: oneshot::Sender<Result<LinkSession, LinkError>> },
    RenewToken { entity: String, answer: oneshot::Sender<Result<Option<Instant>, LinkError>> },
}

impl ConnectionPool {
    pub(super) fn new(opener: ConnectionOpener) -> Self {
        let connections = Cache::new(LOGINS_MAX);
        Self { opener: Arc::new(opener), connections, opened_count: AtomicUsize::new(0) }
    }

    /// How long an attempt may take.
    pub(super) fn timeout(&self) -> Duration {
        self.opener.timeout()
    }

    /// Returns a connection of this key that has room for a link, or starts a new one. `tag` makes the name of
    /// the connection unique among processes.
    pub(super) fn get(&self, key: [u8; 32], login: &BrokerLogin, tag: &str) -> SharedConnection {
        let connections = self.connections.get_or_insert_with(key, Mutex::default);
        let mut connections = connections.lock().expect("nothing panics while it holds this lock");
        connections.retain(|connection| connection.upgrade().is_some_and(|connection| connection.usable()));
        let with_room = connections.iter().filter(|connection| connection.strong_count() < LINKS_MAX);
        if let Some(connection) = with_room.filter_map(Weak::upgrade).next() {
            return SharedConnection(connection);
        }
        let number = self.opened_count.fetch_add(1, Ordering::Relaxed);
        let container = format!("punctual-{tag}-{number}");
        let connection = SharedConnection::start(Arc::clone(&self.opener), login.clone(), container);
        connections.push(Arc::downgrade(&connection.0));
        connection
    }
}

impl Shared {
    /// Whether new links may be opened on it.
    fn usable(&self) -> bool {
        !self.commands.is_closed()
            && !self.retired.load(Ordering::Relaxed)
            && self.session_count.load(Ordering::Relaxed) < SESSIONS_MAX
    }
}

impl SharedConnection {
    fn start(opener: Arc<ConnectionOpener>, login: BrokerLogin, container: String) -> Self {
        let (commands, queue) = mpsc::channel(LINKS_MAX);
        let shared = Arc::new(Shared {
            commands,
            retired: AtomicBool::new(false),
            proven: AtomicBool::new(false),
            session_count: AtomicUsize::new(0),
            answer_max: opener.timeout() / ANSWER_SHARE,
        });
        let failures = AmqpFailures::new(login.key.expose());
        let task = Task {
            opener,
            login,
            container,
            failures,
            queue,
            shared: Arc::downgrade(&shared),
            session_count: 0,
            unusable: None,
        };
        tokio::spawn(task.run());
        Self(shared)
    }

    /// Begins a session for a link to an entity, after putting a token if the broker takes tokens.
    pub(super) async fn begin_session(&self, entity: &str) -> Result<LinkSession, LinkError> {
        self.0.session_count.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        self.command(Command::BeginSession { entity: entity.to_owned(), answer }, answered).await
    }

    /// Puts a new token before the old one expires. Returns when to renew it next.
    pub(super) async fn renew_token(&self, entity: &str) -> Result<Option<Instant>, LinkError> {
        let (answer, answered) = oneshot::channel();
        self.command(Command::RenewToken { entity: entity.to_owned(), answer }, answered).await
    }

    async fn command<T>(
        &self,
        command: Command,
        answered: oneshot::Receiver<Result<T, LinkError>>,
    ) -> Result<T, LinkError> {
        let commanded = async {
            self.0.commands.send(command).await.map_err(|_| LinkError::Stale)?;
            answered.await.unwrap_or(Err(LinkError::Stale))
        };
        self.in_time(commanded).await
    }

    /// Limits work on a connection that has worked before. If it takes too long, the connection is retired and the
    /// work is `Stale`.
    pub(super) async fn in_time<T>(
        &self,
        work: impl Future<Output = Result<T, LinkError>>,
    ) -> Result<T, LinkError> {
        if !self.0.proven.load(Ordering::Relaxed) {
            return work.await;
        }
        tokio::time::timeout(self.0.answer_max, work).await.unwrap_or_else(|_| {
            self.retire();
            Err(LinkError::Stale)
        })
    }

    /// Opens no new links on this connection from now on.
    pub(super) fn retire(&self) {
        self.0.retired.store(true, Ordering::Relaxed);
    }
}

struct Task {
    opener: Arc<ConnectionOpener>,
    login: BrokerLogin,
    container: String,
    failures: AmqpFailures,
    queue: mpsc::Receiver<Command>,
    shared: Weak<Shared>,
    /// Sessions that were begun.
    session_count: usize,
    /// Why no session can be begun any more. The connection is kept for the links that it has.
    unusable: Option<Failure>,
}

impl Task {
    async fn run(mut self) {
        let mut open = match self.opener.open(&self.login, &self.container, &self.failures).await {
            Ok(open) => open,
            Err(failure) => return self.answer_all(&LinkError::Failed(failure)),
        };
        loop {
            let command = tokio::select! {
                biased;
                _ = open.connection.on_close() => break self.answer_all(&LinkError::Stale),
                command = self.queue.recv() => command,
            };
            match command {
                Some(Command::BeginSession { entity, answer }) if !answer.is_closed() => {
                    let _ = answer.send(self.begin_session(&mut open, &entity).await);
                }
                Some(Command::RenewToken { entity, answer }) if !answer.is_closed() => {
                    let _ = answer.send(self.put_token(&mut open, &entity).await);
                }
                // Whoever asked has given up.
                Some(Command::BeginSession { .. } | Command::RenewToken { .. }) => {}
                None => return open.close().await,
            }
        }
    }

    async fn begin_session(
        &mut self,
        open: &mut OpenConnection,
        entity: &str,
    ) -> Result<LinkSession, LinkError> {
        let renew_at = self.put_token(open, entity).await?;
        let session = match self.in_time(Session::begin(&mut open.connection)).await {
            Some(Ok(session)) => session,
            Some(Err(error @ BeginError::RemoteEndedWithError(_))) => {
                return Err(LinkError::Failed(self.failures.of_begin(&error)));
            }
            Some(Err(error)) => return Err(self.mark_unusable(self.failures.of_begin(&error))),
            None => return Err(self.mark_unusable(self.timeout("did not begin a session"))),
        };
        let proven = self.session_count > 0;
        self.session_count += 1;
        if let Some(shared) = self.shared.upgrade() {
            shared.proven.store(true, Ordering::Relaxed);
        }
        let container = format!("{}-{}", self.container, self.session_count);
        Ok(LinkSession { session, renew_at, container, proven })
    }

    /// Puts a token for an entity. Returns when to renew it; `None` without tokens.
    async fn put_token(
        &mut self,
        open: &mut OpenConnection,
        entity: &str,
    ) -> Result<Option<Instant>, LinkError> {
        if let Some(failure) = &self.unusable {
            return Err(self.link_error(failure.clone()));
        }
        let Some(tokens) = &mut open.tokens else { return Ok(None) };
        match self.in_time(tokens.put(&self.opener, &self.login, entity)).await {
            Some(Ok(renew_at)) => Ok(Some(renew_at)),
            Some(Err(error @ CbsError::Status { .. })) => {
                Err(LinkError::Failed(self.failures.of_token(&error)))
            }
            // The answer may still arrive, and would be mistaken for the answer to the next token.
            Some(Err(error)) => Err(self.mark_unusable(self.failures.of_token(&error))),
            None => Err(self.mark_unusable(self.timeout("did not answer to the token"))),
        }
    }

    /// Returns `None` if the broker does not answer in time.
    async fn in_time<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::time::timeout(self.answer_max(), work).await.ok()
    }

    fn answer_max(&self) -> Duration {
        let limit = self.opener.timeout();
        if self.session_count > 0 { limit / ANSWER_SHARE } else { limit }
    }

    fn timeout(&self, what: &str) -> Failure {
        Failure::timeout(format_args!("the broker {what} within {}", Within(self.answer_max())))
    }

    /// Begins no more sessions on this connection.
    fn mark_unusable(&mut self, failure: Failure) -> LinkError {
        if let Some(shared) = self.shared.upgrade() {
            shared.retired.store(true, Ordering::Relaxed);
        }
        self.unusable = Some(failure.clone());
        self.link_error(failure)
    }

    /// If the connection has worked before, another one may work: `Stale`. If it never worked, the failure is the
    /// attempt's.
    fn link_error(&self, failure: Failure) -> LinkError {
        if self.session_count > 0 { LinkError::Stale } else { LinkError::Failed(failure) }
    }

    /// Accepts no more commands, and answers those that wait with an error.
    fn answer_all(&mut self, error: &LinkError) {
        self.queue.close();
        while let Ok(command) = self.queue.try_recv() {
            match command {
                Command::BeginSession { answer, .. } => drop(answer.send(Err(error.clone()))),
                Command::RenewToken { answer, .. } => drop(answer.send(Err(error.clone()))),
            }
        }
    }
}
