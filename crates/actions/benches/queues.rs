//! How many messages a second go into real queues: `Actions::fire` beside a bare client of the same kind, in
//! alternating rounds. Where both are alike, the queue service is what limits them.
//!
//! `scripts/bench queues` starts Azurite and RabbitMQ and runs this; `PUNCTUAL_TEST_AZURITE` and
//! `PUNCTUAL_TEST_RABBITMQ` name their endpoints.

#![allow(clippy::unwrap_used, reason = "a benchmark that can't set up should stop")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use fe2o3_amqp::sasl_profile::SaslProfile;
use fe2o3_amqp::{Connection, Sender, Session};
use fe2o3_amqp_types::messaging::{Data, Header, Message};
use fe2o3_amqp_types::primitives::Binary;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use hmac::{Hmac, KeyInit, Mac};
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use jiff::Timestamp;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use punctual_actions::{Actions, Sasl, Settings};
use punctual_model::{
    Action, ActionKind, Cause, Clock, CollectionKey, ExecutionTag, Firing, JobId, JobSpec, QueueMessage,
    Secret, ServiceBusAuthentication, ServiceBusMessage, Transport,
};
use sha2::Sha256;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// Attempts in flight at once; a server allows 256 to one target.
const CONCURRENCY: usize = 128;
const ROUNDS: usize = 6;
const TEXT: &str =
    "{\"event\":\"nightly-report\",\"source\":\"benchmark\",\"note\":\"about a hundred bytes of text\"}";

/// The account that Azurite is born with, and its public key.
const ACCOUNT: &str = "devstoreaccount1";
const KEY: &str = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

/// The machine's clock.
struct RealClock;

impl Clock for RealClock {
    #[expect(clippy::disallowed_methods, reason = "tokens expire by the real clock")]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        println!("median of {ROUNDS} rounds, {CONCURRENCY} messages at once");
        nobody().await;
        let mut slowest: Option<(&str, f64)> = None;
        let mut note = |peer, rate: f64| {
            if slowest.is_none_or(|(_, least)| rate < least) {
                slowest = Some((peer, rate));
            }
        };
        match std::env::var_os("PUNCTUAL_TEST_AZURITE") {
            Some(endpoint) => note("Azurite", azurite(&endpoint.into_string().unwrap()).await),
            None => println!("SKIPPED: PUNCTUAL_TEST_AZURITE names no queue endpoint"),
        }
        match std::env::var_os("PUNCTUAL_TEST_RABBITMQ") {
            Some(endpoint) => {
                let endpoint = endpoint.into_string().unwrap();
                note("RabbitMQ", rabbitmq(&endpoint).await);
                many_queues(&endpoint).await;
            }
            None => println!("SKIPPED: PUNCTUAL_TEST_RABBITMQ names no endpoint"),
        }
        if let Some((peer, rate)) = slowest {
            println!("bottleneck: {peer} with {rate:.0} messages/s");
        }
    });
}

async fn azurite(endpoint: &str) -> f64 {
    const MESSAGES: usize = 2_000;
    let until = "2099-01-01T00:00:00Z";
    let mut hmac = Hmac::<Sha256>::new_from_slice(&STANDARD.decode(KEY).unwrap()).unwrap();
    hmac.update(format!("{ACCOUNT}\nrwdlacup\nq\nsco\n\n{until}\n\n\n2019-02-02\n").as_bytes());
    let signature = STANDARD.encode(hmac.finalize().into_bytes());
    let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    let token =
        format!("sv=2019-02-02&ss=q&srt=sco&sp=rwdlacup&se={}&sig={}", encoded(until), encoded(&signature));
    let queue = format!("bench-{}", std::process::id());
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    // Azurite hangs up after five idle seconds.
    let client: Client<_, Full<Bytes>> = Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(Duration::from_secs(4))
        .build(connector);
    let resource = format!("{endpoint}/{ACCOUNT}/{queue}");
    let made = Request::put(format!("{resource}?{token}")).body(Full::default()).unwrap();
    assert!(client.request(made).await.unwrap().status().is_success());

    let settings =
        Settings { storage_queue_endpoint: format!("{endpoint}/{{account}}"), ..Settings::default() };
    let message = QueueMessage {
        storage_account: ACCOUNT.into(),
        queue_name: queue,
        sas_token: Secret::new(token.clone()),
        message: TEXT.into(),
    };
    let (actions, firing) = prepare(settings, ActionKind::StorageQueue(message));
    // As long as the envelope that an action sends.
    let body = STANDARD.encode([b'x'; 640]);
    let body = format!("<QueueMessage><MessageText>{body}</MessageText></QueueMessage>");
    let uri = format!("{resource}/messages?{token}");
    let (mut bare_rates, mut fire_rates) = (Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        let bare = async || {
            let sender = (client.clone(), uri.clone(), Bytes::from(body.clone()));
            rate(MESSAGES, move || {
                let (client, uri, body) = sender.clone();
                async move {
                    let request = Request::post(uri).body(Full::new(body)).unwrap();
                    let response = client.request(request).await.unwrap();
                    assert!(response.status().is_success());
                    response.into_body().collect().await.unwrap();
                }
            })
            .await
        };
        // It gets slower as the queue grows, so that nobody should always be second.
        let (bare_rate, fire_rate) = if round % 2 == 0 {
            let bare_rate = bare().await;
            (bare_rate, fired(MESSAGES, &actions, &firing).await)
        } else {
            let fire_rate = fired(MESSAGES, &actions, &firing).await;
            (bare().await, fire_rate)
        };
        // The first round fills the pools.
        if round > 0 {
            bare_rates.push(bare_rate);
            fire_rates.push(fire_rate);
        }
    }
    told("Azurite", bare_rates, fire_rates)
}

