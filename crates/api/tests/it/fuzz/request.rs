//! Requests of all operations that are nearly right: paths, queries, headers and bodies in which something was changed.

use axum::body::Body;
use http::{HeaderName, HeaderValue, Method, Request, Uri, header};
use punctual_api::{ROUTES, Route};
use punctual_model::Level;
use serde_json::json;

use crate::mutation::{Random, morsels, mutate};
use crate::world::{TENANT, http};

/// A request that can be sent more than once.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) method: Method,
    pub(super) target: Uri,
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    pub(super) body: Vec<u8>,
}

impl Asked {
    /// As it is sent by whoever shows these headers.
    pub(super) fn request(&self, shown: &[(HeaderName, String)]) -> Request<Body> {
        let mut request = Request::builder().method(self.method.clone()).uri(self.target.clone());
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        for (name, value) in shown {
            request = request.header(name, value);
        }
        request.body(Body::from(self.body.clone())).unwrap()
    }

    /// Whether a header was changed that is looked at before anybody is asked who they are.
    pub(super) fn has_strange_head(&self) -> bool {
        let site = HeaderName::from_static("sec-fetch-site");
        let looked_at = [header::HOST, header::ORIGIN, header::COOKIE, site];
        self.headers.iter().any(|(name, _)| looked_at.contains(name))
    }

    /// Whether it may change something, by its method.
    pub(super) fn changes(&self) -> bool {
        ![Method::GET, Method::HEAD].contains(&self.method)
    }

    /// The path as it is compared: decoded, in lower case, with single slashes.
    pub(super) fn plain_path(&self) -> String {
        let decoded = percent_encoding::percent_decode_str(self.target.path()).decode_utf8_lossy();
        let segments: Vec<&str> = decoded.split('/').filter(|segment| !segment.is_empty()).collect();
        format!("/{}", segments.join("/")).to_lowercase()
    }
}

/// Draws requests.
pub(super) struct Generator {
    pub(super) random: Random,
    morsels: Vec<String>,
    bodies: Vec<String>,
    token_ids: Vec<String>,
}

/// Names of subscriptions: where something is, where somebody else is, and where nothing is.
const SUBSCRIPTIONS: [&str; 6] = ["s", "s", "s", "other", "nothing", "S"];
const GROUPS: [&str; 5] = ["Rg", "Rg", "rG", "Other", "nothing"];
const COLLECTIONS: [&str; 5] = ["Jc", "Jc", "jC", "Other", "nothing"];
const JOBS: [&str; 5] = ["one", "one", "ONE", "two", "nothing"];

const VERSIONS: [&str; 7] = [
    "2016-03-01",
    "2016-03-01",
    "2016-01-01",
    "2014-08-01-preview",
    "2026-11-01",
    "2026-11-01",
    "1999-01-01",
];

const QUERIES: [&str; 18] = [
    "$top=100",
    "$top=0",
    "$top=-1",
    "$skip=3",
    "$skip=99999999999999999999",
    "$filter=state eq 'enabled'",
    "$filter=status eq 'failed' and startTime ge 2020-01-01",
    "$filter=state eq 'enabled' and state eq 'disabled'",
    "$filter=((((",
    "$skiptoken=ajEKb25l",
    "$skiptoken=aDEgMCAw",
    "$skiptoken=YTEgOTIyMzM3MjAzNjg1NDc3NTgwNw",
    "$skiptoken=!",
    "from=1970-01-01&to=9999-01-01",
    "from=2026-11-15T12:00:00Z&to=2026-11-15T13:00:00Z",
    "scope=/subscriptions/s",
    "caller=root",
    "api-version=2016-03-01",
];

const METHODS: [&str; 9] = ["GET", "HEAD", "PUT", "PATCH", "POST", "DELETE", "OPTIONS", "TRACE", "MKCOL"];

