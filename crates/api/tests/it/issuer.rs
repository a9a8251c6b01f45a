//! Issuers of OpenID Connect: whose tokens are taken, what they grant, and how their keys are fetched.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use axum::body::Body;
use http::{Request, header};
use jiff::SignedDuration;
use punctual_api::{CallerLimits, IssuerSettings, IssuerTransport, Peer, Rate, Rule, Settings};
use punctual_jwt::SigningKey;
use punctual_model::Secret;
use punctual_model::access::{Grant, Role};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::world::{Answer, World, target};

const ISSUER: &str = "https://login.example.com/team";
const CONFIGURATION: &str = "https://login.example.com/team/.well-known/openid-configuration";
const KEYS: &str = "https://keys.example.com/team";

/// What the clock of the world says.
const NOW: i64 = 1_794_744_000;

/// An issuer that answers what it was told.
#[derive(Default)]
struct Web {
    documents: Mutex<HashMap<&'static str, Value>>,
    fetched: AtomicUsize,
    hangs: Mutex<bool>,
}

#[async_trait]
impl IssuerTransport for Web {
    async fn fetch(&self, url: &str) -> Result<Vec<u8>, String> {
        self.fetched.fetch_add(1, Ordering::Relaxed);
        if *self.hangs.lock().unwrap() {
            std::future::pending::<()>().await;
        }
        let documents = self.documents.lock().unwrap();
        documents
            .get(url)
            .map(|document| document.to_string().into_bytes())
            .ok_or_else(|| "not there".to_owned())
    }

    async fn post(&self, _: &str, _: Secret, _: Option<Secret>) -> Result<(u16, Vec<u8>), String> {
        Err("nobody signs in here".to_owned())
    }
}

impl Web {
    fn with_keys(keys: &[&SigningKey]) -> Arc<Self> {
        let web = Self::default();
        let configuration = json!({"issuer": ISSUER, "jwks_uri": KEYS});
        web.documents.lock().unwrap().insert(CONFIGURATION, configuration);
        web.set_keys(keys);
        Arc::new(web)
    }

    fn set_keys(&self, keys: &[&SigningKey]) {
        let keys: Vec<&Value> = keys.iter().map(|key| key.jwk()).collect();
        self.documents.lock().unwrap().insert(KEYS, json!({ "keys": keys }));
    }

    /// How often both documents were fetched.
    fn fetches(&self) -> usize {
        self.fetched.load(Ordering::Relaxed) / 2
    }
}

fn key(number: u8) -> SigningKey {
    SigningKey::new(&[number; 32]).unwrap()
}

fn rule(claim: &str, value: &str, role: Role, scope: &str) -> Rule {
    let grant = Grant { role, scope: punctual_arm::read_scope(scope).unwrap() };
    Rule { claim: claim.to_owned(), value: value.to_owned(), grant }
}

/// A server that takes tokens of an issuer, and the task that fetches its keys.
async fn world(web: &Arc<Web>) -> (Arc<World>, JoinHandle<()>) {
    world_with(web, CallerLimits::default()).await
}

/// The same with limits.
async fn world_with(web: &Arc<Web>, caller_limits: CallerLimits) -> (Arc<World>, JoinHandle<()>) {
    let settings = IssuerSettings {
        url: ISSUER.to_owned(),
        audience: "punctual".to_owned(),
        allowance: SignedDuration::from_secs(60),
        rules: vec![
            rule("groups", "ops", Role::Contributor, "/subscriptions/s"),
            rule("realm_access.roles", "viewer", Role::Reader, "/"),
            rule("https://example.com/role", "boss", Role::Owner, "/"),
            rule("scp", "read", Role::Reader, "/subscriptions/s"),
            rule("sub", "robot", Role::Operator, "/subscriptions/s"),
        ],
        client: None,
        transport: web.clone(),
    };
    let world =
        Arc::new(World::with_issuers(vec![settings], Settings { caller_limits, ..Settings::default() }));
    world.access.refresh().await.unwrap();
    let access = Arc::clone(&world.access);
    let attending = tokio::spawn(async move { access.attend().await });
    (world, attending)
}

