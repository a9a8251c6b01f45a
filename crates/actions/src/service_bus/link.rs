//! The task behind a link: it opens the link, sends what it is given, renews the token, and lets go.
//!
//! Messages are handed over one by one and settled by the broker in whatever order it likes: each sender
//! waits for the outcome of its own message, so that a slow or refused one holds up nobody.

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

use super::open::{GOOD_BYE, Party};
use super::parcel::Parcel;
use super::trouble::Trouble;
use super::trunk::{Joint, Setback, Trunk, Trunks};
use crate::failure::{Failure, Within};

/// Messages that wait for the task at once. Whoever finds it full waits within the time of its attempt.
const QUEUE_MAX: usize = 256;

/// How long the broker gets to take a renewed token.
const RENEWAL: Duration = Duration::from_secs(10);

/// How many connections a link is opened on, if each of them turns out to be stale.
const TRUNKS_MAX: usize = 3;

/// How long an entity is kept apart from others.
const APART: Duration = Duration::from_secs(600);

/// A message on its way to the task.
pub(super) struct Request {
    pub(super) parcel: Box<Parcel>,
    pub(super) answer: oneshot::Sender<Result<Delivery, Setback>>,
}

/// Resolves when the broker has settled the message.
pub(super) type Delivery = DeliveryFut<Result<Outcome, SendError>>;

/// Where a link leads, and as whom.
pub(super) struct Route {
    pub(super) party: Party,
    /// The entity as the token has it.
    pub(super) entity: String,
    /// The entity as the link has it.
    pub(super) address: String,
    /// Of the connections that the link may share, and of the one that it shares with nobody.
    pub(super) shared_key: [u8; 32],
    pub(super) own_key: [u8; 32],
    /// Makes the names of connections unlike those of other processes.
    pub(super) tag: String,
}

/// Whether an entity is kept apart: it was there when a connection broke, and may be why. For a while its
/// links are opened on a connection of its own, so that no other entity's messages are lost to it again.
#[derive(Clone, Default)]
pub(super) struct Apart(Arc<Mutex<Option<Instant>>>);

impl Apart {
    fn begin(&self) {
        *self.0.lock().expect("nothing panics while it holds this lock") = Some(Instant::now() + APART);
    }

    fn holds(&self) -> bool {
        let until = *self.0.lock().expect("nothing panics while it holds this lock");
        until.is_some_and(|until| Instant::now() < until)
    }
}

/// The way to a task. The task ends when all are gone, or when it has had nothing to do for a while.
#[derive(Clone)]
pub(super) struct Line {
    pub(super) requests: mpsc::Sender<Request>,
    /// Held by everybody who waits for an outcome: the connection stays for them.
    _stay: mpsc::Sender<Infallible>,
}

impl Line {
    /// Starts a task.
    pub(super) fn start(trunks: Arc<Trunks>, route: Route, apart: Apart, idle_timeout: Duration) -> Self {
        let (requests, queue) = mpsc::channel(QUEUE_MAX);
        let (stay, held) = mpsc::channel(1);
        let trouble = Trouble::new(route.party.key.expose());
        let task = Task { trunks, route, apart, trouble, queue, held, idle_timeout };
        tokio::spawn(task.run());
        Self { requests, _stay: stay }
    }
}

struct Task {
    trunks: Arc<Trunks>,
    route: Route,
    apart: Apart,
    trouble: Trouble,
    queue: mpsc::Receiver<Request>,
    held: mpsc::Receiver<Infallible>,
    idle_timeout: Duration,
}

/// A link with what it needs to live. The order is that in which things are let go.
struct OpenLink {
    sender: Sender,
    session: SessionHandle<()>,
    renew_at: Option<Instant>,
    trunk: Trunk,
}

impl OpenLink {
    /// Says good-bye, whether that is heard or not. Errors are of no interest: some brokers end the session
    /// first.
    async fn close(self) {
        let Self { sender, mut session, renew_at: _, trunk: _trunk } = self;
        let _ = tokio::time::timeout(GOOD_BYE, async {
            let _ = sender.close().await;
            let _ = session.end().await;
        })
        .await;
    }
}

/// What a task wakes up for.
enum Event {
    Request(Request),
    Renewal,
    Idle,
    /// The session is gone, and the connection perhaps with it.
    Lost(Result<(), session::Error>),
    /// Nobody wants the link any more.
    Deserted,
}

