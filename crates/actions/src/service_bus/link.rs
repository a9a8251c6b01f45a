//! Links to entities.
//!
//! A task owns each link. It opens the link, sends the messages that it is given, renews the token, and closes the
//! link when it is idle.
//!
//! Messages are sent one after another; the broker settles them in any order. Each attempt waits for the outcome of
//! its own message, so that a slow or rejected message delays no other.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fe2o3_amqp::Sender;
use fe2o3_amqp::link::delivery::DeliveryFut;
use fe2o3_amqp::link::{SendError, SenderAttachError, SessionStopReason};
use fe2o3_amqp::session::{self, SessionHandle};
use fe2o3_amqp_types::definitions::SenderSettleMode;
use fe2o3_amqp_types::messaging::Outcome;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::amqp_failure::AmqpFailures;
use super::connection::{ConnectionPool, LinkError, LinkSession, SharedConnection};
use super::message::AmqpMessage;
use super::open::{BrokerLogin, CLOSE_TIMEOUT};
use crate::failure::{Failure, Within};
use crate::permit::Permit;

/// Messages in the queue of a link's task. If it is full, an attempt waits for room, within its own time-out.
const QUEUE_MAX: usize = 256;

/// How long the broker has to accept a renewed token.
const RENEWAL_TIMEOUT: Duration = Duration::from_secs(10);

/// On how many connections one after another a link is tried, if each turns out to be stale.
const CONNECTIONS_MAX: usize = 3;

/// How long an entity is isolated.
const ISOLATION: Duration = Duration::from_secs(600);

/// A message for a link's task.
pub(super) struct Request {
    pub(super) message: Box<AmqpMessage>,
    pub(super) permit: Permit,
    pub(super) answer: oneshot::Sender<Result<Delivery, LinkError>>,
}

/// Resolves when the broker has settled the message.
pub(super) type Delivery = DeliveryFut<Result<Outcome, SendError>>;

/// Which entity a link leads to, and over which connections.
pub(super) struct LinkConfig {
    pub(super) login: BrokerLogin,
    /// The entity's name in the token.
    pub(super) entity: String,
    /// The entity's address on the link.
    pub(super) address: String,
    /// The pool's key for connections that all links of this login share.
    pub(super) shared_key: [u8; 32],
    /// The pool's key for the connection that only this link uses while the entity is isolated.
    pub(super) own_key: [u8; 32],
    /// Makes the names of connections unique among processes.
    pub(super) tag: String,
}

/// Whether an entity is isolated. If a connection breaks while messages to an entity are in flight, the entity may
/// be the cause. For a while its link gets a connection of its own, so that it can't break the others' again.
#[derive(Clone, Default)]
pub(super) struct Isolation(Arc<Mutex<Option<Instant>>>);

impl Isolation {
    fn begin(&self) {
        *self.0.lock().expect("nothing panics while it holds this lock") = Some(Instant::now() + ISOLATION);
    }

    fn is_active(&self) -> bool {
        let until = *self.0.lock().expect("nothing panics while it holds this lock");
        until.is_some_and(|until| Instant::now() < until)
    }
}

/// A handle to a link's task. The task ends when all handles are dropped, or when the link has been idle for a
/// while.
#[derive(Clone)]
pub(super) struct LinkHandle {
    pub(super) requests: mpsc::Sender<Request>,
    /// Counts the handles: the link stays open while somebody waits for an outcome.
    _in_use: mpsc::Sender<Infallible>,
}

impl LinkHandle {
    /// Starts a task.
    pub(super) fn start(
        connections: Arc<ConnectionPool>,
        config: LinkConfig,
        isolation: Isolation,
        idle_timeout: Duration,
    ) -> Self {
        let (requests, queue) = mpsc::channel(QUEUE_MAX);
        let (in_use, handles) = mpsc::channel(1);
        let failures = AmqpFailures::new(config.login.key.expose());
        let task = Task { connections, config, isolation, failures, queue, handles, idle_timeout };
        tokio::spawn(task.run());
        Self { requests, _in_use: in_use }
    }
}

struct Task {
    connections: Arc<ConnectionPool>,
    config: LinkConfig,
    isolation: Isolation,
    failures: AmqpFailures,
    queue: mpsc::Receiver<Request>,
    /// Carries nothing: it is asked how many handles there are, and ends with the last one.
    handles: mpsc::Receiver<Infallible>,
    idle_timeout: Duration,
}

/// An open link. The fields are dropped in this order: link, session, connection.
struct OpenLink {
    sender: Sender,
    session: SessionHandle<()>,
    renew_at: Option<Instant>,
    connection: SharedConnection,
}

impl OpenLink {
    /// Closes the link and ends its session. Errors don't matter: some brokers end the session first.
    async fn close(self) {
        let Self { sender, mut session, renew_at: _, connection: _connection } = self;
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, async {
            let _ = sender.close().await;
            let _ = session.end().await;
        })
        .await;
    }
}

/// What a task reacts to.
enum Event {
    Request(Request),
    RenewToken,
    Idle,
    /// The session has ended, perhaps together with the connection.
    SessionEnded(Result<(), session::Error>),
    /// All handles are dropped.
    Unused,
}