const HEADERS: [(&str, &[&str]); 13] = [
    (
        "host",
        &[
            "localhost",
            "127.0.0.1:8380",
            "[::1]",
            "evil.example",
            "localhost.evil.example",
            "",
            "a b",
            "user@localhost",
        ],
    ),
    ("origin", &["http://localhost", "http://evil.example", "null", "", "http://localhost:1@evil.example"]),
    ("sec-fetch-site", &["none", "same-origin", "same-site", "cross-site", "x"]),
    ("x-forwarded-for", &["127.0.0.1", "::1, 10.0.0.1", ",,,", "unknown"]),
    ("x-forwarded-host", &["evil.example"]),
    ("x-http-method-override", &["DELETE", "GET"]),
    ("x-original-url", &["/tokens", "/healthz"]),
    (
        "content-type",
        &["application/json", "application/x-www-form-urlencoded", "text/plain", "multipart/form-data"],
    ),
    ("x-punctual-page", &["1", "0", ""]),
    ("if-match", &["*", "\"1\"", "x"]),
    (
        "user-agent",
        &["azsdk-python-mgmt-scheduler/7.0.0", "AZURECLI/2", "Microsoft.WindowsAzure.Scheduler", ""],
    ),
    ("x-ms-client-request-id", &["c", "00000000-0000-0000-0000-000000000000"]),
    ("cookie", &["__Host-punctual-session=x", "a=b; c=d", "__Host-punctual-session=", "=;=;"]),
];

impl Generator {
    /// With the ids of tokens that may be asked for.
    pub(super) fn new(seed: u64, token_ids: Vec<String>) -> Self {
        let schedule = json!({"minutes": [0, 30], "hours": [1, 2, 3], "monthlyOccurrences": [{"day": "Friday", "occurrence": -1}]});
        let authentication = json!({"type": "Basic", "username": "u", "password": "p"});
        let bodies = [
            json!({"properties": {"startTime": "2027-01-01T00:00:00Z", "action": http(json!({"headers": {"X-Api-Key": "b"}})),
                "recurrence": {"frequency": "Month", "interval": 1, "schedule": schedule, "timeZone": "Europe/Berlin",
                    "count": 1000, "endTime": "2099-01-01"}}}),
            json!({"properties": {"action": http(json!({"authentication": authentication, "body": "b"})),
                "recurrence": {"frequency": "Minute", "interval": 7}, "state": "Disabled"}}),
            json!({"properties": {"state": "Enabled"}}),
            json!({"location": "West US", "tags": {"a": "b"}, "properties": {"sku": {"name": "P20Premium"},
                "quota": {"maxJobCount": 10, "maxRecurrence": {"frequency": "minute", "interval": 1}}}}),
            json!({"name": "n", "grants": [{"role": "reader", "scope": "/subscriptions/s"}], "expiresAt": "2030-01-01"}),
            json!("grant_type=client_credentials&client_id=x&client_secret=y&scope=z"),
            json!(""),
            json!({"token": "pct_0000000000000000000000000000000000000000000000000"}),
        ];
        let bodies =
            bodies.map(|body| body.as_str().map_or_else(|| body.to_string(), str::to_owned)).to_vec();
        Self { random: Random(seed | 1), morsels: morsels(), bodies, token_ids }
    }

    /// The next request. What HTTP itself can't carry is not drawn.
    pub(super) fn draw(&mut self) -> Asked {
        loop {
            let route = self.random.of(ROUTES);
            let method = if self.random.below(12) == 0 {
                *self.random.of(&METHODS)
            } else {
                *self.random.of(route.methods)
            };
            let mut path = self.path(route);
            if self.random.below(6) == 0 {
                self.disturb(&mut path);
            }
            let target = format!("{path}{}", self.query());
            let Ok(target) = target.parse::<Uri>() else { continue };
            let headers = self.headers();
            let body = self.body(route, method);
            return Asked { method: method.parse().unwrap(), target, headers, body };
        }
    }

