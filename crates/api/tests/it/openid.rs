//! Signing in through a provider of OpenID Connect: authorization code with PKCE, and what is refused on the way.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use axum::body::Body;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::Request;
use jiff::SignedDuration;
use punctual_api::{ClientSettings, IssuerSettings, IssuerTransport, Rule, Settings};
use punctual_arm::Query;
use punctual_jwt::SigningKey;
use punctual_model::Secret;
use punctual_model::access::{Grant, Role};
use punctual_store::{AuditAsk, AuditLog, MemoryStore, Sessions};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::task::JoinHandle;

use crate::world::{Answer, World};

const ISSUER: &str = "https://login.example.com/team";
const BASE: &str = "https://scheduler.example.com";
const CALLBACK: &str = "https://scheduler.example.com/session/callback";
const NOW: i64 = 1_794_744_000;

/// A provider: what it was asked for by each code, and what it does differently.
struct Provider {
    key: SigningKey,
    configuration: Mutex<Value>,
    /// The query by which each code was asked for. A code is good once.
    codes: Mutex<HashMap<String, Query>>,
    /// Claims that its ID tokens have besides; those that are null are left out.
    claims: Mutex<Value>,
    /// The answer to whoever brings a code, instead of a token.
    instead: Mutex<Option<Result<(u16, Value), String>>>,
    /// While it is held nobody gets a token, and how many wait for one.
    gate: tokio::sync::RwLock<()>,
    waiting: AtomicU64,
    /// Forms and headers that came.
    seen: Mutex<Vec<(String, Option<String>)>>,
    count: AtomicU64,
}

impl Provider {
    fn new() -> Arc<Self> {
        let configuration = json!({
            "issuer": ISSUER,
            "jwks_uri": "https://login.example.com/keys",
            "authorization_endpoint": "https://login.example.com/auth?tenant=1",
            "token_endpoint": "https://login.example.com/token",
        });
        Arc::new(Self {
            key: SigningKey::new(&[1; 32]).unwrap(),
            configuration: Mutex::new(configuration),
            codes: Mutex::default(),
            claims: Mutex::new(json!({"groups": ["ops"], "preferred_username": "zoe"})),
            instead: Mutex::default(),
            gate: tokio::sync::RwLock::default(),
            waiting: AtomicU64::new(0),
            seen: Mutex::default(),
            count: AtomicU64::new(0),
        })
    }

    /// What it does with somebody who is sent to it: the query with which it sends them back.
    fn authorize(&self, location: &str) -> String {
        let (endpoint, query) = location.split_once('?').unwrap();
        assert_eq!(endpoint, "https://login.example.com/auth");
        let query = Query::decode(query);
        let expected = [
            ("tenant", "1"),
            ("response_type", "code"),
            ("client_id", "punctual-web"),
            ("redirect_uri", CALLBACK),
            ("scope", "openid profile groups"),
            ("code_challenge_method", "S256"),
        ];
        for (name, value) in expected {
            assert_eq!(query.get(name), Some(value), "{name}");
        }
        let code = format!("c0de-{}", self.count.fetch_add(1, Ordering::Relaxed));
        let back = format!("code={code}&state={}", query.get("state").unwrap());
        self.codes.lock().unwrap().insert(code, query);
        back
    }

    fn redeem(&self, form: &Query) -> (u16, Value) {
        let refused = (400, json!({"error": "invalid_grant", "error_description": "<b>no</b>"}));
        let asked = self.codes.lock().unwrap().remove(form.get("code").unwrap_or_default());
        let Some(asked) = asked else { return refused };
        let verifier = form.get("code_verifier").unwrap_or_default();
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()));
        let fits = form.get("grant_type") == Some("authorization_code")
            && form.get("redirect_uri") == asked.get("redirect_uri")
            && Some(challenge.as_str()) == asked.get("code_challenge");
        if !fits {
            return refused;
        }
        let mut claims = json!({
            "iss": ISSUER, "aud": "punctual-web", "sub": "u-1", "exp": NOW + 300, "iat": NOW,
            "nonce": asked.get("nonce").unwrap(),
        });
        for (name, value) in self.claims.lock().unwrap().as_object().unwrap() {
            claims[name] = value.clone();
        }
        claims.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        (200, json!({"id_token": self.key.sign(&claims), "access_token": "x", "token_type": "Bearer"}))
    }

    fn claim(&self, claims: Value) {
        *self.claims.lock().unwrap() = claims;
    }
}

