//! What counts as success, and what is kept of an answer (CONTRACT 9.1, 17.1 #5, #7, #21).

use std::time::Duration;

use http::Response;
use http_body_util::{BodyExt, Full};
use tokio::time::timeout;

use crate::receiver::{Receiver, endless, stalled, status, text};
use crate::world::{actions, assert_failed, assert_succeeded, get, impatient};

#[tokio::test]
async fn success_is_200_to_299() {
    let receiver = Receiver::start(|seen| status(seen.target[1..].parse().unwrap())).await;
    let actions = actions();
    for (code, succeeded) in [
        (200, true),
        (201, true),
        (202, true),
        (204, true),
        (299, true),
        (300, false),
        (304, false),
        (400, false),
        (401, false),
        (404, false),
        (500, false),
        (503, false),
        (599, false),
    ] {
        let outcome = get(receiver.url(&format!("/{code}"))).fire(&actions).await;
        assert_eq!(outcome.succeeded, succeeded, "{code}: {}", outcome.message);
    }
}

#[tokio::test]
async fn the_history_tells_status_headers_and_body() {
    let receiver = Receiver::start(|_| {
        Response::builder()
            .status(503)
            .header("date", "Mon, 09 Nov 2015 20:33:59 GMT")
            .header("content-type", "text/html")
            .header("set-cookie", "a=1")
            .header("set-cookie", "b=2")
            .body(Full::from("come back later").boxed())
            .unwrap()
    })
    .await;
    let outcome = get(receiver.url("/")).fire(&actions()).await;
    assert_failed(
        &outcome,
        "Http Action - Response from host '127.0.0.1': 'ServiceUnavailable' Response Headers: \
         Date: Mon, 09 Nov 2015 20:33:59 GMT\r\nSet-Cookie: a=1, b=2\r\n Body: come back later",
    );
}

#[tokio::test]
async fn an_empty_body_leaves_its_label() {
    let receiver = Receiver::start(|_| status(204)).await;
    let outcome = get(receiver.url("/")).fire(&actions()).await;
    assert_succeeded(&outcome);
    assert!(
        outcome
            .message
            .starts_with("Http Action - Response from host '127.0.0.1': 'NoContent' Response Headers: ")
    );
    assert!(outcome.message.ends_with("\r\n Body: "), "{}", outcome.message);
}

#[tokio::test]
async fn a_thousand_and_twenty_four_characters_of_a_long_body_are_kept() {
    let receiver = Receiver::start(|_| text(200, "x".repeat(100_000))).await;
    let outcome = get(receiver.url("/")).fire(&actions()).await;
    assert_succeeded(&outcome);
    assert_eq!(outcome.message.split_once("Body: ").unwrap().1, "x".repeat(1024));
}

#[tokio::test]
async fn an_endless_body_ends_the_attempt_at_once() {
    let receiver = Receiver::start(|_| endless()).await;
    let actions = actions();
    for _ in 0..3 {
        let outcome = timeout(Duration::from_secs(2), get(receiver.url("/")).fire(&actions)).await.unwrap();
        assert_succeeded(&outcome);
        assert_eq!(outcome.message.split_once("Body: ").unwrap().1, "x".repeat(1024));
    }
    assert_eq!(receiver.connection_count(), 3, "a connection with more to say is not used again");
}

#[tokio::test]
async fn a_body_that_hangs_is_a_timeout() {
    let receiver = Receiver::start(|_| stalled(b"begin")).await;
    let outcome = get(receiver.url("/")).fire(&impatient()).await;
    assert_failed(
        &outcome,
        "Http Action - Request to host '127.0.0.1' failed: Timeout The operation has timed out: \
         no complete answer within 300 ms",
    );
}

#[tokio::test]
async fn a_body_that_hangs_after_what_is_kept_is_none() {
    let receiver = Receiver::start(|_| stalled(&[b'x'; 2048])).await;
    assert_succeeded(&get(receiver.url("/")).fire(&impatient()).await);
}

#[tokio::test]
async fn an_answer_that_takes_forever_is_a_timeout() {
    let receiver = Receiver::hanging().await;
    let outcome = get(receiver.url("/")).fire(&impatient()).await;
    assert_failed(
        &outcome,
        "Http Action - Request to host '127.0.0.1' failed: Timeout The operation has timed out: \
         no complete answer within 300 ms",
    );
}