/// What the action itself can do: the same messages to a receiver that takes everything and does nothing.
async fn nobody() {
    const MESSAGES: usize = 20_000;
    let endpoint = format!("http://{}/{{account}}", receiver());
    let settings = Settings { storage_queue_endpoint: endpoint, ..Settings::default() };
    let message = QueueMessage {
        storage_account: ACCOUNT.into(),
        queue_name: "queue".into(),
        sas_token: Secret::new("sv=2019-02-02&sig=abcdefghijklmnopqrstuvwxyz"),
        message: TEXT.into(),
    };
    let (actions, firing) = prepare(settings, ActionKind::StorageQueue(message));
    let mut rates = Vec::new();
    for _ in 0..ROUNDS {
        rates.push(fired(MESSAGES, &actions, &firing).await);
    }
    println!("{:<9} {:>6.0} messages/s by actions.fire", "a void", median(rates));
}

/// Answers 201 to everything, on a thread of its own.
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
                        Response::builder().status(201).body(Full::<Bytes>::default())
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

async fn rabbitmq(endpoint: &str) -> f64 {
    const MESSAGES: usize = 10_000;
    let queue = format!("bench-{}", std::process::id());
    let mut connection = Connection::builder()
        .container_id("bench")
        .sasl_profile(SaslProfile::Plain { username: "guest".into(), password: "guest".into() })
        .open(endpoint)
        .await
        .unwrap();
    let mut session = Session::begin(&mut connection).await.unwrap();
    let mut sender = Sender::attach(&mut session, "bench", queue.as_str()).await.unwrap();
    let (actions, firing) = prepare(by_password(endpoint), to_queue(queue));
    let (mut bare_rates, mut fire_rates) = (Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        let started_at = now();
        let mut deliveries = FuturesUnordered::new();
        for _ in 0..MESSAGES {
            let message = Message::builder()
                .header(Header { durable: true, ..Header::default() })
                .data(Data(Binary::from(TEXT.as_bytes())))
                .build();
            deliveries.push(sender.send_batchable(message).await.unwrap());
            if deliveries.len() >= CONCURRENCY {
                assert!(deliveries.next().await.unwrap().unwrap().is_accepted());
            }
        }
        while let Some(outcome) = deliveries.next().await {
            assert!(outcome.unwrap().is_accepted());
        }
        let bare_rate = MESSAGES as f64 / started_at.elapsed().as_secs_f64();
        let fire_rate = fired(MESSAGES, &actions, &firing).await;
        if round > 0 {
            bare_rates.push(bare_rate);
            fire_rates.push(fire_rate);
        }
    }
    told("RabbitMQ", bare_rates, fire_rates)
}

