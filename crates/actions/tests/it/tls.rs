//! HTTPS: HTTP/2 and HTTP/1.1, and whom we trust. What the history says where trust fails is in `cause.rs`.

use std::time::Duration;

use http::Version;
use tokio::time::timeout;

use crate::certificate::{Authority, Clients};
use crate::receiver::{Receiver, endless, ok, stalled, text};
use crate::world::{SHORT, actions, assert_succeeded, get, post, settings};

#[tokio::test]
async fn the_target_chooses_between_http_2_and_1_1() {
    let authority = Authority::new();
    let actions = authority.trusted();
    for (protocols, version) in [
        (&["h2", "http/1.1"][..], Version::HTTP_2),
        (&["http/1.1"], Version::HTTP_11),
        (&[], Version::HTTP_11),
    ] {
        let receiver =
            Receiver::secure(authority.server(Clients::Anonymous, protocols), |_| text(200, "hi")).await;
        let outcome = post(receiver.https("/a?b"), "body").fire(&actions).await;
        assert_succeeded(&outcome);
        assert!(outcome.message.starts_with("Http Action - Response from host 'localhost': 'OK' "));
        let seen = receiver.only();
        assert_eq!((seen.version, seen.target.as_str(), seen.body.as_str()), (version, "/a?b", "body"));
        assert_eq!(seen.header("x-ms-scheduler-jobid"), Some("job"));
    }
}

#[tokio::test]
async fn many_requests_share_one_connection_over_http_2() {
    let authority = Authority::new();
    let actions = authority.trusted();
    let receiver = Receiver::secure(authority.server(Clients::Anonymous, &["h2"]), |_| ok()).await;
    assert_succeeded(&get(receiver.https("/")).fire(&actions).await);
    let outcomes =
        futures_util::future::join_all((0..50).map(|_| get(receiver.https("/")).fire(&actions))).await;
    outcomes.iter().for_each(assert_succeeded);
    assert_eq!(receiver.connection_count(), 1);
}

#[tokio::test]
async fn an_endless_body_over_http_2_ends_the_attempt_and_not_the_connection() {
    let authority = Authority::new();
    let actions = authority.trusted();
    let receiver = Receiver::secure(authority.server(Clients::Anonymous, &["h2"]), |_| endless()).await;
    for _ in 0..5 {
        let fired = get(receiver.https("/")).fire(&actions);
        assert_succeeded(&timeout(Duration::from_secs(2), fired).await.unwrap());
    }
    assert_eq!(receiver.connection_count(), 1);
}

#[tokio::test]
async fn a_stalled_body_over_http_2_is_a_timeout() {
    let authority = Authority::new();
    let actions =
        crate::world::build(punctual_actions::Settings { timeout: SHORT, ..authority.trusting(settings()) })
            .unwrap();
    let receiver = Receiver::secure(authority.server(Clients::Anonymous, &["h2"]), |_| stalled(b"x")).await;
    let outcome = get(receiver.https("/")).fire(&actions).await;
    assert!(outcome.message.contains("failed: Timeout "), "{}", outcome.message);
}

/// Runs itself once more with the variable set: a process can't safely change its own environment.
#[tokio::test(flavor = "multi_thread")]
async fn authorities_named_by_ssl_cert_file_are_trusted() {
    const TARGET: &str = "PUNCTUAL_TEST_TARGET";
    if let Some(target) = std::env::var_os(TARGET) {
        assert_succeeded(&get(target.into_string().unwrap()).fire(&actions()).await);
        return;
    }
    let authority = Authority::new();
    let receiver = Receiver::secure(authority.server(Clients::Anonymous, &["h2"]), |_| ok()).await;
    let mut file = tempfile::NamedTempFile::new().unwrap();
    std::io::Write::write_all(&mut file, &authority.trusting(settings()).authorities_pem).unwrap();
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "tls::authorities_named_by_ssl_cert_file_are_trusted", "--nocapture"])
        .env("SSL_CERT_FILE", file.path())
        .env(TARGET, receiver.https("/"))
        .output()
        .unwrap();
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stderr));
    assert_eq!(receiver.seen().len(), 1);
}
