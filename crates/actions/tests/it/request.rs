//! What is sent: methods, headers, bodies (CONTRACT 10 and 17.1 #8 to #10).

use http::Version;

use crate::receiver::{Receiver, ok};
use crate::world::{actions, assert_failed, assert_succeeded, get, post, send};

#[tokio::test]
async fn every_method_is_sent() {
    let receiver = Receiver::start(|_| ok()).await;
    let actions = actions();
    let methods = ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "PURGE"];
    for method in methods {
        assert_succeeded(&send(method, receiver.url("/")).fire(&actions).await);
    }
    let seen: Vec<_> = receiver.seen().iter().map(|seen| seen.method.to_string()).collect();
    assert_eq!(seen, methods);
}

#[tokio::test]
async fn a_method_in_lower_case_is_sent_in_capitals() {
    let receiver = Receiver::start(|_| ok()).await;
    send("post", receiver.url("/")).fire(&actions()).await;
    assert_eq!(receiver.only().method, "POST");
}

#[tokio::test]
async fn a_get_may_have_a_body() {
    let receiver = Receiver::start(|_| ok()).await;
    assert_succeeded(&get(receiver.url("/")).body("some body message!").fire(&actions()).await);
    let seen = receiver.only();
    assert_eq!((seen.method.as_str(), seen.body.as_str()), ("GET", "some body message!"));
}

#[tokio::test]
async fn path_and_query_arrive_as_written() {
    let receiver = Receiver::start(|_| ok()).await;
    get(receiver.url("/a%2db/c d?x=%2F&y=ş#fragment")).fire(&actions()).await;
    assert_eq!(receiver.only().target, "/a%2db/c%20d?x=%2F&y=%C5%9F");
}

#[tokio::test]
async fn the_schedulers_own_headers_are_sent() {
    let receiver = Receiver::start(|_| ok()).await;
    let firing = get(receiver.url("/")).firing();
    actions().fire(&firing).await;
    let seen = receiver.only();
    let check = |name, value: &str| assert_eq!(seen.header(name), Some(value), "{name}");
    check("x-ms-scheduler-jobid", "job");
    check("x-ms-scheduler-jobcollectionid", "jobs");
    check("x-ms-scheduler-expected-execution-time", "2026-03-04T05:06:07");
    check("x-ms-scheduler-execution-region", "West US");
    check("x-ms-execution-tag", &firing.tag.to_string());
    check("x-ms-client-request-id", "d7737f7c-0880-4072-8b95-f5db2f8ad572");
    check("x-ms-scheduler-attempt", "0");
    check("user-agent", concat!("punctual/", env!("CARGO_PKG_VERSION")));
    assert_eq!(seen.version, Version::HTTP_11);
    assert_eq!(seen.header("content-type"), None);
}

#[tokio::test]
async fn the_execution_tag_stays_while_attempts_are_counted() {
    let receiver = Receiver::start(|_| ok()).await;
    let actions = actions();
    let mut firing = get(receiver.url("/")).firing();
    for attempt in 0..3 {
        firing.attempt = attempt;
        actions.fire(&firing).await;
    }
    let seen = receiver.seen();
    let attempts: Vec<_> = seen.iter().map(|seen| seen.header("x-ms-scheduler-attempt").unwrap()).collect();
    assert_eq!(attempts, ["0", "1", "2"]);
    let tag = firing.tag.to_string();
    assert!(tag.len() == 32 && seen.iter().all(|seen| seen.header("x-ms-execution-tag") == Some(&tag)));
}

#[tokio::test]
async fn a_users_header_wins_over_ours() {
    let receiver = Receiver::start(|_| ok()).await;
    let ours = [
        "X-MS-Scheduler-JobId",
        "x-ms-scheduler-jobcollectionid",
        "x-ms-scheduler-expected-execution-time",
        "x-ms-scheduler-execution-region",
        "x-ms-execution-tag",
        "x-ms-client-request-id",
        "x-ms-scheduler-attempt",
        "User-Agent",
        "Content-Type",
    ];
    let request =
        ours.into_iter().fold(post(receiver.url("/"), "body"), |request, name| request.header(name, "mine"));
    request.fire(&actions()).await;
    let seen = receiver.only();
    for name in ours {
        let values: Vec<_> = seen.headers.get_all(name).iter().collect();
        assert_eq!(values, ["mine"], "{name}");
    }
}

