//! A server in memory with a clock that stands still until it is moved.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use async_trait::async_trait;
use axum::Router;
use axum::body::Body;
use http::{HeaderMap, Request, Response, header};
use http_body_util::BodyExt;
use jiff::{SignedDuration, Timestamp};
use punctual_api::{
    Access, AccessMode, ApiState, Auditor, IssuerSettings, KeyKeeper, KeyProblem, KeyView, Keys, Limiter,
    Openers, ROUTES, ResealingView, Settings,
};
use punctual_metrics::{Metrics, Sample};
use punctual_model::access::{Grant, Role, Token};
use punctual_model::audit::AuditEntry;
use punctual_model::decide::{self, Attempt};
use punctual_model::inspect::{Inspection, Report, Subject};
use punctual_model::{Clock, Limits, Outcome, OutcomeKind, RandomSource};
use punctual_store::{Agenda, Archive, AuditLog, Callers, ClaimAsk, MemoryStore, Settled, Settlement};
use serde_json::{Value, json};
use tower::ServiceExt;

/// Where collections are, when a path says nothing else.
pub(crate) const BASE: &str =
    "/subscriptions/s/resourceGroups/Rg/providers/Microsoft.Scheduler/jobCollections";

/// The tenant and the subscription of the settings.
pub(crate) const TENANT: &str = "00000000-0000-4000-8000-00000000000a";
pub(crate) const SUBSCRIPTION: &str = "00000000-0000-4000-8000-00000000000b";

pub(crate) struct World {
    router: Router,
    monitoring: Router,
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) access: Arc<Access>,
    pub(crate) auditor: Arc<Auditor>,
    clock: Arc<ManualClock>,
    inspector: Arc<Told>,
}

/// An inspector that knows what it was told.
#[derive(Default)]
struct Told(Mutex<Report>);

impl Inspection for Told {
    fn report(&self) -> Report {
        self.0.lock().unwrap().clone()
    }

    fn failure(&self) -> Option<String> {
        self.0.lock().unwrap().failure.clone()
    }

    fn suspect(&self, _: Subject) {}
}

/// Keys that are only numbers; all but the newest can be retired, once.
struct FakeKeys {
    store: Arc<MemoryStore>,
    newest: AtomicU32,
}

impl FakeKeys {
    fn shown(&self) -> Keys {
        let newest = self.newest.load(Ordering::Relaxed);
        let key = KeyView {
            id: newest,
            made_at: None,
            state: "seals".to_owned(),
            job_count: 3,
            server_secret_count: 2,
        };
        let resealing = ResealingView { key: newest, done: true, job_done_count: 3, job_count: 3 };
        Keys { source: "nowhere".to_owned(), keys: vec![key], resealing, notes: Vec::new() }
    }

    async fn note(&self, note: Option<AuditEntry>, id: u32) {
        let note = note.map(|note| AuditEntry { subject: format!("key {id}").into(), ..note });
        self.store.append_audit(note.into_iter().collect()).await.unwrap();
    }
}

#[async_trait]
impl KeyKeeper for FakeKeys {
    async fn keys(&self) -> Result<Keys, KeyProblem> {
        Ok(self.shown())
    }

    async fn rotate(&self, note: Option<AuditEntry>) -> Result<Keys, KeyProblem> {
        let id = self.newest.fetch_add(1, Ordering::Relaxed) + 1;
        self.note(note, id).await;
        Ok(self.shown())
    }

    async fn retire(&self, id: u32, note: Option<AuditEntry>) -> Result<Keys, KeyProblem> {
        let newest = self.newest.load(Ordering::Relaxed);
        match id {
            id if id == newest => Err(KeyProblem::Refused(format!("key {id} is the one that seals"))),
            0 => Err(KeyProblem::Unknown { id }),
            id if id > newest => Err(KeyProblem::Unknown { id }),
            _ => {
                self.note(note, id).await;
                Ok(self.shown())
            }
        }
    }
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
    /// The body as JSON; null if it is none.
    pub(crate) body: Value,
}

impl World {
    /// An empty server, on 15 November 2026 at noon.
    pub(crate) fn empty() -> Self {
        Self::with_limits(Limits::default())
    }