fn claims(more: &Value) -> Value {
    let mut claims =
        json!({"iss": ISSUER, "aud": "punctual", "sub": "u-1", "exp": NOW + 300, "nbf": NOW - 1});
    for (name, value) in more.as_object().unwrap() {
        claims[name] = value.clone();
    }
    claims
}

async fn call(world: &World, token: &str, method: &str, path: &str) -> Answer {
    let body = if method == "PUT" { r#"{"location": "West US"}"# } else { "" };
    world.call_as(Some(token), method, path, body).await
}

#[tokio::test(start_paused = true)]
async fn claims_become_grants_by_rules() {
    let key = key(1);
    let (world, attending) = world(&Web::with_keys(&[&key])).await;
    let check = async |more: Value, read: u16, write: u16, doctor: u16| {
        let token = key.sign(&claims(&more));
        for _ in 0..2 {
            assert_eq!(call(&world, &token, "PUT", "Jc").await.status, write, "{more}");
            assert_eq!(call(&world, &token, "GET", "Jc").await.status, read, "{more}");
            assert_eq!(call(&world, &token, "GET", "/doctor").await.status, doctor, "{more}");
        }
    };
    check(json!({"groups": ["dev", "ops"]}), 200, 201, 403).await;
    check(json!({"groups": "ops"}), 200, 201, 403).await;
    check(json!({"groups": ["dev"]}), 403, 403, 403).await;
    check(json!({"groups": ["dev ops"]}), 403, 403, 403).await;
    check(json!({"groups": {"ops": true}}), 403, 403, 403).await;
    check(json!({"realm_access": {"roles": ["viewer"]}}), 200, 403, 200).await;
    check(json!({"https://example.com/role": "boss"}), 200, 201, 200).await;
    check(json!({"scp": "write read"}), 200, 403, 403).await;
    check(json!({"aud": ["other", "punctual"], "groups": ["ops"]}), 200, 201, 403).await;
    let named = key.sign(&claims(&json!({"preferred_username": "zo\u{7}ë", "sub": "robot"})));
    let message = call(&world, &named, "DELETE", "Jc").await.refused(403, "AuthorizationFailed");
    assert!(message.starts_with("The client 'zoë' with object id 'robot' does not have"), "{message}");
    attending.abort();
}

#[tokio::test(start_paused = true)]
async fn a_token_must_be_genuine_for_this_server_and_of_now() {
    let (key, other) = (key(1), key(2));
    let (world, attending) = world(&Web::with_keys(&[&key])).await;
    let check = async |token: String, code: &str, part: &str| {
        let answer = call(&world, &token, "GET", "/tenants").await;
        assert!(
            answer.header("www-authenticate").unwrap().starts_with("Bearer error=\"insufficient_claims\"")
        );
        let message = answer.refused(401, code);
        assert!(message.contains(part), "{part}: {message}");
    };
    let good = json!({"groups": ["ops"]});
    let token = key.sign(&claims(&good));
    call(&world, &token, "GET", "/tenants").await.is(200);
    let signed = |more: Value| key.sign(&claims(&more));
    let invalid = "InvalidAuthenticationToken";
    check(signed(json!({"aud": "other"})), invalid, "its 'aud' is not").await;
    check(signed(json!({"aud": ["punctua"]})), invalid, "its 'aud' is not").await;
    check(signed(json!({"aud": null})), invalid, "its 'aud' is not").await;
    check(signed(json!({"iss": "https://other.example.com"})), invalid, "It is unknown").await;
    check(signed(json!({"sub": ""})), invalid, "no 'sub'").await;
    check(signed(json!({"exp": "soon"})), invalid, "no 'exp'").await;
    check(signed(json!({"nbf": NOW + 61})), invalid, "not valid yet").await;
    check(signed(json!({"exp": NOW - 60})), "ExpiredAuthenticationToken", "earlier than current").await;
    call(&world, &signed(json!({"exp": NOW - 59, "nbf": NOW + 60, "groups": "ops"})), "GET", "/tenants")
        .await
        .is(200);
    // {"alg":"none"}, and a public key as the secret of an HMAC by its name.
    let (_, rest) = token.split_once('.').unwrap();
    let (body, _) = rest.split_once('.').unwrap();
    check(format!("eyJhbGciOiJub25lIn0.{body}."), invalid, "Its signature is wrong").await;
    check(format!("eyJhbGciOiJIUzI1NiJ9.{rest}"), invalid, "Its signature is wrong").await;
    // A signature is random: what stands there must be read before it is changed.
    let (signed_part, signature) = token.rsplit_once('.').unwrap();
    let first = if signature.starts_with('A') { 'B' } else { 'A' };
    check(format!("{signed_part}.{first}{}", &signature[1..]), invalid, "Its signature is wrong").await;
    check(other.sign(&claims(&good)), invalid, "no such key").await;
    // What is remembered is checked again by the clock.
    world.advance(SignedDuration::from_secs(359));
    call(&world, &token, "GET", "/tenants").await.is(200);
    world.advance(SignedDuration::from_secs(1));
    check(token, "ExpiredAuthenticationToken", "earlier than current").await;
    attending.abort();
}

#[tokio::test(start_paused = true)]
async fn an_unknown_key_is_fetched_and_made_up_ones_don_t_have_the_issuer_asked_all_the_time() {
    let (old, new) = (key(1), key(2));
    let web = Web::with_keys(&[&old]);
    let (world, attending) = world(&web).await;
    let token = |key: &SigningKey| key.sign(&claims(&json!({"groups": "ops"})));
    call(&world, &token(&old), "GET", "/tenants").await.is(200);
    assert_eq!(web.fetches(), 1);
    tokio::time::sleep(Duration::from_secs(60)).await;

    web.set_keys(&[&old, &new]);
    call(&world, &token(&new), "GET", "/tenants").await.is(200);
    call(&world, &token(&old), "GET", "/tenants").await.is(200);
    assert_eq!(web.fetches(), 2);

    let begun = Instant::now();
    for number in 10..60 {
        call(&world, &token(&key(number)), "GET", "/tenants").await.is(401);
    }
    assert_eq!((web.fetches(), begun.elapsed()), (2, Duration::ZERO), "they are refused at once");
    tokio::time::sleep(Duration::from_secs(60)).await;
    for number in 10..60 {
        call(&world, &token(&key(number)), "GET", "/tenants").await.is(401);
    }
    assert_eq!(web.fetches(), 3);

    // A key that was withdrawn is not taken after the next fetch, not even for what is remembered.
    web.set_keys(&[&new]);
    call(&world, &token(&old), "GET", "/tenants").await.is(200);
    tokio::time::sleep(Duration::from_secs(3_700)).await;
    assert_eq!(web.fetches(), 4);
    call(&world, &token(&old), "GET", "/tenants").await.is(401);
    call(&world, &token(&new), "GET", "/tenants").await.is(200);
    attending.abort();
}

#[tokio::test(start_paused = true)]
async fn an_issuer_that_hangs_holds_up_nobody_for_long_and_others_not_at_all() {
    let key = key(1);
    let web = Web::with_keys(&[&key]);
    *web.hangs.lock().unwrap() = true;
    let (world, attending) = world(&web).await;
    let own = world.token("own", &[(Role::Owner, "/")]).await;
    let token = key.sign(&claims(&json!({"groups": "ops"})));
    let begun = Instant::now();
    let waiting: Vec<_> = (0..50)
        .map(|_| {
            let (world, token) = (Arc::clone(&world), token.clone());
            tokio::spawn(async move { call(&world, &token, "GET", "/tenants").await })
        })
        .collect();
    tokio::task::yield_now().await;
    call(&world, &own, "GET", "/tenants").await.is(200);
    assert_eq!(begun.elapsed(), Duration::ZERO);
    for one in waiting {
        let answer = one.await.unwrap();
        assert_eq!(answer.header("retry-after"), Some("1"));
        answer.refused(503, "ServiceUnavailable");
    }
    assert!(begun.elapsed() <= Duration::from_secs(6), "{:?}", begun.elapsed());
    assert_eq!(web.fetched.load(Ordering::Relaxed), 1, "one fetch for all");

    *web.hangs.lock().unwrap() = false;
    tokio::time::sleep(Duration::from_secs(3)).await;
    call(&world, &token, "GET", "/tenants").await.is(200);
    attending.abort();
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_goes_away_stops_no_fetch() {
    let (old, new) = (key(1), key(2));
    let web = Web::with_keys(&[&old]);
    let (world, attending) = world(&web).await;
    let token = |key: &SigningKey| key.sign(&claims(&json!({"groups": "ops"})));
    call(&world, &token(&old), "GET", "/tenants").await.is(200);
    tokio::time::sleep(Duration::from_secs(60)).await;
    web.set_keys(&[&new]);
    {
        let gone = token(&new);
        let request = call(&world, &gone, "GET", "/tenants");
        assert!(tokio::time::timeout(Duration::ZERO, request).await.is_err());
    }
    call(&world, &token(&new), "GET", "/tenants").await.is(200);
    assert_eq!(web.fetches(), 2);
    attending.abort();
}

#[tokio::test(start_paused = true)]
async fn known_keys_hold_for_a_day_while_the_issuer_can_t_be_asked() {
    let key = key(1);
    let web = Web::with_keys(&[&key]);
    let (world, attending) = world(&web).await;
    let token = key.sign(&claims(&json!({"groups": "ops"})));
    call(&world, &token, "GET", "/tenants").await.is(200);
    web.documents.lock().unwrap().remove(CONFIGURATION);
    tokio::time::sleep(Duration::from_secs(23 * 3_600)).await;
    call(&world, &token, "GET", "/tenants").await.is(200);
    // Another key may be one that is new.
    let new = self::key(2).sign(&claims(&json!({"groups": "ops"})));
    call(&world, &new, "GET", "/tenants").await.refused(503, "ServiceUnavailable");
    tokio::time::sleep(Duration::from_secs(3_601)).await;
    call(&world, &token, "GET", "/tenants").await.refused(503, "ServiceUnavailable");
    attending.abort();
}

#[tokio::test(start_paused = true)]
async fn documents_of_another_issuer_or_keys_in_clear_are_not_used() {
    let key = key(1);
    for wrong in [
        json!({"issuer": "https://login.example.com/other", "jwks_uri": KEYS}),
        json!({"issuer": ISSUER, "jwks_uri": "http://keys.example.com/team"}),
        json!({"issuer": ISSUER}),
        json!([]),
    ] {
        let web = Web::with_keys(&[&key]);
        web.documents.lock().unwrap().insert(CONFIGURATION, wrong);
        let (world, attending) = world(&web).await;
        let token = key.sign(&claims(&json!({"groups": "ops"})));
        call(&world, &token, "GET", "/tenants").await.refused(503, "ServiceUnavailable");
        attending.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn with_an_issuer_everybody_must_say_who_they_are() {
    let (world, attending) = world(&Web::with_keys(&[&key(1)])).await;
    world.get("/tenants").await.refused(401, "AuthenticationFailed");
    attending.abort();
}

#[tokio::test(start_paused = true)]
async fn an_issuer_that_can_t_be_asked_is_nobody_s_guess() {
    let (known, made_up) = (key(1), key(2));
    let web = Web::with_keys(&[&known]);
    let sign_in_failures = Some(Rate { per_second: 0.1, burst: 3.0 });
    let limits = CallerLimits { sign_in_failures, ..CallerLimits::default() };
    let (world, attending) = world_with(&web, limits).await;
    let from = async |token: &str| {
        let mut request = Request::get(target("/tenants")).body(Body::empty()).unwrap();
        request.headers_mut().insert(header::AUTHORIZATION, format!("Bearer {token}").parse().unwrap());
        request.extensions_mut().insert(Peer("192.0.2.1:1".parse().unwrap()));
        world.send(request).await.status
    };
    let token = made_up.sign(&claims(&json!({"groups": "ops"})));
    web.documents.lock().unwrap().clear();
    for _ in 0..10 {
        assert_eq!(from(&token).await, 503);
    }
    web.documents.lock().unwrap().insert(CONFIGURATION, json!({"issuer": ISSUER, "jwks_uri": KEYS}));
    web.set_keys(&[&known]);
    tokio::time::sleep(Duration::from_secs(3)).await;
    let statuses = [from(&token).await, from(&token).await, from(&token).await, from(&token).await];
    assert_eq!(statuses, [401, 401, 401, 429], "what its issuer does not know is one");
    attending.abort();
}
