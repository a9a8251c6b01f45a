//! Connections are kept and used again, and a stale one does no harm.

use std::time::Duration;

use punctual_actions::Settings;
use tokio::io::AsyncWriteExt;

use crate::receiver::{Receiver, ok, read_head, text};
use crate::world::{actions, assert_succeeded, build, get, post, settings};

#[tokio::test]
async fn a_connection_is_used_again() {
    let receiver = Receiver::start(|_| text(200, "short")).await;
    let actions = actions();
    for _ in 0..20 {
        assert_succeeded(&post(receiver.url("/"), "body").fire(&actions).await);
    }
    assert_eq!(receiver.connection_count(), 1);
}

#[tokio::test]
async fn an_idle_connection_is_closed_after_a_while() {
    let receiver = Receiver::start(|_| ok()).await;
    let actions = build(Settings { idle_timeout: Duration::from_nanos(1), ..settings() }).unwrap();
    get(receiver.url("/")).fire(&actions).await;
    get(receiver.url("/")).fire(&actions).await;
    assert_eq!(receiver.connection_count(), 2);
}

/// Answers one request on each connection, promises to keep it, then closes it at the next request.
async fn fickle() -> Receiver {
    Receiver::raw(|mut tcp| async move {
        read_head(&mut tcp).await;
        let _ = tcp.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
        read_head(&mut tcp).await;
    })
    .await
}

#[tokio::test]
async fn an_old_connection_that_was_closed_is_replaced_where_repeating_is_harmless() {
    let receiver = fickle().await;
    let actions = actions();
    for _ in 0..3 {
        assert_succeeded(&get(receiver.url("/")).fire(&actions).await);
    }
}

#[tokio::test]
async fn a_post_is_sent_once() {
    let receiver = fickle().await;
    let actions = actions();
    assert_succeeded(&post(receiver.url("/"), "").fire(&actions).await);
    let outcome = post(receiver.url("/"), "").fire(&actions).await;
    assert!(outcome.message.contains("failed: ReceiveFailure "), "{}", outcome.message);
    assert_eq!(receiver.connection_count(), 1);
}
