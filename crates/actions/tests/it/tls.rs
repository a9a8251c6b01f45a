//! HTTPS: HTTP/2 and HTTP/1.1, trust, and failures of the secure channel.

use std::time::Duration;

use http::Version;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use crate::certificate::{Authority, Clients};
use crate::receiver::{Receiver, endless, ok, stalled, text};
use crate::world::{SHORT, actions, assert_failed, assert_succeeded, get, post, settings};

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

#[tokio::test]
async fn an_unknown_authority_is_not_trusted() {
    let authority = Authority::new();
    let receiver = Receiver::secure(authority.server(Clients::Anonymous, &[]), |_| ok()).await;
    assert_failed(
        &get(receiver.https("/")).fire(&actions()).await,
        "Http Action - Request to host 'localhost' failed: TrustFailure The underlying connection was closed: \
         Could not establish trust relationship for the SSL/TLS secure channel: \
         invalid peer certificate: UnknownIssuer",
    );
    assert!(receiver.seen().is_empty());
}

#[tokio::test]
async fn a_certificate_for_another_name_is_not_trusted() {
    let authority = Authority::new();
    let acceptor = authority.server_named("other.example", Clients::Anonymous, &[]);
    let receiver = Receiver::secure(acceptor, |_| ok()).await;
    let outcome = get(receiver.https("/")).fire(&authority.trusted()).await;
    assert!(outcome.message.contains("failed: TrustFailure "), "{}", outcome.message);
    assert!(receiver.seen().is_empty());
}

#[tokio::test]
async fn a_target_that_speaks_no_tls_is_a_secure_channel_failure() {
    let plain = Receiver::raw(|mut tcp| async move {
        let _ = tcp.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        // The client's hello has to be read, else closing would reset the connection.
        let _ = tcp.read(&mut [0; 4096]).await;
    })
    .await;
    let closed = Receiver::raw(|mut tcp| async move {
        let _ = tcp.read(&mut [0; 4096]).await;
    })
    .await;
    let actions = actions();
    for receiver in [plain, closed] {
        let outcome = get(receiver.https("/")).fire(&actions).await;
        let expected =
            "failed: SecureChannelFailure The request was aborted: Could not create SSL/TLS secure channel";
        assert!(outcome.message.contains(expected), "{}", outcome.message);
    }
}

#[tokio::test]
async fn a_handshake_that_hangs_is_a_timeout() {
    let receiver = Receiver::hanging().await;
    let outcome = get(receiver.https("/")).fire(&crate::world::impatient()).await;
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