impl Task {
    async fn run(mut self) {
        let opened = tokio::time::timeout(self.connections.timeout(), self.open()).await;
        let opened = opened.unwrap_or_else(|_| {
            // Perhaps the broker does not answer for this entity.
            self.isolation.begin();
            let within = Within(self.connections.timeout());
            Err(Failure::timeout(format_args!(
                "the broker did not open a link to the entity within {within}"
            )))
        });
        let mut link = match opened {
            Ok(link) => link,
            Err(failure) => return self.answer_all(&LinkError::Failed(failure)),
        };
        let mut used = false;
        loop {
            match self.next(&mut link).await {
                Event::Request(request) => match self.send(&mut link, request, used).await {
                    Ok(()) => used = true,
                    Err(error) => {
                        self.answer_all(&error);
                        break;
                    }
                },
                Event::RenewToken => {
                    let renewal = link.connection.renew_token(&self.config.entity);
                    let Ok(Ok(renew_at)) = tokio::time::timeout(RENEWAL_TIMEOUT, renewal).await else {
                        // The next link gets through, or its failure says what is wrong.
                        self.answer_all(&LinkError::Stale);
                        break;
                    };
                    link.renew_at = renew_at;
                }
                Event::Idle if !self.in_use() => {
                    self.answer_all(&LinkError::Stale);
                    return link.close().await;
                }
                Event::Idle => {}
                Event::SessionEnded(end) => {
                    let connection_broke = !matches!(
                        end,
                        Err(session::Error::RemoteEnded | session::Error::RemoteEndedWithError(_))
                    );
                    if connection_broke && self.in_use() {
                        self.isolation.begin();
                    }
                    return self.answer_all(&LinkError::Stale);
                }
                Event::Unused => return link.close().await,
            }
        }
        // Messages in flight may still be settled, each within the time-out of its attempt.
        let settled = async { while self.handles.recv().await.is_some() {} };
        let _ = tokio::time::timeout(self.connections.timeout(), settled).await;
        link.close().await;
    }

    /// Opens a link on a connection of the pool.
    async fn open(&self) -> Result<OpenLink, Failure> {
        for _ in 0..CONNECTIONS_MAX {
            let LinkConfig { login, shared_key, own_key, tag, .. } = &self.config;
            let key = if self.isolation.is_active() { own_key } else { shared_key };
            let connection = self.connections.get(*key, login, tag);
            match self.open_on(&connection).await {
                Ok(link) => return Ok(link),
                Err(LinkError::Failed(failure)) => return Err(failure),
                Err(LinkError::Stale) => connection.retire(),
            }
        }
        Err(Failure::new(
            "MessagingCommunication",
            "The broker closes every connection before a link is open",
        ))
    }

    async fn open_on(&self, connection: &SharedConnection) -> Result<OpenLink, LinkError> {
        let begun = connection.begin_session(&self.config.entity).await?;
        let LinkSession { mut session, renew_at, container, proven } = begun;
        let attach = async {
            let attaching = Sender::builder()
                .name(format!("{container}-{}", self.config.address))
                .target(self.config.address.as_str())
                // Only the broker settles messages, so that its outcome is authoritative.
                .sender_settle_mode(SenderSettleMode::Unsettled)
                .attach(&mut session);
            attaching.await.map_err(|error| match error {
                SenderAttachError::SessionStopped(SessionStopReason::ConnectionStopped(_)) if proven => {
                    LinkError::Stale
                }
                error => LinkError::Failed(self.failures.of_attach(&error)),
            })
        };
        let sender = if proven {
            // If the broker does not answer, that may be for this entity only.
            connection.in_time(attach).await.inspect_err(|error| {
                if matches!(error, LinkError::Stale) {
                    self.isolation.begin();
                }
            })?
        } else {
            attach.await?
        };
        Ok(OpenLink { sender, session, renew_at, connection: connection.clone() })
    }

    /// Whether somebody waits for an outcome.
    fn in_use(&self) -> bool {
        // One handle is the pool's.
        self.handles.sender_strong_count() > 1
    }

    async fn next(&mut self, link: &mut OpenLink) -> Event {
        let renew_at = link.renew_at.unwrap_or_else(far_future);
        tokio::select! {
            biased;
            end = link.session.on_end() => Event::SessionEnded(end),
            () = tokio::time::sleep_until(renew_at), if link.renew_at.is_some() => Event::RenewToken,
            request = self.queue.recv() => request.map_or(Event::Unused, Event::Request),
            () = tokio::time::sleep(self.idle_timeout) => Event::Idle,
        }
    }

    /// Sends a message, unless its attempt has given up: then it must not arrive any more. `used` says that a
    /// message was sent on this link before. An error means that the link is broken.
    async fn send(&mut self, link: &mut OpenLink, request: Request, used: bool) -> Result<(), LinkError> {
        let Request { message, permit, mut answer } = request;
        let may = tokio::select! {
            biased;
            () = answer.closed() => return Ok(()),
            may = permit.may() => may,
        };
        if !may {
            let _ = answer.send(Err(LinkError::Failed(Failure::withdrawn())));
            return Ok(());
        }
        let sent = tokio::select! {
            biased;
            () = answer.closed() => return Ok(()),
            sent = link.sender.send_batchable(*message) => sent,
        };
        let error = match sent {
            Ok(delivery) => {
                permit.note_sent();
                let _ = answer.send(Ok(delivery));
                return Ok(());
            }
            Err(error) => error,
        };
        let failure = self.failures.of_send(&error);
        if matches!(error, SendError::MessageSizeExceeded(_) | SendError::MessageEncodeError) {
            // The message is at fault, and the link is not.
            let _ = answer.send(Err(LinkError::Failed(failure)));
            return Ok(());
        }
        let error = if used { LinkError::Stale } else { LinkError::Failed(failure) };
        let _ = answer.send(Err(error.clone()));
        Err(error)
    }

    /// Accepts no more messages, and answers those that wait with an error.
    fn answer_all(&mut self, error: &LinkError) {
        self.queue.close();
        while let Ok(request) = self.queue.try_recv() {
            let _ = request.answer.send(Err(error.clone()));
        }
    }
}

fn far_future() -> Instant {
    Instant::now() + Duration::from_secs(86_400)
}
