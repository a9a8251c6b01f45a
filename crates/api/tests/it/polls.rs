//! Nothing that a caller can make long runs on a thread that serves others.
//!
//! What counts is the processor time of one poll, not the time on the wall: another process that is busy makes no
//! difference.

use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use http::Request;
use punctual_api::{ROUTES, Route};
use punctual_model::Level;
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

use crate::mutation::{Random, morsels, mutate};
use crate::world::{BASE, World, http, target};

const PFX: &str = include_str!("../files/costly.pfx.base64");
const PASSWORD: &str = "not a secret";

/// The longest poll that is allowed, also without optimisation.
const POLL_MAX: Duration = Duration::from_millis(50);

/// The processor time that this thread has used.
fn processor_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap()
}

/// Measures the longest poll of a future.
struct Polled<F> {
    inner: F,
    longest: Duration,
}

impl<F: Future + Unpin> Future for Polled<F> {
    type Output = (F::Output, Duration);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let before = processor_time();
        let polled = Pin::new(&mut self.inner).poll(cx);
        self.longest = self.longest.max(processor_time().saturating_sub(before));
        polled.map(|output| (output, self.longest))
    }
}

/// Answers a request; its status.
async fn send(world: &World, method: &str, path: &str, body: &[u8]) -> u16 {
    let request =
        Request::builder().method(method).uri(target(path)).body(Body::from(body.to_vec())).unwrap();
    let sending = pin!(world.send(request));
    let (answer, longest) = Polled { inner: sending, longest: Duration::ZERO }.await;
    let shown = String::from_utf8_lossy(&body[..body.len().min(400)]);
    assert!(longest <= POLL_MAX, "{method} {path}: a poll took {longest:?} of processor time: {shown}");
    assert_ne!(answer.status, 500, "{method} {path}: {shown}");
    answer.status
}

fn with_certificate(password: &str) -> Value {
    let authentication = json!({"type": "ClientCertificate", "pfx": PFX, "password": password});
    json!({"properties": {"action": http(json!({"uri": "https://a.example/", "authentication": authentication}))}})
}

#[tokio::test]
async fn a_certificate_is_opened_elsewhere_also_by_a_patch_of_its_password() {
    let world = World::new().await;
    let put = with_certificate(PASSWORD).to_string();
    assert_eq!(send(&world, "PUT", "Jc/jobs/one", put.as_bytes()).await, 201);
    let password = json!({"properties": {"action": {"request": {"authentication": {"password": "other"}}}}});
    assert_eq!(send(&world, "PATCH", "Jc/jobs/one", password.to_string().as_bytes()).await, 400);
    // Several at once wait for one another, and all are answered.
    let wrong = with_certificate("other").to_string();
    let calls = (0..4).map(|_| send(&world, "PUT", "Jc/jobs/two", wrong.as_bytes()));
    assert_eq!(futures_util::future::join_all(calls).await, [400; 4]);
}

