//! Basic authentication, and what is never shown (CONTRACT 10.1).

use punctual_model::{Authentication, Secret};

use crate::receiver::{Receiver, ok, text};
use crate::world::{actions, assert_succeeded, get};

fn basic(username: &str, password: &str) -> Authentication {
    Authentication::Basic { username: username.into(), password: Secret::new(password) }
}

#[tokio::test]
async fn basic_authentication_is_sent() {
    let receiver = Receiver::start(|_| ok()).await;
    let actions = actions();
    get(receiver.url("/")).authentication(basic("Aladdin", "open sesame")).fire(&actions).await;
    get(receiver.url("/")).authentication(basic("test", "123£")).fire(&actions).await;
    let sent: Vec<_> =
        receiver.seen().iter().map(|seen| seen.header("authorization").unwrap().to_owned()).collect();
    assert_eq!(sent, ["Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", "Basic dGVzdDoxMjPCow=="]);
}

#[tokio::test]
async fn user_information_in_the_uri_is_basic_authentication() {
    let receiver = Receiver::start(|_| ok()).await;
    let uri = receiver.url("/").replace("http://", "http://Aladdin:open%20sesame@");
    let outcome = get(&*uri).fire(&actions()).await;
    assert_succeeded(&outcome);
    assert!(!outcome.message.contains("sesame"), "{}", outcome.message);
    let seen = receiver.only();
    assert_eq!(seen.header("authorization"), Some("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="));
    assert_eq!(seen.header("host"), Some(receiver.address.to_string().as_str()));
}

#[tokio::test]
async fn an_authorization_header_wins_over_user_information() {
    let receiver = Receiver::start(|_| ok()).await;
    let uri = receiver.url("/").replace("http://", "http://user:password@");
    get(uri).header("authorization", "Bearer mine").fire(&actions()).await;
    assert_eq!(receiver.only().header("authorization"), Some("Bearer mine"));
}

#[tokio::test]
async fn a_target_that_echoes_the_credentials_does_not_get_them_into_the_history() {
    let receiver = Receiver::start(|seen| text(200, format!("{:?} hunter22 rest", seen.headers))).await;
    let outcome = get(receiver.url("/")).authentication(basic("user", "hunter22")).fire(&actions()).await;
    assert_succeeded(&outcome);
    assert!(outcome.message.contains("authorization"), "{}", outcome.message);
    for secret in ["hunter22", "dXNlcjpodW50ZXIyMg=="] {
        assert!(!outcome.message.contains(secret), "{}", outcome.message);
    }
}

#[tokio::test]
async fn credentials_of_headers_and_of_the_uri_do_not_get_into_the_history_either() {
    let receiver = Receiver::start(|seen| text(200, format!("{:?} p@ssw0rd cook1e", seen.headers))).await;
    let request = get(receiver.url("/"))
        .credential("x-api-key", "hunter22")
        .credential("cookie", "session=cook1e")
        .user_info("user:p%40ssw0rd");
    let outcome = request.fire(&actions()).await;
    assert_succeeded(&outcome);
    assert_eq!(receiver.only().header("authorization"), Some("Basic dXNlcjpwQHNzdzByZA=="));
    assert!(outcome.message.contains("x-api-key"), "{}", outcome.message);
    for secret in ["hunter22", "cook1e", "p@ssw0rd", "dXNlcjpwQHNzdzByZA=="] {
        assert!(!outcome.message.contains(secret), "{secret}: {}", outcome.message);
    }
}
