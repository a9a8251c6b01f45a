//! Targets that misbehave: each is a failed attempt that says why.

use tokio::io::AsyncWriteExt;

use crate::receiver::{Receiver, read_head};
use crate::world::{actions, get, impatient};

#[tokio::test]
async fn a_new_connection_that_is_closed_without_an_answer_is_not_tried_twice() {
    let receiver = Receiver::saying("").await;
    let outcome = get(receiver.url("/")).fire(&actions()).await;
    assert!(outcome.message.contains("failed: ReceiveFailure "), "{}", outcome.message);
    assert_eq!(receiver.connection_count(), 1);
}

#[tokio::test]
async fn a_body_that_breaks_off_is_a_receive_failure() {
    let receiver = Receiver::saying("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort").await;
    let outcome = get(receiver.url("/")).fire(&actions()).await;
    assert!(!outcome.succeeded);
    assert!(outcome.message.contains("failed: ReceiveFailure "), "{}", outcome.message);
}

#[tokio::test]
async fn garbage_is_a_protocol_violation() {
    let actions = actions();
    for garbage in [
        "SSH-2.0-OpenSSH_9.2\r\n\r\n",
        "\0\u{1}\u{2}\u{3}\r\n\r\n",
        "HTTP/1.1 abc\r\n\r\n",
        "HTTP/1.1 200 OK\r\n\0: 1\r\n\r\n",
    ] {
        let receiver = Receiver::saying(garbage).await;
        let outcome = get(receiver.url("/")).fire(&actions).await;
        assert!(!outcome.succeeded, "{garbage:?}");
        assert!(
            outcome.message.contains("failed: ServerProtocolViolation "),
            "{garbage:?}: {}",
            outcome.message
        );
    }
}

#[tokio::test]
async fn endless_headers_are_cut_off() {
    let receiver = Receiver::raw(|mut tcp| async move {
        read_head(&mut tcp).await;
        let _ = tcp.write_all(b"HTTP/1.1 200 OK\r\nx-a: ").await;
        while tcp.write_all(&[b'a'; 4096]).await.is_ok() {}
    })
    .await;
    let outcome = get(receiver.url("/")).fire(&actions()).await;
    assert!(outcome.message.contains("failed: ServerProtocolViolation "), "{}", outcome.message);
}

#[tokio::test]
async fn a_flood_of_header_lines_is_cut_off() {
    let head = format!("HTTP/1.1 200 OK\r\n{}\r\n", "x-a: b\r\n".repeat(5000));
    let receiver = Receiver::saying(head).await;
    let outcome = get(receiver.url("/")).fire(&actions()).await;
    assert!(outcome.message.contains("failed: ServerProtocolViolation "), "{}", outcome.message);
}

#[tokio::test]
async fn endless_interim_answers_are_a_timeout() {
    let receiver = Receiver::raw(|mut tcp| async move {
        read_head(&mut tcp).await;
        while tcp.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await.is_ok() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let outcome = get(receiver.url("/")).fire(&impatient()).await;
    assert!(!outcome.succeeded, "{}", outcome.message);
}

#[tokio::test]
async fn a_target_that_hangs_keeps_nobody_else_waiting() {
    let hanging = Receiver::hanging().await;
    let lively = Receiver::start(|_| crate::receiver::ok()).await;
    let actions = actions();
    let stuck = get(hanging.url("/")).firing();
    let stuck = std::pin::pin!(actions.fire(&stuck));
    let free = get(lively.url("/")).firing();
    let free = std::pin::pin!(actions.fire(&free));
    let first = futures_util::future::select(stuck, free).await;
    assert!(matches!(first, futures_util::future::Either::Right((outcome, _)) if outcome.succeeded));
}

#[tokio::test]
async fn the_original_is_tried_again_after_failures() {
    let count = std::sync::atomic::AtomicUsize::new(0);
    let receiver = Receiver::start(move |_| {
        let earlier = count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        crate::receiver::status(if earlier < 2 { 500 } else { 200 })
    })
    .await;
    let actions = actions();
    let mut outcomes = Vec::new();
    for _ in 0..3 {
        outcomes.push(get(receiver.url("/")).fire(&actions).await.succeeded);
    }
    assert_eq!(outcomes, [false, false, true]);
}
