//! A server in memory, on a clock that stands still: requests go in, statuses come out.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use axum::Router;
use axum::body::Body;
use http::Request;
use jiff::{SignedDuration, Timestamp};
use punctual_api::{
    Access, AccessMode, ApiState, Auditor, Hosts, IssuerSettings, IssuerTransport, KeyKeeper, KeyProblem,
    Keys, Limiter, Openers, ROUTES, Rule, Settings,
};
use punctual_jwt::SigningKey;
use punctual_metrics::{Metrics, Sample};
use punctual_model::access::{Grant, Role, Token};
use punctual_model::audit::AuditEntry;
use punctual_model::inspect::{Inspection, Report, Subject};
use punctual_model::{Clock, RandomSource, Scope, Secret};
use punctual_store::{Callers, MemoryStore};
use serde_json::json;
use tokio::runtime::{Builder, Runtime};
use tower::ServiceExt;

/// What the clock says, in seconds since 1970.
pub(crate) const NOW: i64 = 1_794_744_000;

/// How far the clock of the issuer may differ, in seconds.
pub(crate) const ALLOWANCE: i64 = 60;

pub(crate) const ISSUER: &str = "https://login.example.com/team";
pub(crate) const AUDIENCE: &str = "punctual";

/// Tokens of the issuer that have this among their groups may do something.
pub(crate) const GROUP: &str = "ops";

/// A server, and the secrets of those who may call it.
pub(crate) struct Server {
    router: Router,
    runtime: Runtime,
    /// The secret of a token that owns everything.
    pub(crate) secret: String,
    /// The key of the issuer.
    pub(crate) key: SigningKey,
}

impl Server {
    /// A server that asks who calls, or one that lets everybody in.
    pub(crate) fn start(mode: AccessMode) -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime starts");
        let key = SigningKey::new(&[7; 32]).expect("it is a number of the curve");
        let store = Arc::new(MemoryStore::new());
        let random = Arc::new(Counting(AtomicU64::new(1)));
        let now = Timestamp::from_second(NOW).expect("it is a time");
        let grants = vec![Grant { role: Role::Owner, scope: Scope::Everything }];
        let (token, secret) = Token::issue("owner".to_owned(), grants, None, now, &*random);
        let rule = Rule {
            claim: "groups".to_owned(),
            value: GROUP.to_owned(),
            grant: Grant { role: Role::Reader, scope: Scope::Everything },
        };
        let documents = Documents { keys: json!({"keys": [key.jwk()]}).to_string() };
        let issuer = IssuerSettings {
            url: ISSUER.to_owned(),
            audience: AUDIENCE.to_owned(),
            allowance: SignedDuration::from_secs(ALLOWANCE),
            rules: vec![rule],
            client: None,
            transport: Arc::new(documents),
        };
        let clock: Arc<dyn Clock> = Arc::new(Standing(now));
        let access =
            Arc::new(Access::new(store.clone(), Arc::clone(&clock), mode).with_issuers(vec![issuer]));
        let settings = Settings {
            hosts: Hosts::new(["scheduler.example.com", "*.wild.example"]),
            public_url: Some("https://public.example/base".to_owned()),
            ..Settings::default()
        };
        let state = ApiState {
            store: store.clone(),
            clock: Arc::clone(&clock),
            random,
            keys: Arc::new(NoKeys),
            inspection: Arc::new(Silent),
            access: Arc::clone(&access),
            traffic: Arc::default(),
            metrics: Arc::new(Metrics::new(ROUTES.iter().map(|route| route.name))),
            sampler: Arc::new(Sample::default()),
            limiter: Limiter::new(settings.caller_limits),
            settings,
            openers: Openers::default(),
            auditor: Arc::new(Auditor::new(store.clone(), clock, false, None)),
        };
        let router = punctual_api::router(Arc::new(state));
        runtime.block_on(async {
            store.create_token(&token, None).await.expect("a store in memory writes");
            access.refresh().await.expect("a store in memory reads");
            // Fetches the keys of the issuer whenever it is polled.
            tokio::spawn(async move { access.attend().await });
        });
        Self { router, runtime, secret: secret.expose().to_owned(), key }
    }

    /// The status of the answer to a request.
    pub(crate) fn status(&self, request: Request<Body>) -> u16 {
        let answer = self.runtime.block_on(self.router.clone().oneshot(request));
        answer.unwrap_or_else(|never| match never {}).status().as_u16()
    }
}

/// The documents of the issuer.
struct Documents {
    keys: String,
}

#[async_trait]
impl IssuerTransport for Documents {
    async fn fetch(&self, url: &str) -> Result<Vec<u8>, String> {
        if url.ends_with("/keys") {
            return Ok(self.keys.clone().into_bytes());
        }
        Ok(json!({"issuer": ISSUER, "jwks_uri": format!("{ISSUER}/keys")}).to_string().into_bytes())
    }

    async fn post(&self, _: &str, _: Secret, _: Option<Secret>) -> Result<(u16, Vec<u8>), String> {
        Err("nobody signs in on a page".to_owned())
    }
}

struct Standing(Timestamp);

impl Clock for Standing {
    fn now(&self) -> Timestamp {
        self.0
    }
}

struct Counting(AtomicU64);

impl RandomSource for Counting {
    fn random(&self) -> u128 {
        self.0.fetch_add(1, Ordering::Relaxed).into()
    }
}

/// Keeps no keys: nothing is sealed here.
struct NoKeys;

#[async_trait]
impl KeyKeeper for NoKeys {
    async fn keys(&self) -> Result<Keys, KeyProblem> {
        Err(KeyProblem::Refused("there are none".to_owned()))
    }

    async fn rotate(&self, _: Option<AuditEntry>) -> Result<Keys, KeyProblem> {
        self.keys().await
    }

    async fn retire(&self, _: u32, _: Option<AuditEntry>) -> Result<Keys, KeyProblem> {
        self.keys().await
    }
}

/// An inspector that has found nothing.
struct Silent;

impl Inspection for Silent {
    fn report(&self) -> Report {
        Report::default()
    }

    fn failure(&self) -> Option<String> {
        None
    }

    fn suspect(&self, _: Subject) {}
}
