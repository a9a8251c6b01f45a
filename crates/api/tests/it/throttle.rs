//! Limits per caller: the flood of one leaves the others served.

use std::net::SocketAddr;
use std::time::Duration;

use axum::body::{Body, Bytes};
use futures_util::stream;
use http::{Request, header};
use jiff::SignedDuration;
use punctual_api::{AccessMode, CallerLimits, Peer, Rate, Settings};
use punctual_model::access::Role;
use serde_json::json;

use crate::world::{Answer, World, target};

const RATE: Rate = Rate { per_second: 1.0, burst: 3.0 };

/// A server with two callers who may do everything.
async fn world(caller_limits: CallerLimits) -> (World, String, String) {
    let world = World::build(Settings { caller_limits, ..Settings::default() }, AccessMode::Auto);
    let one = world.token("one", &[(Role::Owner, "/")]).await;
    let other = world.token("other", &[(Role::Owner, "/")]).await;
    (world, one, other)
}

fn asked(token: &str, method: &str, path: &str, body: impl Into<Body>) -> Request<Body> {
    let request = Request::builder().method(method).uri(target(path));
    request.header(header::AUTHORIZATION, format!("Bearer {token}")).body(body.into()).unwrap()
}

async fn get(world: &World, token: &str) -> Answer {
    world.send(asked(token, "GET", "/doctor", Body::empty())).await
}

async fn put(world: &World, token: &str) -> Answer {
    let body = json!({"location": "West US"}).to_string();
    world.send(asked(token, "PUT", "Jc", body)).await
}

#[tokio::test]
async fn a_caller_above_its_rate_is_told_when_to_come_back_and_others_are_served() {
    let (world, one, other) = world(CallerLimits { reads: Some(RATE), ..CallerLimits::default() }).await;
    for left in ["2", "1", "0"] {
        let answer = get(&world, &one).await.is(200);
        assert_eq!(answer.header("x-ms-ratelimit-remaining-subscription-reads"), Some(left));
        assert_eq!(answer.header("x-ms-ratelimit-burst-remaining-scheduler-reads"), Some(left));
    }
    let answer = get(&world, &one).await;
    assert_eq!(answer.header("retry-after"), Some("1"));
    assert_eq!(answer.header("x-ms-ratelimit-remaining-subscription-reads"), Some("0"));
    let message = answer.refused(429, "TooManyRequests");
    assert!(message.contains("'one'") && message.contains("limits.reads_per_second"), "{message}");
    get(&world, &other).await.is(200);
    // What is not limited is not counted, and says nothing.
    let answer = put(&world, &one).await.is(201);
    assert_eq!(answer.header("x-ms-ratelimit-burst-remaining-scheduler-writes"), None);
    world.advance(SignedDuration::from_secs(1));
    get(&world, &one).await.is(200);
    get(&world, &one).await.is(429);
}

#[tokio::test]
async fn reads_and_writes_are_counted_apart_and_errors_count_as_well() {
    let limits = CallerLimits { reads: Some(RATE), writes: Some(RATE), ..CallerLimits::default() };
    let (world, one, _) = world(limits).await;
    let answer = put(&world, &one).await.is(201);
    assert_eq!(answer.header("x-ms-ratelimit-remaining-subscription-resource-requests"), Some("2"));
    assert_eq!(answer.header("x-ms-ratelimit-burst-remaining-scheduler-writes"), Some("2"));
    let answer = world.send(asked(&one, "DELETE", "Nowhere", Body::empty())).await.is(404);
    assert_eq!(answer.header("x-ms-ratelimit-remaining-subscription-writes"), Some("1"));
    let answer = world.send(asked(&one, "POST", "Jc/enable", Body::empty())).await.is(200);
    assert_eq!(answer.header("x-ms-ratelimit-remaining-subscription-writes"), Some("0"));
    put(&world, &one).await.refused(429, "TooManyRequests");
    get(&world, &one).await.is(200);
}

