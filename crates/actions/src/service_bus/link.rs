//! The task behind a link: it opens the link, sends what it is given, renews the token, and lets go.
//!
//! Messages are handed over one by one and settled by the broker in whatever order it likes: each sender
//! waits for the outcome of its own message, so that a slow or refused one holds up nobody.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use fe2o3_amqp::link::SendError;
use fe2o3_amqp::link::delivery::DeliveryFut;
use fe2o3_amqp_types::messaging::Outcome;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::open::{OpenLink, Opener, Route};
use super::parcel::Parcel;
use super::trouble::Trouble;
use crate::failure::Failure;

/// Messages that wait for the task at once. Whoever finds it full waits within the time of its attempt.
const QUEUE_MAX: usize = 256;

/// How long the broker gets to take a renewed token.
const RENEWAL: Duration = Duration::from_secs(10);

/// A message on its way to the task.
pub(super) struct Request {
    pub(super) parcel: Box<Parcel>,
    pub(super) answer: oneshot::Sender<Result<Delivery, NotSent>>,
}

/// Resolves when the broker has settled the message.
pub(super) type Delivery = DeliveryFut<Result<Outcome, SendError>>;

/// Why a message was not transferred.
pub(super) enum NotSent {
    /// The link has worked before and is gone: a new one may do better, and nothing was sent.
    Stale,
    Failed(Failure),
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
    pub(super) fn start(opener: Arc<Opener>, route: Route, idle_timeout: Duration) -> Self {
        let (requests, queue) = mpsc::channel(QUEUE_MAX);
        let (stay, held) = mpsc::channel(1);
        let trouble = Trouble::new(route.key.expose());
        let task = Task { opener, route, trouble, queue, held, idle_timeout };
        tokio::spawn(task.run());
        Self { requests, _stay: stay }
    }
}

struct Task {
    opener: Arc<Opener>,
    route: Route,
    trouble: Trouble,
    queue: mpsc::Receiver<Request>,
    held: mpsc::Receiver<Infallible>,
    idle_timeout: Duration,
}

/// What a task wakes up for.
enum Event {
    Request(Request),
    Renewal,
    Idle,
    /// The connection is gone.
    Lost,
    /// Nobody wants the link any more.
    Deserted,
}

impl Task {
    async fn run(mut self) {
        let opening = self.opener.open(&self.route, &self.trouble);
        let opened = tokio::time::timeout(self.opener.timeout(), opening).await;
        let mut link = match opened.unwrap_or_else(|_| Err(Failure::timeout())) {
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
                    let renewal = self.opener.renew(&mut link, &self.route, &self.trouble);
                    if !matches!(tokio::time::timeout(RENEWAL, renewal).await, Ok(Ok(()))) {
                        // Those who come now get a new connection, or learn there what is wrong.
                        self.turn_away();
                        break;
                    }
                }
                // The one that remains is the pool's.
                Event::Idle if self.held.sender_strong_count() <= 1 => {
                    self.turn_away();
                    return link.close().await;
                }
                Event::Idle => {}
                Event::Lost => return self.turn_away(),
                Event::Deserted => return link.close().await,
            }
        }
        // What is on its way may still be settled, each message within the time of its attempt.
        let settled = async { while self.held.recv().await.is_some() {} };
        let _ = tokio::time::timeout(self.opener.timeout(), settled).await;
        link.close().await;
    }

    async fn next(&mut self, link: &mut OpenLink) -> Event {
        let renew_at = link.renew_at.unwrap_or_else(far_future);
        tokio::select! {
            biased;
            _ = link.connection.on_close() => Event::Lost,
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
            let _ = answer.send(Err(NotSent::Failed(failure)));
            return Ok(());
        }
        if used {
            let _ = answer.send(Err(NotSent::Stale));
            return Err(Broken(None));
        }
        let _ = answer.send(Err(NotSent::Failed(failure.clone())));
        Err(Broken(Some(failure)))
    }

    /// Takes no more, and tells those who wait what is wrong.
    fn refuse(&mut self, failure: &Failure) {
        self.answer_all(|| NotSent::Failed(failure.clone()));
    }

    /// Takes no more, and sends those who wait to the next link.
    fn turn_away(&mut self) {
        self.answer_all(|| NotSent::Stale);
    }

    fn answer_all(&mut self, answer: impl Fn() -> NotSent) {
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
