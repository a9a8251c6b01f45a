//! Client certificates from PKCS#12 files (CONTRACT 10.1).

use punctual_model::Secret;

use crate::certificate::{Authority, Clients, client_certificate};
use crate::receiver::{Receiver, ok, redirect};
use crate::world::{assert_failed, assert_succeeded, get};

const LEGACY: &[&str] = &["-legacy"];
const TRIPLE_DES: &[&str] = &["-keypbe", "PBE-SHA1-3DES", "-certpbe", "PBE-SHA1-3DES", "-macalg", "sha1"];

#[tokio::test]
async fn the_certificate_is_shown_whatever_the_file_is_encrypted_with() {
    let authority = Authority::new();
    let actions = authority.trusted();
    let receiver = Receiver::secure(authority.server(Clients::Certified, &["h2"]), |_| ok()).await;
    let client = authority.issue("client");
    for (password, flags) in [("pass word", &[][..]), ("secret", LEGACY), ("secret", TRIPLE_DES), ("", &[])] {
        let request = get(receiver.https("/")).authentication(client.authentication(password, flags));
        assert_succeeded(&request.fire(&actions).await);
        assert_eq!(receiver.seen().pop().unwrap().certificate.as_deref(), Some(&*client.der), "{flags:?}");
    }
}

#[tokio::test]
async fn a_connection_is_never_shared_between_certificates() {
    let authority = Authority::new();
    let actions = authority.trusted();
    for protocol in ["h2", "http/1.1"] {
        let receiver = Receiver::secure(authority.server(Clients::Known, &[protocol]), |_| ok()).await;
        let (one, other) = (authority.issue("one"), authority.issue("other"));
        let (as_one, as_other) = (one.authentication("p", &[]), other.authentication("p", &[]));
        for _ in 0..2 {
            for authentication in [Some(&as_one), Some(&as_other), None] {
                let mut request = get(receiver.https("/"));
                if let Some(authentication) = authentication {
                    request = request.authentication(authentication.clone());
                }
                assert_succeeded(&request.fire(&actions).await);
            }
        }
        let shown: Vec<_> =
            receiver.seen().into_iter().map(|seen| (seen.connection, seen.certificate)).collect();
        let expected = [(0, Some(one.der.to_vec())), (1, Some(other.der.to_vec())), (2, None)];
        assert_eq!(shown, [expected.clone(), expected].concat(), "{protocol}");
    }
}

#[tokio::test]
async fn a_target_that_wants_a_certificate_is_a_secure_channel_failure_without_one() {
    let authority = Authority::new();
    let stranger = Authority::new().issue("stranger");
    let actions = authority.trusted();
    let receiver = Receiver::secure(authority.server(Clients::Certified, &[]), |_| ok()).await;
    for request in
        [get(receiver.https("/")), get(receiver.https("/")).authentication(stranger.authentication("p", &[]))]
    {
        let outcome = request.fire(&actions).await;
        assert!(!outcome.succeeded);
        assert!(outcome.message.contains("failed: SecureChannelFailure "), "{}", outcome.message);
    }
    assert!(receiver.seen().is_empty());
}

#[tokio::test]
async fn the_certificate_is_shown_to_the_original_host_only() {
    let authority = Authority::new();
    let other = Receiver::secure(authority.server(Clients::Known, &[]), |_| ok()).await;
    let location = other.https("/stolen");
    let receiver = Receiver::secure(authority.server(Clients::Known, &[]), move |seen| match &*seen.target {
        "/" => redirect(307, "/next"),
        _ => redirect(307, &location),
    })
    .await;
    let client = authority.issue("client");
    let request = get(receiver.https("/")).authentication(client.authentication("p", &[]));
    assert_succeeded(&request.fire(&authority.trusted()).await);
    let shown: Vec<_> = receiver.seen().into_iter().map(|seen| seen.certificate.is_some()).collect();
    assert_eq!(shown, [true, true]);
    assert_eq!(other.only().certificate, None);
}

#[tokio::test]
async fn credentials_do_not_go_from_https_to_http() {
    let authority = Authority::new();
    let plain = Receiver::start(|_| ok()).await;
    let location = plain.url("/");
    let receiver =
        Receiver::secure(authority.server(Clients::Known, &[]), move |_| redirect(308, &location)).await;
    let request = get(receiver.https("/")).header("Authorization", "Bearer x").header("Cookie", "a=b");
    assert_succeeded(&request.fire(&authority.trusted()).await);
    let seen = plain.only();
    assert_eq!((seen.header("authorization"), seen.header("cookie")), (None, None));
}

#[tokio::test]
async fn a_file_that_can_not_be_opened_is_a_failed_attempt_that_says_why() {
    let authority = Authority::new();
    let actions = authority.trusted();
    let receiver = Receiver::secure(authority.server(Clients::Known, &[]), |_| ok()).await;
    let file = authority.issue("client").pfx("right", &[]);
    let fire = |authentication| get(receiver.https("/")).authentication(authentication).fire(&actions);
    assert_failed(
        &fire(client_certificate(file, "wrong")).await,
        "Http Action - Request to host 'localhost' failed: SecureChannelFailure \
         The client certificate can't be opened with this password",
    );
    assert_failed(
        &fire(client_certificate(Secret::new("bm9uc2Vuc2U="), "")).await,
        "Http Action - Request to host 'localhost' failed: SecureChannelFailure \
         The client certificate is not a PKCS#12 file",
    );
    assert!(receiver.seen().is_empty());
}
