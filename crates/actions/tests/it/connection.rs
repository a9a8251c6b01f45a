//! Connections are kept and used again, and a stale one does no harm.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use punctual_actions::Settings;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::{Barrier, mpsc};

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

#[tokio::test]
async fn a_connection_that_the_target_has_closed_is_not_used_for_a_post() {
    let (closed, mut closings) = mpsc::unbounded_channel();
    let receiver = Receiver::raw(move |mut tcp| {
        let closed = closed.clone();
        async move {
            read_head(&mut tcp).await;
            let _ = tcp.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
            drop(tcp);
            closed.send(()).unwrap();
        }
    })
    .await;
    let (actions, other) = (actions(), Receiver::start(|_| ok()).await);
    for count in 1..=3 {
        assert_succeeded(&post(receiver.url("/"), "").fire(&actions).await);
        closings.recv().await.unwrap();
        // Waiting for another event of the network makes the runtime deliver the earlier ones.
        assert_succeeded(&get(other.url("/")).fire(&actions).await);
        assert_eq!(receiver.connection_count(), count);
    }
}

#[tokio::test]
async fn an_idle_connection_is_closed_though_nothing_more_is_sent() {
    let (ended, mut ends) = mpsc::unbounded_channel();
    let receiver = Receiver::raw(move |mut tcp| {
        let ended = ended.clone();
        async move {
            read_head(&mut tcp).await;
            let _ = tcp.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
            ended.send(tcp.read(&mut [0]).await).unwrap();
        }
    })
    .await;
    let actions = build(Settings { idle_timeout: Duration::from_millis(20), ..settings() }).unwrap();
    assert_succeeded(&get(receiver.url("/")).fire(&actions).await);
    assert_eq!(ends.recv().await.unwrap().unwrap(), 0, "it was closed, not reset");
}

#[tokio::test]
async fn no_more_connections_are_kept_than_may_be() {
    let all_are_there = Arc::new(Barrier::new(4));
    let receiver = Receiver::raw(move |mut tcp| {
        let all_are_there = Arc::clone(&all_are_there);
        async move {
            while !read_head(&mut tcp).await.is_empty() {
                all_are_there.wait().await;
                let _ = tcp.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
            }
        }
    })
    .await;
    let actions = build(Settings { idle_per_host_max: 3, ..settings() }).unwrap();
    for count in [4, 5, 6] {
        let four = (0..4).map(|_| get(receiver.url("/")).fire(&actions));
        join_all(four).await.iter().for_each(assert_succeeded);
        assert_eq!(receiver.connection_count(), count);
    }
}