/// Messages to many queues of one broker: over the connections that they share, and over one for each.
async fn many_queues(endpoint: &str) {
    const MESSAGES: usize = 10_000;
    for queues in [1, 8, 64] {
        let name = |number| format!("bench-{}-{queues}-{number}", std::process::id());
        // Nothing is shared between two of these.
        let apart: Vec<_> =
            (0..queues).map(|number| prepare(by_password(endpoint), to_queue(name(number)))).collect();
        let shared = apart.iter().map(|(_, firing)| (Arc::clone(&apart[0].0), Arc::clone(firing))).collect();
        let (apart, shared): (Arc<[_]>, Arc<[_]>) = (apart.into(), shared);
        let (mut apart_rates, mut shared_rates) = (Vec::new(), Vec::new());
        for round in 0..=ROUNDS {
            let shared_rate = fired_in_turn(MESSAGES, &shared).await;
            let apart_rate = fired_in_turn(MESSAGES, &apart).await;
            if round > 0 {
                shared_rates.push(shared_rate);
                apart_rates.push(apart_rate);
            }
        }
        println!(
            "RabbitMQ  {:>6.0} messages/s into {queues} queues over shared connections, {:>6.0} over one each",
            median(shared_rates),
            median(apart_rates)
        );
    }
}

async fn fired_in_turn(messages: usize, prepared: &Arc<[(Arc<Actions>, Arc<Firing>)]>) -> f64 {
    let (prepared, next) = (Arc::clone(prepared), Arc::new(AtomicUsize::new(0)));
    rate(messages, move || {
        let (actions, firing) = prepared[next.fetch_add(1, Ordering::Relaxed) % prepared.len()].clone();
        async move {
            let outcome = actions.fire(&firing).await;
            assert!(outcome.succeeded, "{}", outcome.message);
        }
    })
    .await
}

fn by_password(endpoint: &str) -> Settings {
    Settings {
        service_bus_amqp_endpoint: endpoint.to_owned(),
        service_bus_sasl: Sasl::Plain,
        ..Settings::default()
    }
}

fn to_queue(queue: String) -> ActionKind {
    ActionKind::ServiceBusQueue(ServiceBusMessage {
        entity: queue,
        namespace: "bench".into(),
        transport: Some(Transport::Amqp),
        authentication: Some(ServiceBusAuthentication {
            shared_access_key: Some(true),
            sas_key_name: Some("guest".into()),
            sas_key: Some(Secret::new("guest")),
        }),
        message: TEXT.into(),
        brokered: None,
        custom: vec![],
    })
}

async fn fired(messages: usize, actions: &Arc<Actions>, firing: &Arc<Firing>) -> f64 {
    let (actions, firing) = (Arc::clone(actions), Arc::clone(firing));
    rate(messages, move || {
        let (actions, firing) = (Arc::clone(&actions), Arc::clone(&firing));
        async move {
            let outcome = actions.fire(&firing).await;
            assert!(outcome.succeeded, "{}", outcome.message);
        }
    })
    .await
}

/// Messages a second with so many workers that each send one after another.
async fn rate<F: Future<Output = ()> + Send + 'static>(
    messages: usize,
    each: impl Fn() -> F + Clone + Send + 'static,
) -> f64 {
    let started_at = now();
    let mut workers = JoinSet::new();
    for _ in 0..CONCURRENCY {
        let each = each.clone();
        workers.spawn(async move {
            for _ in 0..messages / CONCURRENCY {
                each().await;
            }
        });
    }
    workers.join_all().await;
    (messages / CONCURRENCY * CONCURRENCY) as f64 / started_at.elapsed().as_secs_f64()
}

fn told(peer: &str, bare: Vec<f64>, fire: Vec<f64>) -> f64 {
    let (bare, fire) = (median(bare), median(fire));
    println!(
        "{peer:<9} {fire:>6.0} messages/s by actions.fire, {bare:>6.0} by a bare client: {:.0} %",
        100.0 * fire / bare
    );
    fire
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
fn now() -> Instant {
    Instant::now()
}

fn prepare(settings: Settings, kind: ActionKind) -> (Arc<Actions>, Arc<Firing>) {
    let nominal_at = "2026-03-04T05:06:07Z".parse().unwrap();
    let firing = Firing {
        job: CollectionKey::new("subscription", "group", "jobs").job("nightly-report"),
        region: "West US".into(),
        spec: Arc::new(JobSpec::once(Action { kind, retry: None, error_action: None })),
        step: 0,
        attempt: 0,
        nominal_at,
        tag: ExecutionTag::of(JobId(7), Cause::Schedule, nominal_at, 0),
        client_request_id: "d7737f7c-0880-4072-8b95-f5db2f8ad572".into(),
    };
    (Arc::new(Actions::new(settings, Arc::new(RealClock)).unwrap()), Arc::new(firing))
}
