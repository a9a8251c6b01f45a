//! Whether an attempt may go is asked right before its first byte; if not, nothing is sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use punctual_actions::{Actions, Settings};
use punctual_model::{ActionKind, Asked, Firing, Go, Permission, QueueMessage, Secret};

use crate::bus::{Double, note};
use crate::receiver::{Receiver, redirect, status};
use crate::world::{actions, build, firing, get, settings};

/// Answers as it is told, and remembers how often it was asked.
#[derive(Default)]
struct Gate {
    open: AtomicBool,
    asked: AtomicUsize,
}

impl Permission for Gate {
    fn ask(&self) -> Asked<'_> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        Box::pin(async { self.open.load(Ordering::SeqCst) })
    }
}

fn gate(open: bool) -> (Arc<Gate>, Go) {
    let gate = Arc::new(Gate::default());
    gate.open.store(open, Ordering::SeqCst);
    let go = Go::asking(Arc::clone(&gate) as Arc<dyn Permission>);
    (gate, go)
}

async fn check(actions: &Actions, firing: &Firing, seen: impl AsyncFn() -> usize) {
    let (shut, go) = gate(false);
    assert!(actions.fire_if(firing, &go).await.is_none());
    assert_eq!(
        (shut.asked.load(Ordering::SeqCst), seen().await),
        (1, 0),
        "it was asked and nothing was sent"
    );
    let (open, go) = gate(true);
    let outcome = actions.fire_if(firing, &go).await.unwrap();
    assert!(outcome.succeeded, "{}", outcome.message);
    assert_eq!((open.asked.load(Ordering::SeqCst), seen().await), (1, 1));
}

#[tokio::test]
async fn an_http_request_that_may_not_go_is_not_sent() {
    let receiver = Receiver::start(|_| status(200)).await;
    check(&actions(), &get(receiver.url("/")).firing(), async || receiver.seen().len()).await;
}

#[tokio::test]
async fn a_storage_queue_message_that_may_not_go_is_not_sent() {
    let receiver = Receiver::start(|_| status(201)).await;
    let settings = Settings { storage_queue_endpoint: receiver.url("/{account}"), ..settings() };
    let message = ActionKind::StorageQueue(QueueMessage {
        storage_account: "account".into(),
        queue_name: "queue1".into(),
        sas_token: Secret::new("?sig=a"),
        message: "text".into(),
    });
    check(&build(settings).unwrap(), &firing(message), async || receiver.seen().len()).await;
}

#[tokio::test]
async fn a_service_bus_message_that_may_not_go_is_not_sent() {
    let Some(double) = Double::start().await else { return };
    let actions = double.actions();
    let sent = async || usize::try_from(double.counts().await["transfers"].as_u64().unwrap()).unwrap();
    check(&actions, &note("orders").for_queue(), sent).await;
}

#[tokio::test]
async fn nobody_is_asked_where_a_redirect_leads_since_something_was_sent() {
    let receiver =
        Receiver::start(|request| if request.target == "/" { redirect(302, "/there") } else { status(200) })
            .await;
    let (open, go) = gate(true);
    assert!(actions().fire_if(&get(receiver.url("/")).firing(), &go).await.unwrap().succeeded);
    assert_eq!((open.asked.load(Ordering::SeqCst), receiver.seen().len()), (1, 2));
}

#[tokio::test]
async fn nobody_is_asked_before_there_is_a_connection() {
    let (open, go) = gate(true);
    let outcome = actions().fire_if(&get("http://127.0.0.1:1/".to_owned()).firing(), &go).await.unwrap();
    assert!(!outcome.succeeded);
    assert_eq!(open.asked.load(Ordering::SeqCst), 0);
}