    fn path(&mut self, route: &Route) -> String {
        let provider = "providers/Microsoft.Scheduler/jobCollections";
        let parts = [
            ("subscriptions", *self.random.of(&SUBSCRIPTIONS), Level::Subscription),
            ("resourceGroups", *self.random.of(&GROUPS), Level::Group),
            (provider, *self.random.of(&COLLECTIONS), Level::Collection),
            ("jobs", *self.random.of(&JOBS), Level::Job),
        ];
        let depth = match route.level {
            Level::Everything => 0,
            Level::Subscription => 1,
            Level::Group => 2,
            Level::Collection => 3,
            Level::Job => 4,
        };
        let mut path = String::new();
        for (kind, name, _) in &parts[..depth] {
            path.push_str(&format!("/{kind}/{name}"));
        }
        for segment in route.tail.split('/') {
            let segment = match segment {
                "{tokenId}" => self.random.of(&self.token_ids).clone(),
                "{tenant}" => (*self.random.of(&["adfs", "common", TENANT, "x"])).to_owned(),
                "{keyId}" => (*self.random.of(&["1", "2", "0", "x"])).to_owned(),
                "{sessionId}" | "{operationId}" => "00000000-0000-0000-0000-000000000001".to_owned(),
                fixed => fixed.to_owned(),
            };
            path.push('/');
            path.push_str(&segment);
        }
        path
    }

    /// Changes a path: letter case, escapes, slashes, segments.
    fn disturb(&mut self, path: &mut String) {
        let at = self.random.below(path.len());
        match self.random.below(8) {
            0 => *path = path.to_uppercase(),
            1 => *path = path.to_lowercase(),
            2 => path.push('/'),
            3 => *path = path.replacen('/', "//", 1 + self.random.below(9)),
            4 => {
                let escaped = format!("%{:02x}", path.as_bytes()[at]);
                path.replace_range(at..=at, &escaped);
            }
            5 => path.insert_str(
                at,
                self.random.of::<&str>(&["%00", "%2f", "%ff", "%", "..", "/../", ";x", "%c3%a4", "%25", "+"]),
            ),
            6 => path.truncate(at),
            _ => path.push_str(self.random.of::<&str>(&[
                "/x",
                "/jobs",
                "/run",
                "/history",
                "/.",
                "/tokens",
                "/%2e%2e/healthz",
            ])),
        }
    }

    fn query(&mut self) -> String {
        let mut pairs = Vec::new();
        if self.random.below(10) > 0 {
            pairs.push(format!("api-version={}", self.random.of(&VERSIONS)));
        }
        for _ in 0..self.random.below(3) {
            let mut pair = (*self.random.of(&QUERIES)).to_owned();
            if self.random.below(3) == 0 {
                let at = self.random.below(pair.len());
                pair.insert_str(
                    at,
                    self.random.of::<&str>(&["9", "-", "&", "'", "%20", "%00", "%ff", "=", "+"]),
                );
            }
            pairs.push(pair);
        }
        if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&").replace(' ', "%20")) }
    }

    fn headers(&mut self) -> Vec<(HeaderName, HeaderValue)> {
        let mut headers = Vec::new();
        while self.random.below(5) == 0 {
            let (name, values) = self.random.of(&HEADERS);
            headers.push((
                HeaderName::from_static(name),
                HeaderValue::from_static(self.random.of::<&str>(values)),
            ));
        }
        headers
    }

    fn body(&mut self, route: &Route, method: &str) -> Vec<u8> {
        if ["GET", "HEAD", "DELETE"].contains(&method) && self.random.below(20) > 0 {
            return Vec::new();
        }
        let fitting = match (route.level, route.name) {
            (_, "issueToken") => 5..6,
            (_, "signIn") => 7..8,
            (Level::Everything, _) => 4..5,
            (Level::Job, _) => 0..3,
            (Level::Subscription | Level::Group | Level::Collection, _) => 3..4,
        };
        let any = self.random.below(5) == 0;
        let seed = self.random.of(if any { &self.bodies } else { &self.bodies[fitting] });
        match self.random.below(3) {
            0 => seed.clone().into_bytes(),
            _ if seed.is_empty() => Vec::new(),
            _ => mutate(&mut self.random, seed, &self.morsels),
        }
    }
}