#[tokio::test]
async fn bytes_of_bodies_are_counted() {
    let body_bytes = Some(Rate { per_second: 10.0, burst: 100.0 });
    let (world, one, other) = world(CallerLimits { body_bytes, ..CallerLimits::default() }).await;
    for _ in 0..4 {
        put(&world, &one).await.is(201); // 22 bytes
    }
    let answer = put(&world, &one).await;
    assert_eq!(answer.header("retry-after"), Some("1"));
    answer.refused(429, "TooManyRequests");
    // What has no body costs none.
    get(&world, &one).await.is(200);
    // A length that is not told counts as the largest.
    let body =
        Body::from_stream(stream::iter([Ok::<_, std::io::Error>(Bytes::from(r#"{"location": "West US"}"#))]));
    world.send(asked(&other, "PUT", "Jc", body)).await.is(201);
    put(&world, &other).await.is(429);
}

#[tokio::test(start_paused = true)]
async fn a_caller_with_too_much_under_way_leaves_the_others_served() {
    let (world, one, other) = world(CallerLimits { in_flight_max: Some(2), ..CallerLimits::default() }).await;
    let silent = || Body::from_stream(stream::pending::<Result<Bytes, std::io::Error>>());
    let hanging = async { world.send(asked(&one, "PUT", "Jc", silent())).await };
    let others = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let message = get(&world, &one).await.refused(429, "TooManyRequests");
        assert!(message.contains("limits.in_flight"), "{message}");
        put(&world, &other).await.is(201);
    };
    let second = async { world.send(asked(&one, "PUT", "Jc", silent())).await };
    let (first, second, ()) = tokio::join!(hanging, second, others);
    first.refused(408, "RequestTimeout");
    second.refused(408, "RequestTimeout");
    get(&world, &one).await.is(200);
}

#[tokio::test]
async fn whoever_needs_no_token_is_not_limited() {
    let limits = CallerLimits {
        reads: Some(RATE),
        writes: Some(RATE),
        in_flight_max: Some(1),
        ..CallerLimits::default()
    };
    let world = World::build(Settings { caller_limits: limits, ..Settings::default() }, AccessMode::Off);
    for _ in 0..20 {
        let answer = world.get("/doctor").await.is(200);
        assert_eq!(answer.header("x-ms-ratelimit-remaining-subscription-reads"), None);
    }
    let (world, _, _) = self::world(limits).await;
    for _ in 0..20 {
        world.get("/healthz").await.is(200);
    }
}

#[tokio::test(start_paused = true)]
async fn failures_to_sign_in_slow_down_where_they_come_from() {
    let sign_in_failures = Some(Rate { per_second: 0.1, burst: 3.0 });
    let (world, one, _) = world(CallerLimits { sign_in_failures, ..CallerLimits::default() }).await;
    let wrong = format!("pct_{}", "a".repeat(49));
    let from = async |peer: &str, token: Option<&str>| {
        let mut request = asked(token.unwrap_or_default(), "GET", "/doctor", Body::empty());
        if token.is_none() {
            request.headers_mut().remove(header::AUTHORIZATION);
        }
        request.extensions_mut().insert(Peer(peer.parse::<SocketAddr>().unwrap()));
        let since = tokio::time::Instant::now();
        (world.send(request).await, since.elapsed())
    };
    for _ in 0..3 {
        let (answer, took) = from("192.0.2.1:1", Some(&wrong)).await;
        answer.refused(401, "InvalidAuthenticationToken");
        assert_eq!(took, Duration::ZERO);
    }
    let (answer, took) = from("192.0.2.1:2", Some(&wrong)).await;
    assert_eq!((answer.header("retry-after"), took), (Some("10"), Duration::from_secs(1)));
    answer.refused(429, "TooManyRequests");
    // Others from there, and the same from elsewhere, are not concerned.
    let (answer, took) = from("192.0.2.1:3", Some(&one)).await;
    assert_eq!((answer.status, took), (200, Duration::ZERO));
    let (answer, _) = from("192.0.2.1:4", None).await;
    answer.refused(401, "AuthenticationFailed");
    let (answer, _) = from("192.0.2.2:1", Some(&wrong)).await;
    answer.refused(401, "InvalidAuthenticationToken");
}
