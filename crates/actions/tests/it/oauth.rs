//! Tokens of Azure Active Directory (CONTRACT 10.1).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use punctual_actions::{Actions, Egress, Settings};
use punctual_model::{Authentication, Secret};

use crate::receiver::{Answer, Receiver, ok, redirect, status, text};
use crate::world::{SHORT, assert_failed, assert_succeeded, build, get, settings};

/// An authority whose tokens are numbered.
async fn authority(expires_in: &'static str) -> Receiver {
    let count = AtomicUsize::new(0);
    Receiver::start(move |_| {
        let number = count.fetch_add(1, Ordering::SeqCst);
        token(&format!("token-{number}"), expires_in)
    })
    .await
}

fn token(token: &str, expires_in: &str) -> Answer {
    text(200, format!(r#"{{"token_type":"Bearer","expires_in":{expires_in},"access_token":"{token}"}}"#))
}

fn actions(authority: &Receiver) -> Actions {
    build(Settings { oauth_authority: authority.url("/"), ..settings() }).unwrap()
}

fn oauth(secret: &str) -> Authentication {
    Authentication::ActiveDirectoryOAuth {
        secret: Secret::new(secret),
        tenant: "contoso.com".into(),
        audience: "https://management.core.windows.net/".into(),
        client_id: "client".into(),
    }
}

fn sent(receiver: &Receiver) -> Vec<String> {
    receiver.seen().iter().map(|seen| seen.header("authorization").unwrap_or("none").to_owned()).collect()
}

#[tokio::test]
async fn a_token_by_client_credentials_is_sent_as_bearer() {
    let authority = authority("3600").await;
    let target = Receiver::start(|_| ok()).await;
    assert_succeeded(&get(target.url("/")).authentication(oauth("s&cret")).fire(&actions(&authority)).await);
    assert_eq!(sent(&target), ["Bearer token-0"]);
    let asked = authority.only();
    assert_eq!((asked.method.as_str(), asked.target.as_str()), ("POST", "/contoso.com/oauth2/token"));
    assert_eq!(asked.header("content-type"), Some("application/x-www-form-urlencoded"));
    assert_eq!(
        asked.body,
        "grant_type=client_credentials&client_id=client&client_secret=s%26cret\
         &resource=https%3A%2F%2Fmanagement.core.windows.net%2F"
    );
}

#[tokio::test]
async fn one_token_is_fetched_for_many_jobs() {
    let authority = authority(r#""3600""#).await;
    let target = Receiver::start(|_| ok()).await;
    let actions = actions(&authority);
    let fire = |_| get(target.url("/")).authentication(oauth("secret")).fire(&actions);
    for outcome in futures_util::future::join_all((0..50).map(fire)).await {
        assert_succeeded(&outcome);
    }
    assert_eq!(authority.seen().len(), 1);
    assert!(sent(&target).iter().all(|token| token == "Bearer token-0"));
}

#[tokio::test]
async fn another_secret_gets_another_token() {
    let authority = authority("3600").await;
    let target = Receiver::start(|_| ok()).await;
    let actions = actions(&authority);
    for secret in ["one", "other", "one"] {
        assert_succeeded(&get(target.url("/")).authentication(oauth(secret)).fire(&actions).await);
    }
    assert_eq!(sent(&target), ["Bearer token-0", "Bearer token-1", "Bearer token-0"]);
}

#[tokio::test]
async fn an_expired_token_is_fetched_anew() {
    let authority = authority("0").await;
    let target = Receiver::start(|_| ok()).await;
    let actions = actions(&authority);
    for _ in 0..2 {
        assert_succeeded(&get(target.url("/")).authentication(oauth("secret")).fire(&actions).await);
    }
    assert_eq!(sent(&target), ["Bearer token-0", "Bearer token-1"]);
}

#[tokio::test]
async fn a_token_that_is_not_accepted_is_fetched_anew_once() {
    let authority = authority("3600").await;
    let target = Receiver::start(|seen| {
        status(if seen.header("authorization") == Some("Bearer token-1") { 200 } else { 401 })
    })
    .await;
    let actions = actions(&authority);
    for _ in 0..2 {
        assert_succeeded(&get(target.url("/")).authentication(oauth("secret")).fire(&actions).await);
    }
    assert_eq!(sent(&target), ["Bearer token-0", "Bearer token-1", "Bearer token-1"]);
    let stubborn = Receiver::start(|_| status(401)).await;
    let outcome = get(stubborn.url("/")).authentication(oauth("secret")).fire(&actions).await;
    assert!(!outcome.succeeded && outcome.message.contains("'Unauthorized'"), "{}", outcome.message);
    assert_eq!(stubborn.seen().len(), 2);
}

#[tokio::test]
async fn a_refusal_of_the_authority_is_told_without_the_secret() {
    let authority = Receiver::start(|_| {
        text(
            401,
            r#"{"error":"invalid_client","error_description":"AADSTS7000215: Invalid secret topsecret.\r\nTrace ID: x"}"#,
        )
    })
    .await;
    let target = Receiver::start(|_| ok()).await;
    let outcome = get(target.url("/")).authentication(oauth("topsecret")).fire(&actions(&authority)).await;
    assert_failed(
        &outcome,
        "Http Action - Request to host '127.0.0.1' failed: UnknownError The token for the audience \
         'https://management.core.windows.net/' could not be had from '127.0.0.1': \
         'Unauthorized' invalid_client AADSTS7000215: Invalid secret ***.",
    );
    assert!(target.seen().is_empty());
}

#[tokio::test]
async fn an_authority_that_talks_nonsense_is_told() {
    let target = Receiver::start(|_| ok()).await;
    for (answer, reason) in [("<html>", "the answer is not JSON"), ("{}", "the answer holds no access_token")]
    {
        let authority = Receiver::start(move |_| text(200, answer)).await;
        let outcome = get(target.url("/")).authentication(oauth("secret")).fire(&actions(&authority)).await;
        assert!(!outcome.succeeded && outcome.message.ends_with(reason), "{}", outcome.message);
    }
}

#[tokio::test]
async fn a_failure_is_shared_by_those_who_wait_for_it_and_tried_again_later() {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let authority = Receiver::start(move |_| match counted.fetch_add(1, Ordering::SeqCst) {
        0 => status(500),
        _ => token("good", "3600"),
    })
    .await;
    let target = Receiver::start(|_| ok()).await;
    let actions = actions(&authority);
    let fire = |_| get(target.url("/")).authentication(oauth("secret")).fire(&actions);
    let outcomes = futures_util::future::join_all((0..20).map(fire)).await;
    assert!(outcomes.iter().all(|outcome| !outcome.succeeded));
    assert_eq!(count.load(Ordering::SeqCst), 1);
    assert_succeeded(&fire(0).await);
}

#[tokio::test]
async fn an_authority_that_hangs_costs_the_time_of_the_attempt_and_no_more() {
    let authority = Receiver::hanging().await;
    let target = Receiver::start(|_| ok()).await;
    let settings = Settings { timeout: SHORT, oauth_authority: authority.url(""), ..settings() };
    let actions = build(settings).unwrap();
    let fire = |_| get(target.url("/")).authentication(oauth("secret")).fire(&actions);
    for outcome in futures_util::future::join_all((0..5).map(fire)).await {
        assert!(outcome.message.contains("failed: Timeout "), "{}", outcome.message);
    }
    assert_succeeded(&get(target.url("/")).fire(&actions).await);
}

#[tokio::test]
async fn the_authority_is_under_the_egress_rules() {
    let target = Receiver::start(|_| ok()).await;
    let settings = Settings {
        egress: Egress::new(&[], &["127.0.0.2/32".parse().unwrap()]),
        oauth_authority: "http://127.0.0.2:1".into(),
        ..settings()
    };
    let outcome = get(target.url("/")).authentication(oauth("secret")).fire(&build(settings).unwrap()).await;
    assert!(outcome.message.contains("is not allowed by the egress rules"), "{}", outcome.message);
    assert!(target.seen().is_empty());
}

#[tokio::test]
async fn a_token_does_not_go_to_another_host() {
    let authority = authority("3600").await;
    let other = Receiver::start(|_| status(401)).await;
    let location = other.url("/");
    let target = Receiver::start(move |_| redirect(307, &location)).await;
    let outcome = get(target.url("/")).authentication(oauth("secret")).fire(&actions(&authority)).await;
    assert!(!outcome.succeeded);
    assert_eq!((sent(&target), sent(&other)), (vec!["Bearer token-0".to_owned()], vec!["none".to_owned()]));
    assert_eq!(authority.seen().len(), 1);
}

#[tokio::test]
async fn an_echoed_token_is_not_kept() {
    let authority = authority("3600").await;
    let target = Receiver::start(|seen| text(200, seen.header("authorization").unwrap().to_owned())).await;
    let outcome = get(target.url("/")).authentication(oauth("secret")).fire(&actions(&authority)).await;
    assert!(outcome.message.ends_with("Body: Bearer ***"), "{}", outcome.message);
}