#[tokio::test]
async fn a_body_without_a_content_type_is_plain_text() {
    let receiver = Receiver::start(|_| ok()).await;
    let actions = actions();
    post(receiver.url("/"), "güneş").fire(&actions).await;
    post(receiver.url("/"), "{}").header("ConTent-tYPe", "application/json").fire(&actions).await;
    post(receiver.url("/"), "").fire(&actions).await;
    let types: Vec<_> =
        receiver.seen().iter().map(|seen| seen.header("content-type").map(str::to_owned)).collect();
    assert_eq!(
        types,
        [Some("text/plain; charset=utf-8".to_owned()), Some("application/json".to_owned()), None]
    );
    assert_eq!(receiver.seen()[0].body, "güneş");
}

#[tokio::test]
async fn the_length_of_a_body_is_always_said_where_one_is_expected() {
    let receiver = Receiver::start(|_| ok()).await;
    let actions = actions();
    for (method, length) in [
        ("POST", Some("0")),
        ("PUT", Some("0")),
        ("PATCH", Some("0")),
        ("GET", None),
        ("DELETE", None),
        ("HEAD", None),
    ] {
        assert_succeeded(&send(method, receiver.url("/")).fire(&actions).await);
        assert_eq!(receiver.seen().pop().unwrap().header("content-length"), length, "{method}");
    }
}

#[tokio::test]
async fn headers_that_frame_the_message_are_ours_to_say() {
    let receiver = Receiver::start(|_| ok()).await;
    let outcome = post(receiver.url("/"), "body")
        .header("Content-Length", "9999")
        .header("Transfer-Encoding", "chunked")
        .header("Connection", "upgrade")
        .header("Upgrade", "websocket")
        .header("Expect", "100-continue")
        .fire(&actions())
        .await;
    assert_succeeded(&outcome);
    let seen = receiver.only();
    assert_eq!((seen.body.as_str(), seen.header("content-length")), ("body", Some("4")));
    for name in ["transfer-encoding", "upgrade", "expect"] {
        assert_eq!(seen.header(name), None, "{name}");
    }
}

#[tokio::test]
async fn a_header_can_not_break_out_of_its_line() {
    let receiver = Receiver::start(|_| ok()).await;
    let outcome = get(receiver.url("/")).header("x-a", "b\r\nx-evil: 1").fire(&actions()).await;
    assert_failed(
        &outcome,
        "Http Action - Request to host '127.0.0.1' failed: UnknownError The value of the header 'x-a' is not valid",
    );
    assert!(receiver.seen().is_empty());
}

#[tokio::test]
async fn a_header_may_be_repeated_and_hold_foreign_letters() {
    let receiver = Receiver::start(|_| ok()).await;
    get(receiver.url("/")).header("X-A", "1").header("x-a", "güneş").fire(&actions()).await;
    let seen = receiver.only();
    let values: Vec<_> = seen.headers.get_all("x-a").iter().map(|value| value.as_bytes().to_vec()).collect();
    assert_eq!(values, [b"1".to_vec(), "güneş".as_bytes().to_vec()]);
}

#[tokio::test]
async fn a_uri_that_is_none_is_a_failed_attempt() {
    let actions = actions();
    for uri in ["", "nonsense", "/path", "ftp://host/", "http://", "http://a b/", "http://[::1"] {
        let outcome = get(uri).fire(&actions).await;
        assert!(!outcome.succeeded, "{uri}");
        assert!(outcome.message.starts_with("Http Action - Request to host '"), "{uri}: {}", outcome.message);
        assert!(outcome.message.contains("failed: UnknownError The"), "{uri}: {}", outcome.message);
    }
}