    /// The same with other limits of the plans.
    pub(crate) fn with_limits(limits: Limits) -> Self {
        Self::build(Settings { limits, ..Settings::default() }, AccessMode::Off)
    }

    /// The same with other settings.
    pub(crate) fn with_settings(settings: Settings) -> Self {
        Self::build(settings, AccessMode::Off)
    }

    /// The same that asks who calls; before its tokens are read it lets nobody in.
    pub(crate) fn with_access(mode: AccessMode) -> Self {
        Self::build(Settings::default(), mode)
    }

    /// The same that takes tokens of issuers of OpenID Connect.
    pub(crate) fn with_issuers(issuers: Vec<IssuerSettings>, settings: Settings) -> Self {
        let store = Arc::new(MemoryStore::new());
        Self::build_on(store, settings, AccessMode::Auto, |access| access.with_issuers(issuers))
    }

    /// Another server with the same store that takes tokens of issuers.
    pub(crate) fn on_with_issuers(
        store: Arc<MemoryStore>,
        issuers: Vec<IssuerSettings>,
        settings: Settings,
    ) -> Self {
        Self::build_on(store, settings, AccessMode::Auto, |access| access.with_issuers(issuers))
    }

    /// Another server with the same store.
    pub(crate) fn on(store: Arc<MemoryStore>, mode: AccessMode) -> Self {
        Self::build_on(store, Settings::default(), mode, |access| access)
    }

    pub(crate) fn build(settings: Settings, mode: AccessMode) -> Self {
        Self::build_on(Arc::new(MemoryStore::new()), settings, mode, |access| access)
    }

    fn build_on(
        store: Arc<MemoryStore>,
        settings: Settings,
        mode: AccessMode,
        more: impl FnOnce(Access) -> Access,
    ) -> Self {
        let clock = Arc::new(ManualClock(Mutex::new("2026-11-15T12:00:00Z".parse().unwrap())));
        let inspector = Arc::new(Told::default());
        let access = Arc::new(more(Access::new(store.clone(), clock.clone(), mode)));
        let auditor = Arc::new(Auditor::new(store.clone(), clock.clone(), true, None));
        let state = ApiState {
            store: store.clone(),
            clock: clock.clone(),
            random: Arc::new(CountingRandom(AtomicU64::new(0))),
            inspection: inspector.clone(),
            access: access.clone(),
            traffic: Arc::default(),
            metrics: Arc::new(Metrics::new(ROUTES.iter().map(|route| route.name))),
            sampler: Arc::new(Sample::default()),
            limiter: Limiter::new(settings.caller_limits),
            settings: Settings {
                tenant: TENANT.to_owned(),
                subscriptions: vec![SUBSCRIPTION.into()],
                ..settings
            },
            openers: Openers::default(),
            auditor: auditor.clone(),
            keys: Arc::new(FakeKeys { store: store.clone(), newest: AtomicU32::new(1) }),
        };
        let state = Arc::new(state);
        let router = punctual_api::router(Arc::clone(&state));
        let monitoring = punctual_api::monitoring_router(state);
        Self { router, monitoring, store, access, auditor, clock, inspector }
    }

    /// A server with an empty Standard collection `Jc`.
    pub(crate) async fn new() -> Self {
        let world = Self::empty();
        world.put("Jc", json!({"location": "West US"})).await.is(201);
        world
    }

    /// Gives somebody a token, and answers its secret.
    pub(crate) async fn token(&self, name: &str, grants: &[(Role, &str)]) -> String {
        let grant = |(role, scope): &(Role, &str)| Grant {
            role: *role,
            scope: punctual_arm::read_scope(scope).unwrap(),
        };
        let grants = grants.iter().map(grant).collect();
        let random = SecretRandom(AtomicU64::new(self.store.tokens().await.unwrap().len() as u64 + 1));
        let (token, secret) = Token::issue(name.to_owned(), grants, None, self.clock.now(), &random);
        self.store.create_token(&token, None).await.unwrap();
        self.access.refresh().await.unwrap();
        secret.expose().to_owned()
    }