#[async_trait]
impl IssuerTransport for Provider {
    async fn fetch(&self, url: &str) -> Result<Vec<u8>, String> {
        let document = if url.ends_with("/keys") {
            json!({"keys": [self.key.jwk()]})
        } else {
            self.configuration.lock().unwrap().clone()
        };
        Ok(document.to_string().into_bytes())
    }

    async fn post(
        &self,
        url: &str,
        form: Secret,
        authorization: Option<Secret>,
    ) -> Result<(u16, Vec<u8>), String> {
        assert_eq!(url, "https://login.example.com/token");
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let _open = self.gate.read().await;
        let header = authorization.map(|header| header.expose().to_owned());
        self.seen.lock().unwrap().push((form.expose().to_owned(), header));
        let (status, body) = match self.instead.lock().unwrap().clone() {
            Some(answer) => answer?,
            None => self.redeem(&Query::decode(form.expose())),
        };
        Ok((status, body.to_string().into_bytes()))
    }
}

fn issuer(provider: &Arc<Provider>, rules: &[(&str, &str, Role)], secret: Option<&str>) -> IssuerSettings {
    let rule = |(claim, value, role): &(&str, &str, Role)| Rule {
        claim: (*claim).to_owned(),
        value: (*value).to_owned(),
        grant: Grant { role: *role, scope: punctual_arm::read_scope("/subscriptions/s").unwrap() },
    };
    IssuerSettings {
        url: ISSUER.to_owned(),
        audience: "punctual-api".to_owned(),
        allowance: SignedDuration::from_secs(60),
        rules: rules.iter().map(rule).collect(),
        client: Some(ClientSettings {
            id: "punctual-web".to_owned(),
            secret: secret.map(Secret::new),
            scopes: ["openid", "profile", "groups"].map(str::to_owned).into(),
            label: "Team".to_owned(),
        }),
        transport: provider.clone(),
    }
}

const RULES: &[(&str, &str, Role)] =
    &[("groups", "ops", Role::Contributor), ("groups", "dev", Role::Reader), ("sub", "boss", Role::Owner)];

fn settings() -> Settings {
    let hosts = punctual_api::Hosts::new(["scheduler.example.com"]);
    Settings { public_url: Some(BASE.to_owned()), hosts, ..Settings::default() }
}

struct Server {
    world: World,
    attending: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.attending.abort();
    }
}

impl Server {
    async fn with(provider: &Arc<Provider>, rules: &[(&str, &str, Role)], secret: Option<&str>) -> Self {
        Self::on(Arc::new(MemoryStore::new()), vec![issuer(provider, rules, secret)]).await
    }

    async fn new(provider: &Arc<Provider>) -> Self {
        Self::with(provider, RULES, None).await
    }

    async fn on(store: Arc<MemoryStore>, issuers: Vec<IssuerSettings>) -> Self {
        let world = World::on_with_issuers(store, issuers, settings());
        world.access.refresh().await.unwrap();
        let access = Arc::clone(&world.access);
        Self { world, attending: tokio::spawn(async move { access.attend().await }) }
    }

    async fn get(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        let mut request = Request::get(path).header("host", "scheduler.example.com");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.world.send(request.body(Body::empty()).unwrap()).await
    }

    /// Begins a sign-in: the cookie of it, and where the browser is sent.
    async fn begin(&self, query: &str) -> (String, String) {
        let begun = self.get(&format!("/session/openid{query}"), &[("sec-fetch-site", "same-origin")]).await;
        let begun = begun.is(303);
        let set = begun.header("set-cookie").unwrap();
        let (cookie, attributes) = set.split_once(';').unwrap();
        assert!(cookie.starts_with("__Host-punctual-login="), "{cookie}");
        assert_eq!(attributes, " Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=600");
        assert!(set.len() < 4_000, "browsers keep no more");
        assert_eq!(begun.header("cache-control"), Some("no-store"));
        (cookie.to_owned(), begun.header("location").unwrap().to_owned())
    }

