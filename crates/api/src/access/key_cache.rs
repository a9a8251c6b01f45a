//! The keys of an issuer of OpenID Connect: found by discovery, kept, and fetched again when one is unknown.
//!
//! One task fetches ([`KeyCache::attend`]), so that no more than one fetch is under way, and a caller that goes away
//! stops none. Requests wait for it for a bounded time. After each fetch there is a pause in which unknown keys are
//! refused at once: made-up tokens can't have the issuer asked all the time. Keys are fetched again every hour, so that
//! one which the issuer has withdrawn is not taken for longer. While it can't be asked, the keys that are known hold, for a
//! day.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use async_trait::async_trait;
use punctual_jwt::PublicKey;
use punctual_model::Secret;
use serde_json::Value;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, timeout};

/// How long a fetch of both documents may take.
const FETCH_TIME_MAX: Duration = Duration::from_secs(5);

/// How long a request waits for one that is under way.
const WAIT_MAX: Duration = Duration::from_secs(6);

/// How long nothing is fetched after a fetch.
const PAUSE: Duration = Duration::from_secs(10);

/// The same after one that failed.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(2);

/// How often keys are fetched though none is unknown.
const REFRESH_INTERVAL: Duration = Duration::from_secs(3_600);

/// How long keys are taken while the issuer can't be asked.
const STALE_MAX: Duration = Duration::from_secs(24 * 3_600);

/// The most keys of an issuer that are kept; real ones have a few.
const KEYS_MAX: usize = 100;

/// Asks an issuer. Time and size of each answer must be bounded, and no redirect be followed. An error says what to do.
#[async_trait]
pub trait IssuerTransport: Send + Sync {
    /// The body of the answer to a GET, if its status is 200.
    async fn fetch(&self, url: &str) -> Result<Vec<u8>, String>;

    /// Status and body of the answer to a POST of a form, with an `Authorization` header if one is given.
    async fn post(
        &self,
        url: &str,
        form: Secret,
        authorization: Option<Secret>,
    ) -> Result<(u16, Vec<u8>), String>;
}

/// Where people sign in, by the configuration of an issuer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Endpoints {
    /// Where they are sent to.
    pub(super) authorization: Option<String>,
    /// Where a code becomes a token.
    pub(super) token: Option<String>,
    /// Whether the issuer always says who it is when it sends them back (RFC 9207).
    pub(super) names_itself: bool,
    /// Whether a client's secret goes into the body, since the issuer does not take the header.
    pub(super) secret_in_body: bool,
}

/// The keys of an issuer.
pub(super) struct KeyCache {
    issuer: String,
    transport: Arc<dyn IssuerTransport>,
    found: RwLock<Arc<Found>>,
    wanted: Notify,
    /// What the fetching task does.
    phase: watch::Sender<Phase>,
}

/// What was fetched.
#[derive(Default)]
pub(super) struct Found {
    keys: Vec<PublicKey>,
    pub(super) endpoints: Endpoints,
    fetched_at: Option<Instant>,
    /// Counts the fetches that brought keys.
    pub(super) generation: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// It fetches when it is asked to.
    Ready,
    Fetching,
    /// It does not fetch yet.
    Pausing {
        failed: bool,
    },
}

/// Why there is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoKey {
    /// The issuer has none by this name.
    Unknown,
    /// The issuer could not be asked.
    Unavailable,
}

impl KeyCache {
    pub(super) fn new(issuer: &str, transport: Arc<dyn IssuerTransport>) -> Self {
        let (issuer, found, wanted) = (issuer.to_owned(), RwLock::default(), Notify::new());
        // The first fetch begins as soon as the task runs.
        Self { issuer, transport, found, wanted, phase: watch::Sender::new(Phase::Fetching) }
    }

