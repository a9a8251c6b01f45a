//! How much an attempt costs besides its request: `Actions::fire` beside a bare client of the same kind,
//! in alternating rounds, against a minimal receiver on another thread.
//!
//! `cargo bench -p punctual-actions` prints requests a second of both and their ratio, and, on Linux, the
//! processor time that a request takes on the sender's side.

#![allow(clippy::unwrap_used, reason = "a benchmark that can't set up should stop")]

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use jiff::Timestamp;
use punctual_actions::{Actions, Settings};
use punctual_model::{
    Action, ActionKind, Cause, Clock, CollectionKey, ExecutionTag, Firing, HttpAction, JobId, JobSpec,
};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// Attempts in flight at once.
const CONCURRENCY: usize = 64;
/// Requests of one round.
const REQUESTS: usize = 20_000;
const ROUNDS: usize = 7;
const BODY: &str =
    "{\"event\":\"nightly-report\",\"source\":\"benchmark\",\"note\":\"about a hundred bytes of body\"}";

/// What the contract makes us send with each request.
const OWN_HEADERS: &[(&str, &str)] = &[
    ("x-ms-scheduler-jobid", "nightly-report"),
    ("x-ms-scheduler-jobcollectionid", "jobs"),
    ("x-ms-scheduler-expected-execution-time", "2026-03-04T05:06:07"),
    ("x-ms-scheduler-execution-region", "West US"),
    ("x-ms-execution-tag", "53d0bfb54125e2c3fba3040f86b7323c"),
    ("x-ms-client-request-id", "d7737f7c-0880-4072-8b95-f5db2f8ad572"),
    ("x-ms-scheduler-attempt", "0"),
    ("user-agent", "punctual/0.1.0"),
];

/// The machine's clock.
struct RealClock;

impl Clock for RealClock {
    #[expect(clippy::disallowed_methods, reason = "tokens expire by the real clock")]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

fn main() {
    let address = receiver();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let uri = format!("http://{address}/hook");
        let actions = Arc::new(Actions::new(Settings::default(), Arc::new(RealClock)).unwrap());
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let bare: Client<_, Full<Bytes>> = Client::builder(TokioExecutor::new()).build(connector);
        let target: Uri = uri.parse().unwrap();
        let firing = Arc::new(firing(uri));
        let (mut bare_rates, mut same_rates, mut fire_rates) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..=ROUNDS {
            let sender = (bare.clone(), target.clone());
            let bare_rate = rate(move || {
                let (bare, target) = sender.clone();
                async move { send(&bare, target, &[]).await }
            })
            .await;
            let sender = (bare.clone(), target.clone());
            let same_rate = rate(move || {
                let (bare, target) = sender.clone();
                async move { send(&bare, target, OWN_HEADERS).await }
            })
            .await;
            let firer = (Arc::clone(&actions), Arc::clone(&firing));
            let fire_rate = rate(move || {
                let (actions, firing) = firer.clone();
                async move { fire(&actions, &firing).await }
            })
            .await;
            // The first round fills the pools.
            if round > 0 {
                bare_rates.push(bare_rate);
                same_rates.push(same_rate);
                fire_rates.push(fire_rate);
            }
        }
        println!("median of {ROUNDS} rounds, {CONCURRENCY} at once");
        let bare = told("bare client", bare_rates);
        let same = told("bare client, our headers", same_rates);
        let fire = told("actions.fire", fire_rates);
        println!(
            "{:.0} % of the bare client, {:.0} % with our headers",
            100.0 * fire / bare,
            100.0 * fire / same
        );
    });
}

async fn fire(actions: &Actions, firing: &Firing) {
    let outcome = actions.fire(firing).await;
    assert!(outcome.succeeded, "{}", outcome.message);
}

async fn send(
    client: &Client<HttpConnector, Full<Bytes>>,
    target: Uri,
    headers: &[(&'static str, &'static str)],
) {
    let body = Full::new(Bytes::from_static(BODY.as_bytes()));
    let mut request = Request::post(target).header("content-type", "application/json").body(body).unwrap();
    for (name, value) in headers {
        request.headers_mut().insert(*name, HeaderValue::from_static(value));
    }
    let response = client.request(request).await.unwrap();
    assert!(response.status().is_success());
    response.into_body().collect().await.unwrap();
}

/// Requests a second with so many workers that each send one after another.
async fn rate<F: Future<Output = ()> + Send + 'static>(
    each: impl Fn() -> F + Clone + Send + 'static,
) -> (f64, f64) {
    let (started_at, busy_before) = (now(), busy_microseconds());
    let mut workers = JoinSet::new();
    for _ in 0..CONCURRENCY {
        let each = each.clone();
        workers.spawn(async move {
            for _ in 0..REQUESTS / CONCURRENCY {
                each().await;
            }
        });
    }
    workers.join_all().await;
    let elapsed: Duration = started_at.elapsed();
    let count = (REQUESTS / CONCURRENCY * CONCURRENCY) as f64;
    (count / elapsed.as_secs_f64(), (busy_microseconds() - busy_before) / count)
}

/// The processor time of this thread, which is all of the sender; 0 where the system does not tell.
fn busy_microseconds() -> f64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    told.split(' ').next().and_then(|nanoseconds| nanoseconds.parse::<f64>().ok()).unwrap_or(0.0) / 1000.0
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
fn now() -> Instant {
    Instant::now()
}

fn told(name: &str, rounds: Vec<(f64, f64)>) -> f64 {
    let (rates, costs): (Vec<_>, Vec<_>) = rounds.into_iter().unzip();
    let (rate, cost) = (median(rates), median(costs));
    println!("{name:<26} {rate:>6.0} requests/s, {cost:>4.1} µs of processor time each");
    rate
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

fn firing(uri: String) -> Firing {
    let nominal_at = "2026-03-04T05:06:07Z".parse().unwrap();
    let action = HttpAction {
        declared_https: false,
        uri,
        user_info: None,
        method: "POST".into(),
        headers: vec![("Content-Type".into(), "application/json".into())],
        body: Some(BODY.into()),
        authentication: None,
    };
    Firing {
        job: CollectionKey::new("subscription", "group", "jobs").job("nightly-report"),
        region: "West US".into(),
        spec: Arc::new(JobSpec::once(Action {
            kind: ActionKind::Http(action),
            retry: None,
            error_action: None,
        })),
        step: 0,
        attempt: 0,
        nominal_at,
        tag: ExecutionTag::of(JobId(7), Cause::Schedule, nominal_at, 0),
        client_request_id: "d7737f7c-0880-4072-8b95-f5db2f8ad572".into(),
    }
}

/// Answers 200 to everything, on a thread of its own.
fn receiver() -> SocketAddr {
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            tell.send(listener.local_addr().unwrap()).unwrap();
            loop {
                let (tcp, _) = listener.accept().await.unwrap();
                tcp.set_nodelay(true).unwrap();
                tokio::spawn(async move {
                    let service = service_fn(|request: Request<Incoming>| async move {
                        request.into_body().collect().await.unwrap();
                        Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(b"ok"))))
                    });
                    let _ = hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(tcp), service)
                        .await;
                });
            }
        });
    });
    told.recv().unwrap()
}