impl Task {
    async fn run(mut self) {
        let opened = tokio::time::timeout(self.trunks.timeout(), self.open()).await;
        let opened = opened.unwrap_or_else(|_| {
            // It may be the entity that the broker is silent about.
            self.apart.begin();
            let within = Within(self.trunks.timeout());
            Err(Failure::timeout(format_args!(
                "the broker did not open a link to the entity within {within}"
            )))
        });
        let mut link = match opened {
            Ok(link) => link,
            Err(failure) => return self.refuse(&failure),
        };
        let mut used = false;
        loop {
            match self.next(&mut link).await {
                Event::Request(request) => match self.send(&mut link, request, used).await {
                    Ok(()) => used = true,
                    Err(Broken(failure)) => {
                        match failure {
                            Some(failure) => self.refuse(&failure),
                            None => self.turn_away(),
                        }
                        break;
                    }
                },
                Event::Renewal => {
                    let renewal = link.trunk.renew(&self.route.entity);
                    let Ok(Ok(renew_at)) = tokio::time::timeout(RENEWAL, renewal).await else {
                        // Those who come now get a new link, or learn there what is wrong.
                        self.turn_away();
                        break;
                    };
                    link.renew_at = renew_at;
                }
                Event::Idle if !self.awaited() => {
                    self.turn_away();
                    return link.close().await;
                }
                Event::Idle => {}
                Event::Lost(end) => {
                    let ended_alone = matches!(
                        end,
                        Err(session::Error::RemoteEnded | session::Error::RemoteEndedWithError(_))
                    );
                    if !ended_alone && self.awaited() {
                        self.apart.begin();
                    }
                    return self.turn_away();
                }
                Event::Deserted => return link.close().await,
            }
        }
        // What is on its way may still be settled, each message within the time of its attempt.
        let settled = async { while self.held.recv().await.is_some() {} };
        let _ = tokio::time::timeout(self.trunks.timeout(), settled).await;
        link.close().await;
    }

    /// Opens a link on a connection that is there, or on a new one.
    async fn open(&self) -> Result<OpenLink, Failure> {
        for _ in 0..TRUNKS_MAX {
            let Route { party, shared_key, own_key, tag, .. } = &self.route;
            let key = if self.apart.holds() { own_key } else { shared_key };
            let trunk = self.trunks.get(*key, party, tag);
            match self.open_on(&trunk).await {
                Ok(link) => return Ok(link),
                Err(Setback::Failed(failure)) => return Err(failure),
                Err(Setback::Stale) => trunk.retire(),
            }
        }
        Err(Failure::new(
            "MessagingCommunication",
            "The broker closes every connection before a link is open",
        ))
    }

    async fn open_on(&self, trunk: &Trunk) -> Result<OpenLink, Setback> {
        let Joint { mut session, renew_at, container, seasoned } = trunk.join(&self.route.entity).await?;
        let attach = async {
            let attaching = Sender::builder()
                .name(format!("{container}-{}", self.route.address))
                .target(self.route.address.as_str())
                // Settled by the broker alone, so that its outcome is the truth.
                .sender_settle_mode(SenderSettleMode::Unsettled)
                .attach(&mut session);
            attaching.await.map_err(|error| match error {
                SenderAttachError::SessionStopped(SessionStopReason::ConnectionStopped(_)) if seasoned => {
                    Setback::Stale
                }
                error => Setback::Failed(self.trouble.of_attach(&error)),
            })
        };
        let sender = if seasoned {
            // A broker that is silent about one entity may well be silent about it alone.
            trunk.in_time(attach).await.inspect_err(|setback| {
                if matches!(setback, Setback::Stale) {
                    self.apart.begin();
                }
            })?
        } else {
            attach.await?
        };
        Ok(OpenLink { sender, session, renew_at, trunk: trunk.clone() })
    }

    /// Whether somebody waits for an outcome.
    fn awaited(&self) -> bool {
        // The one that remains is the pool's.
        self.held.sender_strong_count() > 1
    }

    async fn next(&mut self, link: &mut OpenLink) -> Event {
        let renew_at = link.renew_at.unwrap_or_else(far_future);
        tokio::select! {
            biased;
            end = link.session.on_end() => Event::Lost(end),
            () = tokio::time::sleep_until(renew_at), if link.renew_at.is_some() => Event::Renewal,
            request = self.queue.recv() => request.map_or(Event::Deserted, Event::Request),
            () = tokio::time::sleep(self.idle_timeout) => Event::Idle,
        }
    }

    /// Transfers a message, unless its attempt has given up: then it must not arrive any more.
    async fn send(&mut self, link: &mut OpenLink, request: Request, used: bool) -> Result<(), Broken> {
        let Request { parcel, mut answer } = request;
        let sent = tokio::select! {
            biased;
            () = answer.closed() => return Ok(()),
            sent = link.sender.send_batchable(*parcel) => sent,
        };
        let error = match sent {
            Ok(delivery) => {
                let _ = answer.send(Ok(delivery));
                return Ok(());
            }
            Err(error) => error,
        };
        let failure = self.trouble.of_send(&error);
        let of_message = matches!(error, SendError::MessageSizeExceeded(_) | SendError::MessageEncodeError);
        if of_message {
            let _ = answer.send(Err(Setback::Failed(failure)));
            return Ok(());
        }
        if used {
            let _ = answer.send(Err(Setback::Stale));
            return Err(Broken(None));
        }
        let _ = answer.send(Err(Setback::Failed(failure.clone())));
        Err(Broken(Some(failure)))
    }

    /// Takes no more, and tells those who wait what is wrong.
    fn refuse(&mut self, failure: &Failure) {
        self.answer_all(|| Setback::Failed(failure.clone()));
    }

    /// Takes no more, and sends those who wait to the next link.
    fn turn_away(&mut self) {
        self.answer_all(|| Setback::Stale);
    }

    fn answer_all(&mut self, answer: impl Fn() -> Setback) {
        self.queue.close();
        while let Ok(request) = self.queue.try_recv() {
            let _ = request.answer.send(Err(answer()));
        }
    }
}

/// The link is of no use any more; with what went wrong where it never was.
struct Broken(Option<Failure>);

fn far_future() -> Instant {
    Instant::now() + Duration::from_secs(86_400)
}