    /// What is known now.
    pub(super) fn found(&self) -> Arc<Found> {
        Arc::clone(&self.found.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The key that a token names. One that is unknown is fetched, if that was not tried just now.
    pub(super) async fn key(&self, id: Option<&str>) -> Result<PublicKey, NoKey> {
        let found = self.found();
        if let Some(key) = found.key(id) {
            return Ok(key.clone());
        }
        let settled = self.fetched_anew().await;
        match self.found().key(id) {
            Some(key) => Ok(key.clone()),
            None if settled == Some(Phase::Pausing { failed: false }) => Err(NoKey::Unknown),
            // It may be one that is new.
            None => Err(NoKey::Unavailable),
        }
    }

    /// Where people sign in. None if the issuer could not be asked yet.
    pub(super) async fn endpoints(&self) -> Option<Endpoints> {
        if !self.found().usable() {
            self.fetched_anew().await;
        }
        let found = self.found();
        found.usable().then(|| found.endpoints.clone())
    }

    /// Has the issuer asked, unless that was done just now, and waits for what comes of it.
    async fn fetched_anew(&self) -> Option<Phase> {
        let mut phase = self.phase.subscribe();
        if *phase.borrow_and_update() == Phase::Ready {
            self.wanted.notify_one();
        }
        // From being ready it goes on to fetch.
        let settled = phase.wait_for(|phase| matches!(phase, Phase::Pausing { .. }));
        timeout(WAIT_MAX, settled).await.ok().and_then(Result::ok).map(|phase| *phase)
    }

    /// Fetches when a key is wanted, and from time to time, for ever.
    pub(super) async fn attend(&self) {
        loop {
            self.phase.send_replace(Phase::Fetching);
            let fetched = timeout(FETCH_TIME_MAX, self.fetch()).await;
            let fetched = fetched
                .unwrap_or_else(|_| Err(format!("there is no answer within {} s", FETCH_TIME_MAX.as_secs())));
            let (pause, failed) = match fetched {
                Ok((keys, endpoints)) => {
                    let mut found = self.found.write().unwrap_or_else(PoisonError::into_inner);
                    let generation = found.generation + 1;
                    *found =
                        Arc::new(Found { keys, endpoints, fetched_at: Some(Instant::now()), generation });
                    (PAUSE, false)
                }
                Err(error) => {
                    tracing::warn!(
                        issuer = self.issuer,
                        error,
                        "could not fetch the keys of an issuer of tokens"
                    );
                    (PAUSE_AFTER_FAILURE, true)
                }
            };
            self.phase.send_replace(Phase::Pausing { failed });
            tokio::time::sleep(pause).await;
            self.phase.send_replace(Phase::Ready);
            let _ = timeout(REFRESH_INTERVAL, self.wanted.notified()).await;
        }
    }

    async fn fetch(&self) -> Result<(Vec<PublicKey>, Endpoints), String> {
        let url = format!("{}/.well-known/openid-configuration", self.issuer.trim_end_matches('/'));
        let document = read(&self.transport.fetch(&url).await?, &url)?;
        let named = document["issuer"].as_str().unwrap_or_default();
        if named != self.issuer {
            let shown: String = named.chars().take(200).collect();
            return Err(format!(
                "{url} is of the issuer '{shown}': write it so in auth.issuers, if it is the right one"
            ));
        }
        let keys_url = document["jwks_uri"].as_str().unwrap_or_default();
        // Whoever can read along on the way must not choose the keys.
        if self.issuer.starts_with("https://") && !keys_url.starts_with("https://") {
            return Err(format!("{url} has a jwks_uri that does not begin with https://"));
        }
        let endpoints = self.endpoints_of(&document);
        let document = read(&self.transport.fetch(keys_url).await?, keys_url)?;
        let keys = document["keys"].as_array().ok_or_else(|| format!("{keys_url} has no keys"))?;
        // There may be others, to encrypt or of kinds that are not served.
        let keys = keys.iter().take(KEYS_MAX).filter_map(|jwk| PublicKey::from_jwk(jwk).ok()).collect();
        Ok((keys, endpoints))
    }

    /// What the configuration says of signing in. Whoever can read along must see neither passwords nor codes.
    fn endpoints_of(&self, document: &Value) -> Endpoints {
        let url = |name: &str| {
            let secure = |url: &&str| url.starts_with("https://") || !self.issuer.starts_with("https://");
            document[name].as_str().filter(secure).map(str::to_owned)
        };
        let methods = document["token_endpoint_auth_methods_supported"].as_array();
        let takes = |method: &str| methods.is_some_and(|all| all.iter().any(|one| one == method));
        Endpoints {
            authorization: url("authorization_endpoint").filter(|url| !url.contains('#')),
            token: url("token_endpoint"),
            names_itself: document["authorization_response_iss_parameter_supported"] == true,
            secret_in_body: takes("client_secret_post") && !takes("client_secret_basic"),
        }
    }
}

impl Found {
    /// Whether its keys may still be used.
    pub(super) fn usable(&self) -> bool {
        self.fetched_at.is_some_and(|at| at.elapsed() < STALE_MAX)
    }

    /// The key of a name; of tokens that name none it is the only one.
    fn key(&self, id: Option<&str>) -> Option<&PublicKey> {
        if !self.usable() {
            return None;
        }
        match (id, &self.keys[..]) {
            (Some(_), keys) => keys.iter().find(|key| key.id() == id),
            (None, [only]) => Some(only),
            (None, _) => None,
        }
    }
}

fn read(body: &[u8], url: &str) -> Result<Value, String> {
    serde_json::from_slice(body).map_err(|_| format!("{url} does not answer in JSON"))
}