    /// The id of the token of a name.
    pub(crate) async fn token_id(&self, name: &str) -> String {
        let tokens = self.store.tokens().await.unwrap();
        tokens.into_iter().find(|token| token.name == name).unwrap().id.0
    }

    /// Says what the inspector knows.
    pub(crate) fn set_report(&self, report: Report) {
        *self.inspector.0.lock().unwrap() = report;
    }

    pub(crate) fn advance(&self, by: SignedDuration) {
        *self.clock.0.lock().unwrap() += by;
    }

    /// Deletes the whole history, as housekeeping does with what is old.
    pub(crate) async fn prune(&self) {
        self.store.prune(self.clock.now(), usize::MAX).await.unwrap();
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.call("GET", path, Body::empty()).await
    }

    pub(crate) async fn put(&self, path: &str, body: Value) -> Answer {
        self.call("PUT", path, Body::from(body.to_string())).await
    }

    pub(crate) async fn patch(&self, path: &str, body: Value) -> Answer {
        self.call("PATCH", path, Body::from(body.to_string())).await
    }

    pub(crate) async fn post(&self, path: &str) -> Answer {
        self.call("POST", path, Body::empty()).await
    }

    pub(crate) async fn post_body(&self, path: &str, body: Value) -> Answer {
        self.call("POST", path, Body::from(body.to_string())).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.call("DELETE", path, Body::empty()).await
    }

    /// Puts a job with these properties into `Jc`; without an action it gets one.
    pub(crate) async fn put_job(&self, name: &str, properties: Value) -> Answer {
        self.put(&format!("Jc/jobs/{name}"), job(properties)).await
    }

    pub(crate) async fn call(&self, method: &str, path: &str, body: Body) -> Answer {
        self.send(Request::builder().method(method).uri(target(path)).body(body).unwrap()).await
    }