    /// Comes back from a provider.
    async fn back(&self, cookie: &str, query: &str) -> Answer {
        let headers = [("cookie", cookie), ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")];
        let answer = self.get(&format!("/session/callback?{query}"), &headers).await;
        let ended =
            answer.headers.get_all("set-cookie").iter().any(|set| {
                set == "__Host-punctual-login=; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=0"
            });
        // What does not belong to the sign-in under way does not end it.
        assert_eq!(ended, !answer.text.contains("another sign-in than"), "{}", answer.text);
        answer
    }

    /// The same, and it is refused.
    async fn refused(&self, cookie: &str, query: &str, status: u16, part: &str) {
        let answer = self.back(cookie, query).await;
        assert_eq!(answer.status, status, "{}", answer.text);
        let text = answer.text.replace("&#39;", "'");
        assert!(text.contains(part), "{part}: {text}");
        assert_eq!(session_cookie(&answer), None);
        is_a_safe_page(&answer);
        assert!(!answer.text.contains("refresh"), "{}", answer.text);
    }

    /// Signs in: the answer to coming back.
    async fn sign_in(&self, provider: &Provider) -> Answer {
        let (cookie, location) = self.begin("").await;
        self.back(&cookie, &provider.authorize(&location)).await
    }

    async fn me(&self, cookie: &str) -> Answer {
        let headers = [("cookie", cookie), ("sec-fetch-site", "same-origin")];
        self.get("/me?api-version=2026-11-01", &headers).await
    }
}

fn session_cookie(answer: &Answer) -> Option<String> {
    let mut set = answer.headers.get_all("set-cookie").iter().map(|set| set.to_str().unwrap());
    let set = set.find(|set| set.starts_with("__Host-punctual-session="))?;
    assert!(set.ends_with("; Path=/; Secure; HttpOnly; SameSite=Strict"), "{set}");
    Some(set.split(';').next().unwrap().to_owned())
}

/// Nothing runs in it, nothing frames it, and the code in its address goes nowhere.
fn is_a_safe_page(answer: &Answer) {
    assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
    let policy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
    assert_eq!(answer.header("content-security-policy"), Some(policy));
    assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    for markup in ["<script", "<img", "<b>", "onerror"] {
        assert!(!answer.text.contains(markup), "{}", answer.text);
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_comes_back_from_a_provider_is_signed_in() {
    let provider = Provider::new();
    let server = Server::new(&provider).await;
    let ways = server.get("/session/ways?api-version=2026-11-01", &[]).await.is(200);
    let url =
        "https://scheduler.example.com/session/openid?issuer=https%3A%2F%2Flogin%2Eexample%2Ecom%2Fteam";
    assert_eq!(ways.body["openId"], json!([{"issuer": ISSUER, "label": "Team", "url": url}]));

    let (cookie, location) = server.begin("?return=/jobs%3Fstate%3DEnabled%26x%3D1").await;
    let answer = server.back(&cookie, &provider.authorize(&location)).await.is(200);
    is_a_safe_page(&answer);
    let target = "/jobs?state=Enabled&amp;x=1";
    assert!(answer.text.contains(&format!("content=\"0; url={target}\"")), "{}", answer.text);
    assert!(answer.text.contains(&format!("<a href=\"{target}\">")), "{}", answer.text);
    let session = session_cookie(&answer).unwrap();
    let me = server.me(&session).await.is(200);
    assert_eq!(me.body["caller"], json!({"id": "u-1", "name": "zoe", "kind": "openid"}));
    assert_eq!(me.body["grants"], json!([{"role": "contributor", "scope": "/subscriptions/s"}]));
    assert!(me.body["features"].as_array().unwrap().contains(&json!("openIdSignIn")));
    // As a client without a secret it says who it is in the form.
    let seen = provider.seen.lock().unwrap().clone();
    assert!(seen[0].0.contains("client_id=punctual-web") && seen[0].1.is_none(), "{seen:?}");
    // By the name of the issuer it is the same.
    let (_, location) = server.begin("?issuer=https%3A%2F%2Flogin.example.com%2Fteam").await;
    provider.authorize(&location);
}

#[tokio::test(start_paused = true)]
async fn a_client_with_a_secret_shows_it_as_the_provider_wants() {
    for (methods, in_body) in [(json!(null), false), (json!(["client_secret_post"]), true)] {
        let provider = Provider::new();
        provider.configuration.lock().unwrap()["token_endpoint_auth_methods_supported"] = methods;
        let server = Server::with(&provider, RULES, Some("s&cret")).await;
        server.sign_in(&provider).await.is(200);
        let (form, header) = provider.seen.lock().unwrap()[0].clone();
        assert_eq!(form.contains("client_secret=s%26cret"), in_body, "{form}");
        // punctual-web:s%26cret
        let expected = (!in_body).then(|| "Basic cHVuY3R1YWwtd2ViOnMlMjZjcmV0".to_owned());
        assert_eq!(header, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn each_sign_in_has_numbers_of_its_own() {
    let provider = Provider::new();
    let server = Server::new(&provider).await;
    let numbers = |location: &str| {
        let query = Query::decode(location.split_once('?').unwrap().1);
        ["state", "nonce", "code_challenge"].map(|name| query.get(name).unwrap().to_owned())
    };
    let (one, other) = (server.begin("").await, server.begin("").await);
    for (a, b) in numbers(&one.1).iter().zip(&numbers(&other.1)) {
        assert!(a.len() >= 32 && a != b, "{a} {b}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_sign_in_comes_back_once_soon_and_to_its_own_browser() {
    let provider = Provider::new();
    let server = Server::new(&provider).await;
    // Without the cookie, with another one's, with one that nobody signed.
    let (cookie, location) = server.begin("").await;
    let back = provider.authorize(&location);
    let (others, _) = server.begin("").await;
    let mut forged = cookie.clone();
    forged.pop();
    server.refused("a=b", &back, 400, "No sign-in is under way in this browser").await;
    server.refused("__Host-punctual-login=x", &back, 400, "No sign-in is under way").await;
    server.refused(&forged, &back, 400, "No sign-in is under way").await;
    server.refused(&format!("{cookie}; {others}"), &back, 400, "No sign-in is under way").await;
    server.refused(&others, &back, 400, "answers another sign-in").await;
    server.refused(&cookie, "code=c0de-0", 400, "answers another sign-in").await;
    server.refused(&cookie, "code=c0de-0&state=x", 400, "answers another sign-in").await;
    server.refused(&cookie, &format!("{back}&state=x"), 400, "answers another sign-in").await;
    assert!(provider.seen.lock().unwrap().is_empty(), "no code was taken anywhere");
    server.back(&cookie, &back).await.is(200);
    // The same again, with the same code and with another one.
    server.refused(&cookie, &back, 400, "has come back already").await;
    let state = back.split_once("state=").unwrap().1;
    server.refused(&cookie, &format!("code=c0de-9&state={state}"), 400, "has come back already").await;
    assert_eq!(provider.seen.lock().unwrap().len(), 1);
    // Another server, which does not remember: the provider takes a code once.
    let other = Server::on(server.world.store.clone(), vec![issuer(&provider, RULES, None)]).await;
    other.refused(&cookie, &back, 400, "does not take its code back").await;
    // Too late.
    let (cookie, location) = server.begin("").await;
    let back = provider.authorize(&location);
    server.world.advance(SignedDuration::from_mins(10));
    server.refused(&cookie, &back, 400, "took longer than ten minutes").await;
}

#[tokio::test(start_paused = true)]
async fn an_access_token_of_ours_is_no_sign_in_and_a_sign_in_is_no_access_token() {
    let provider = Provider::new();
    let server = Server::new(&provider).await;
    let secret = server.world.token("ci", &[(Role::Owner, "/")]).await;
    let id = server.world.token_id("ci").await;
    let form = format!("grant_type=client_credentials&client_id={id}&client_secret={secret}");
    let request = Request::post("/adfs/oauth2/token").header("host", "scheduler.example.com");
    let issued = server.world.send(request.body(Body::from(form)).unwrap()).await.is(200);
    let access_token = issued.body["access_token"].as_str().unwrap();
    let (cookie, location) = server.begin("").await;
    let back = provider.authorize(&location);
    let confused = format!("__Host-punctual-login={access_token}");
    server.refused(&confused, &back, 400, "No sign-in is under way").await;
    let bearer = format!("Bearer {}", cookie.split_once('=').unwrap().1);
    let answer = server.get("/me?api-version=2026-11-01", &[("authorization", &bearer)]).await;
    answer.refused(401, "InvalidAuthenticationToken");
}

#[tokio::test(start_paused = true)]
async fn an_id_token_must_be_genuine_for_this_client_and_for_this_sign_in() {
    let provider = Provider::new();
    let server = Server::new(&provider).await;
    let check = async |claims: Value, part: &str| {
        provider.claim(claims.clone());
        let (cookie, location) = server.begin("").await;
        let back = provider.authorize(&location);
        server.refused(&cookie, &back, 400, part).await;
    };
    let good = json!({"groups": ["ops"]});
    let with = |name: &str, value: Value| {
        let mut claims = good.clone();
        claims[name] = value;
        claims
    };
    check(with("nonce", json!("another")), "of another sign-in").await;
    check(with("nonce", json!(null)), "of another sign-in").await;
    check(with("aud", json!("other")), "for another client").await;
    check(with("aud", json!("punctual-api")), "for another client").await;
    check(with("aud", json!(["punctual-web", "other"])), "made for another client").await;
    check(with("azp", json!("other")), "made for another client").await;
    check(with("iss", json!("https://login.example.com/other")), "of another issuer").await;
    check(with("exp", json!(NOW - 60)), "has expired").await;
    check(with("exp", json!(null)), "does not say when it expires").await;
    check(with("iat", json!(NOW + 61)), "its clock is ahead").await;
    check(with("nbf", json!(NOW + 61)), "its clock is ahead").await;
    check(with("sub", json!("")), "no 'sub'").await;
    let mut several = with("aud", json!(["punctual-web", "other"]));
    several["azp"] = json!("punctual-web");
    provider.claim(several);
    server.sign_in(&provider).await.is(200);

    let token =
        |id_token: &str| *provider.instead.lock().unwrap() = Some(Ok((200, json!({"id_token": id_token}))));
    let refused = async |part: &str| {
        let (cookie, location) = server.begin("").await;
        let back = provider.authorize(&location);
        server.refused(&cookie, &back, 400, part).await;
    };
    let claims = json!({"iss": ISSUER, "aud": "punctual-web", "sub": "boss", "exp": NOW + 9, "nonce": "x"});
    token(&SigningKey::new(&[2; 32]).unwrap().sign(&claims));
    refused("not signed by one of its keys").await;
    // {"alg":"none"}
    token(&format!("eyJhbGciOiJub25lIn0.{}.", URL_SAFE_NO_PAD.encode(claims.to_string())));
    refused("not signed by one of its keys").await;
    token("x");
    refused("can't be read").await;
    *provider.instead.lock().unwrap() = Some(Ok((200, json!({"access_token": "x"}))));
    refused("gives no ID token").await;
    assert_eq!(server.world.store.sessions(None, 99).await.unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_a_provider_says_is_shown_as_text() {
    let provider = Provider::new();
    let server = Server::new(&provider).await;
    let refused = async |query: &str, part: &str| {
        let (cookie, location) = server.begin("").await;
        let back = provider.authorize(&location);
        let state = back.split_once("state=").unwrap().1;
        server.refused(&cookie, &format!("state={state}&{query}"), 400, part).await;
    };
    refused("error=access_denied&error_description=You+may+not.", "(access_denied): You may not.").await;
    let markup = "error=%3Cscript%3E&error_description=%3Cimg+src%3Dx+onerror%3D1%3E";
    refused(&markup.replace("onerror", "on"), "(script): &lt;img src=x on=1&gt;").await;
    refused("error=x&code=c0de-0", "did not sign you in (x)").await;
    refused("", "sent no code").await;
    refused("code=", "sent no code").await;
    refused(&format!("code={}", "x".repeat(5_000)), "too long").await;
    assert!(provider.seen.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn another_provider_can_t_answer_in_the_name_of_the_one_that_was_asked() {
    let provider = Provider::new();
    let server = Server::new(&provider).await;
    let (cookie, location) = server.begin("").await;
    let back = provider.authorize(&location);
    let evil = format!("{back}&iss=https%3A%2F%2Fevil.example");
    server.refused(&cookie, &evil, 400, "Another provider answers").await;
    let (cookie, location) = server.begin("").await;
    let both = "iss=https%3A%2F%2Flogin.example.com%2Fteam&iss=https%3A%2F%2Fevil.example";
    let back = format!("{}&{both}", provider.authorize(&location));
    server.refused(&cookie, &back, 400, "Another provider answers").await;
    let (cookie, location) = server.begin("").await;
    let back = provider.authorize(&location);
    server.back(&cookie, &format!("{back}&iss=https%3A%2F%2Flogin.example.com%2Fteam")).await.is(200);

    // One that says that it always names itself has to.
    let provider = Provider::new();
    provider.configuration.lock().unwrap()["authorization_response_iss_parameter_supported"] = json!(true);
    let server = Server::new(&provider).await;
    let (cookie, location) = server.begin("").await;
    let back = provider.authorize(&location);
    server.refused(&cookie, &back, 400, "does not say who it is").await;
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_can_t_be_asked_is_told_as_that() {
    let provider = Provider::new();
    let server = Server::new(&provider).await;
    let trouble = [Err("no route".to_owned()), Ok((502, json!({"error": "x"}))), Ok((503, Value::Null))];
    for answer in trouble {
        *provider.instead.lock().unwrap() = Some(answer);
        let (cookie, location) = server.begin("").await;
        let back = provider.authorize(&location);
        server.refused(&cookie, &back, 503, "can't be asked now").await;
    }
    *provider.instead.lock().unwrap() = Some(Ok((401, json!({"error": "invalid_client"}))));
    let (cookie, location) = server.begin("").await;
    let back = provider.authorize(&location);
    server.refused(&cookie, &back, 400, "does not know this server").await;

    // Endpoints in clear, of a provider that is not, are none.
    for name in ["authorization_endpoint", "token_endpoint"] {
        let provider = Provider::new();
        provider.configuration.lock().unwrap()[name] = json!("http://login.example.com/auth?tenant=1");
        let server = Server::new(&provider).await;
        if name == "token_endpoint" {
            let (cookie, location) = server.begin("").await;
            let back = provider.authorize(&location);
            server.refused(&cookie, &back, 400, "names no token endpoint").await;
        } else {
            let answer = server.get("/session/openid", &[]).await.is(400);
            assert!(answer.text.contains("names no authorization endpoint"), "{}", answer.text);
        }
    }
    // And one that never answered.
    let provider = Provider::new();
    provider.configuration.lock().unwrap()["issuer"] = json!("https://other.example");
    let server = Server::new(&provider).await;
    let answer = server.get("/session/openid", &[]).await.is(503);
    is_a_safe_page(&answer);
}

#[tokio::test(start_paused = true)]
async fn nobody_is_sent_to_another_site_afterwards() {
    let provider = Provider::new();
    let server = Server::new(&provider).await;
    for path in
        ["https://evil.example", "//evil.example", "/%5Cevil.example", "/%09/evil.example", "jobs", ""]
    {
        let answer = server.get(&format!("/session/openid?return={path}"), &[]).await.is(400);
        assert_eq!(answer.header("location"), None, "{path}");
        is_a_safe_page(&answer);
        assert!(!answer.text.contains("evil"), "{}", answer.text);
    }
}

#[tokio::test(start_paused = true)]
async fn another_site_can_t_begin_a_sign_in_but_somebody_can_who_comes_from_there() {
    let provider = Provider::new();
    let server = Server::new(&provider).await;
    for site in ["cross-site", "same-site"] {
        let answer = server.get("/session/openid?return=/jobs", &[("sec-fetch-site", site)]).await.is(403);
        assert_eq!((answer.header("set-cookie"), answer.header("location")), (None, None));
        is_a_safe_page(&answer);
        let link = "<a href=\"/session/openid?issuer=https%3A%2F%2Flogin%2Eexample%2Ecom%2Fteam&amp;return=%2Fjobs\">";
        assert!(answer.text.contains(link), "{}", answer.text);
    }
    server.get("/session/openid?return=/jobs", &[("sec-fetch-site", "none")]).await.is(303);
    let unknown = server.get("/session/openid?issuer=https%3A%2F%2Fevil.example%3Cb%3E", &[]).await.is(404);
    assert!(!unknown.text.contains("evil"), "{}", unknown.text);
}

#[tokio::test(start_paused = true)]
async fn somebody_whom_no_rule_knows_is_not_signed_in_and_told_why() {
    let provider = Provider::new();
    let server = Server::new(&provider).await;
    provider.claim(json!({"groups": ["guests"], "name": "<b>Mallory</b>", "sub": "u-9"}));
    let (cookie, location) = server.begin("").await;
    let back = provider.authorize(&location);
    server.refused(&cookie, &back, 403, "You are '&lt;b&gt;Mallory&lt;/b&gt;'").await;
    assert!(server.world.store.sessions(None, 9).await.unwrap().is_empty());
    server.world.auditor.finish().await.unwrap();
    let log = server.world.store.audit(&AuditAsk { limit: 9, ..AuditAsk::default() }).await.unwrap();
    let told: Vec<(&str, &str, &str)> = log
        .entries
        .iter()
        .map(|stored| (&*stored.entry.caller_id, &*stored.entry.action, stored.entry.outcome.name()))
        .collect();
    assert_eq!(told, [("u-9", "Punctual/sessions/signIn/action", "denied")]);
}

#[tokio::test(start_paused = true)]
async fn what_somebody_may_follows_the_rules_as_they_are() {
    let provider = Provider::new();
    provider.claim(json!({"groups": ["ops", "dev", "secret-project"], "email": "zoe@example.com"}));
    let server = Server::new(&provider).await;
    let session = session_cookie(&server.sign_in(&provider).await.is(200)).unwrap();
    // Without the issuer callers are still asked.
    server.world.token("ci", &[(Role::Reader, "/")]).await;
    let store = server.world.store.clone();
    let stored = format!("{:?}", store.sessions(None, 9).await.unwrap());
    assert!(stored.contains("\"ops\"") && stored.contains("\"dev\""), "{stored}");
    assert!(!stored.contains("secret-project"), "what no rule asks for is not kept: {stored}");

    let grants = async |issuers: Vec<IssuerSettings>| {
        let other = Server::on(store.clone(), issuers).await;
        let me = other.me(&session).await;
        (me.status, me.body["grants"].clone())
    };
    let role = |role: &str| json!([{"role": role, "scope": "/subscriptions/s"}]);
    let fewer = issuer(&provider, &[("groups", "dev", Role::Reader)], None);
    assert_eq!(grants(vec![fewer]).await, (200, role("reader")));
    let other_role = issuer(&provider, &[("groups", "ops", Role::Operator)], None);
    assert_eq!(grants(vec![other_role]).await, (200, role("operator")));
    // A claim that nobody asked for then is not known; without any rule, and without the issuer, it is over.
    let new = issuer(&provider, &[("groups", "secret-project", Role::Owner)], None);
    assert_eq!(grants(vec![new]).await.0, 401);
    assert_eq!(grants(vec![]).await.0, 401);
    let no_client = IssuerSettings { client: None, ..issuer(&provider, RULES, None) };
    assert_eq!(grants(vec![no_client]).await.0, 401);
}

#[tokio::test(start_paused = true)]
async fn an_owner_signs_somebody_of_a_provider_out_everywhere() {
    let provider = Provider::new();
    let server = Server::new(&provider).await;
    let owner = server.world.token("owner", &[(Role::Owner, "/")]).await;
    let one = session_cookie(&server.sign_in(&provider).await.is(200)).unwrap();
    let other = session_cookie(&server.sign_in(&provider).await.is(200)).unwrap();
    assert_ne!(one, other);
    server.me(&one).await.is(200);
    let request = Request::delete("/sessions?api-version=2026-11-01&caller=u-1")
        .header("host", "scheduler.example.com")
        .header("authorization", format!("Bearer {owner}"));
    let ended = server.world.send(request.body(Body::empty()).unwrap()).await.is(200);
    assert_eq!(ended.body, json!({"ended": 2}));
    for session in [one, other] {
        server.me(&session).await.is(401);
    }
}

#[tokio::test(start_paused = true)]
async fn a_provider_is_not_flooded_in_our_name() {
    let provider = Provider::new();
    let server = Arc::new(Server::new(&provider).await);
    let closed = provider.gate.write().await;
    let mut coming = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let (cookie, location) = server.begin("").await;
        let state = Query::decode(location.split_once('?').unwrap().1).get("state").unwrap().to_owned();
        let server = Arc::clone(&server);
        coming
            .spawn(async move { server.back(&cookie, &format!("code=made-up&state={state}")).await.status });
    }
    // Those that get no turn are told so, and the others wait for the provider.
    for _ in 0..68 {
        assert_eq!(coming.join_next().await.unwrap().unwrap(), 503);
    }
    assert_eq!(provider.waiting.load(Ordering::Relaxed), 32);
    drop(closed);
    while let Some(status) = coming.join_next().await {
        assert_eq!(status.unwrap(), 400);
    }
    server.sign_in(&provider).await.is(200);
}

#[tokio::test(start_paused = true)]
async fn the_life_of_a_session_is_not_that_of_the_id_token() {
    let provider = Provider::new();
    let server = Server::new(&provider).await;
    let session = session_cookie(&server.sign_in(&provider).await.is(200)).unwrap();
    // The ID token was good for five minutes.
    server.world.advance(SignedDuration::from_mins(59));
    server.me(&session).await.is(200);
    server.world.advance(SignedDuration::from_mins(60));
    server.me(&session).await.is(401);
}