#[tokio::test]
async fn no_poll_takes_long_whatever_callers_send() {
    let world = World::new().await;
    let put = with_certificate(PASSWORD).to_string();
    assert_eq!(send(&world, "PUT", "Jc/jobs/certified", put.as_bytes()).await, 201);
    let schedule = json!({"minutes": [0, 30], "hours": [1, 2, 3], "monthlyOccurrences": [{"day": "Friday", "occurrence": -1}]});
    let seeds = [
        json!({"properties": {"startTime": "2027-01-01T00:00:00Z", "action": http(json!({"headers": {"a": "b"}})),
            "recurrence": {"frequency": "Month", "interval": 1, "schedule": schedule, "timeZone": "Europe/Berlin",
                "count": 1000, "endTime": "2099-01-01"}}}),
        json!({"properties": {"action": http(json!({"authentication": {"type": "Basic", "username": "u", "password": "p"},
            "body": "b"})), "recurrence": {"frequency": "Minute", "interval": 7}, "state": "Disabled"}}),
        json!({"properties": {"action": {"request": {"authentication": {"password": "other"}}}}}),
        json!({"location": "West US", "tags": {"a": "b"}, "properties": {"sku": {"name": "P20Premium"},
            "quota": {"maxJobCount": 10, "maxRecurrence": {"frequency": "minute", "interval": 1}}}}),
    ]
    .map(|seed| seed.to_string());
    let queries = [
        "Jc/jobs/one/occurrences?from=1970-01-01&to=9999-01-01&api-version=2026-11-01",
        "Jc/jobs/one/occurrences?from=9990-01-01&api-version=2026-11-01",
        "Jc/jobs/one/history?$top=100&$filter=status eq 'failed' and startTime ge 2020-01-01",
        "Jc/jobs?$top=100&$filter=state eq 'enabled'",
        "Jc/jobs/certified",
        "Jc",
        "",
    ];
    let (morsels, mut random) = (morsels(), Random(0x5eed));
    for _ in 0..4_000 {
        let path = *random.of(&["Jc/jobs/one", "Jc/jobs/one", "Jc/jobs/certified", "Jc", "Jc/jobs/one/run"]);
        let method = *random.of(&["PUT", "PUT", "PATCH", "PATCH", "POST", "DELETE"]);
        // The certificate stays, so that its password can be changed.
        if method == "DELETE" && path != "Jc/jobs/one" || method == "PUT" && path.ends_with("certified") {
            continue;
        }
        let seed = random.of(&seeds);
        let body = mutate(&mut random, seed, &morsels);
        send(&world, method, path, &body).await;
        let mut query = (*random.of(&queries)).to_owned();
        if random.below(3) == 0 && query.contains('?') {
            let at = random.below(query.len());
            query.insert_str(at, ["9", "-", "&", "a", "%20"][random.below(5)]);
        }
        let query = query.replace(' ', "%20");
        if target(&query).parse::<http::Uri>().is_ok() {
            send(&world, "GET", &query, b"").await;
        }
    }
}

/// The path of an operation on something that there is.
fn path_of(route: &Route) -> String {
    let scope = match route.level {
        Level::Everything => String::new(),
        Level::Subscription => BASE.split("/resourceGroups").next().unwrap().to_owned(),
        Level::Group => BASE.split("/providers").next().unwrap().to_owned(),
        Level::Collection => format!("{BASE}/Jc"),
        Level::Job => format!("{BASE}/Jc/jobs/one"),
    };
    let tail: Vec<&str> =
        route.tail.split('/').map(|part| if part.starts_with('{') { "x" } else { part }).collect();
    format!("{scope}/{}", tail.join("/"))
}

#[tokio::test]
async fn no_poll_of_any_operation_takes_long() {
    let morsels = morsels();
    let job =
        json!({"properties": {"action": http(json!({})), "recurrence": {"frequency": "Minute"}}}).to_string();
    let seeds = [
        job.clone(),
        json!({"location": "West US", "tags": {"a": "b"}}).to_string(),
        json!({"name": "n", "grants": [{"role": "reader", "scope": "/"}], "expiresAt": "2030-01-01"})
            .to_string(),
        "grant_type=client_credentials&client_id=x&client_secret=y&scope=z".to_owned(),
    ];
    for (index, route) in ROUTES.iter().enumerate() {
        let mut random = Random(0x5eed + u64::try_from(index).unwrap());
        let path = path_of(route);
        for method in route.methods {
            // Each begins anew: it may delete everything, or make a token without which nobody gets in.
            let world = World::new().await;
            world
                .put_job("one", serde_json::from_str::<Value>(&job).unwrap()["properties"].clone())
                .await
                .is(201);
            for round in 0..12 {
                let version = if round % 2 == 0 { "2016-03-01" } else { "2026-11-01" };
                let seed = random.of(&seeds);
                let body = mutate(&mut random, seed, &morsels);
                let body = if *method == "GET" || *method == "HEAD" { &[][..] } else { &body };
                send(&world, method, &format!("{path}?api-version={version}"), body).await;
            }
        }
    }
}