    /// The same by the holder of a token.
    pub(crate) async fn call_as(
        &self,
        token: Option<&str>,
        method: &str,
        path: &str,
        body: impl Into<Body>,
    ) -> Answer {
        let mut request = Request::builder().method(method).uri(target(path));
        if let Some(token) = token {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        self.send(request.body(body.into()).unwrap()).await
    }

    /// Sends a request, to `localhost` if it does not say where.
    pub(crate) async fn send(&self, mut request: Request<Body>) -> Answer {
        if request.uri().authority().is_none() {
            let host = header::HeaderValue::from_static("localhost");
            request.headers_mut().entry(header::HOST).or_insert(host);
        }
        self.send_as_is(request).await
    }

    /// Sends a request with no more headers than it has.
    pub(crate) async fn send_as_is(&self, request: Request<Body>) -> Answer {
        answered(self.router.clone().oneshot(request).await.unwrap()).await
    }

    /// Sends a request to the listener for probes and scrapers.
    pub(crate) async fn monitor(&self, request: Request<Body>) -> Answer {
        answered(self.monitoring.clone().oneshot(request).await.unwrap()).await
    }

    /// Does what the runner does: fires all that is due now, with this outcome for each attempt. Says how
    /// much was fired.
    pub(crate) async fn fire(&self, succeeded: bool) -> usize {
        let now = self.clock.now();
        let ask = ClaimAsk { until: now, limit: 100, full_targets: Vec::new() };
        let claims = self.store.claim(&ask).await.unwrap();
        for claim in &claims {
            assert_eq!(self.store.begin(&[claim.fence]).await.unwrap(), [true]);
            let outcome = Outcome {
                succeeded,
                kind: OutcomeKind::Word("Test"),
                message: "what the target said".to_owned(),
            };
            let (started_at, ended_at) = (now, now + SignedDuration::from_millis(5));
            let attempt =
                Attempt { claimed: claim.job.clone(), started_at, ended_at, outcome, skips: Vec::new() };
            let verdict = decide::settle(&attempt, &claim.job, Limits::default().of(claim.sku));
            let settlement = Settlement {
                fence: claim.fence,
                job: verdict.job,
                records: verdict.records,
                skips: verdict.skips,
            };
            let settled = self.store.settle(vec![settlement]).await.unwrap();
            assert!(matches!(settled[..], [Settled::Recorded]));
        }
        claims.len()
    }
}

impl World {
    /// Settles what is due, again and again, until it is told to stop: each job is due again at once, unless
    /// it was edited meanwhile. Counts what was settled.
    pub(crate) async fn fire_on(&self, stop: &AtomicBool, count: &AtomicUsize) {
        while !stop.load(Ordering::Relaxed) {
            let ask = ClaimAsk { until: self.clock.now(), limit: 1, full_targets: Vec::new() };
            for claim in self.store.claim(&ask).await.unwrap() {
                if self.store.begin(&[claim.fence]).await.unwrap() == [false] {
                    continue;
                }
                let mut job = claim.job;
                loop {
                    let (records, skips) = (Vec::new(), Vec::new());
                    let settlement = Settlement { fence: claim.fence, job, records, skips };
                    match self.store.settle(vec![settlement]).await.unwrap().remove(0) {
                        Settled::Changed(edited, _) => job = *edited,
                        _ => break,
                    }
                }
                count.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

impl Answer {
    /// Checks the status.
    #[track_caller]
    pub(crate) fn is(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.text);
        self
    }

    /// Checks that this is an error; answers its message.
    #[track_caller]
    pub(crate) fn refused(self, status: u16, code: &str) -> String {
        let answer = self.is(status);
        assert_eq!(answer.body["error"]["code"], code, "{}", answer.text);
        let members: Vec<_> = answer.body["error"].as_object().unwrap().keys().collect();
        assert_eq!(members, ["code", "message"]);
        answer.body["error"]["message"].as_str().unwrap().to_owned()
    }

    pub(crate) fn properties(&self) -> &Value {
        &self.body["properties"]
    }

    /// The names in a list, without what they are in.
    pub(crate) fn names(&self) -> Vec<&str> {
        let values = self.body["value"].as_array().unwrap().iter();
        values.map(|one| one["name"].as_str().unwrap().rsplit('/').next().unwrap()).collect()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

async fn answered(response: Response<Body>) -> Answer {
    let (parts, body) = response.into_parts();
    let text = String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap();
    let json = parts
        .headers
        .get(header::CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
    let body = if json && !text.is_empty() { serde_json::from_str(&text).unwrap() } else { Value::Null };
    Answer { status: parts.status.as_u16(), headers: parts.headers, text, body }
}

/// The body of a job; without an action it gets one.
pub(crate) fn job(mut properties: Value) -> Value {
    let members = properties.as_object_mut().unwrap();
    members.entry("action").or_insert_with(|| http(json!({})));
    json!({ "properties": properties })
}

/// An HTTP action with more in its request.
pub(crate) fn http(more: Value) -> Value {
    let mut request = json!({"method": "GET", "uri": "https://example.com/hook"});
    let Value::Object(more) = more else { panic!("{more} is no object") };
    for (name, value) in more {
        request[name] = value;
    }
    json!({"type": "Http", "request": request})
}

/// A path relative to the collections gets what is before it, and an api-version if it names none.
pub(crate) fn target(path: &str) -> String {
    let path = if path.starts_with('/') { path.to_owned() } else { format!("{BASE}/{path}") };
    if path.contains("api-version") {
        return path;
    }
    let separator = if path.contains('?') { '&' } else { '?' };
    format!("{path}{separator}api-version=2016-03-01")
}

/// A request with a header more.
pub(crate) fn request(method: &str, path: &str, (name, value): (header::HeaderName, &str)) -> Request<Body> {
    Request::builder().method(method).uri(target(path)).header(name, value).body(Body::empty()).unwrap()
}

struct ManualClock(Mutex<Timestamp>);

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }
}

/// Draws what no other of a test draws.
struct SecretRandom(AtomicU64);

impl RandomSource for SecretRandom {
    fn random(&self) -> u128 {
        u128::from(self.0.fetch_add(1 << 32, Ordering::Relaxed))
            .wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
    }
}

struct CountingRandom(AtomicU64);

impl RandomSource for CountingRandom {
    fn random(&self) -> u128 {
        self.0.fetch_add(1, Ordering::Relaxed).into()
    }
}
