//! `GET /metrics`.

use axum::body::Body;
use http::{Request, header};
use punctual_api::{AccessMode, ROUTES};
use punctual_model::access::Role;

use crate::world::{Answer, World};

async fn scrape(world: &World, accept: &str) -> Answer {
    let request = Request::builder().uri("/metrics").header(header::ACCEPT, accept);
    world.send(request.body(Body::empty()).unwrap()).await.is(200)
}

/// The value of a sample.
#[track_caller]
fn value<'a>(text: &'a str, sample: &str) -> &'a str {
    let found = text.lines().find_map(|line| line.strip_prefix(sample)?.strip_prefix(' '));
    found.unwrap_or_else(|| panic!("no {sample} in\n{text}"))
}

fn requests(operation: &str, status: &str) -> String {
    format!("punctual_api_requests_total{{operation=\"{operation}\",status=\"{status}\"}}")
}

#[tokio::test]
async fn requests_are_counted_by_operation_and_status() {
    let world = World::new().await;
    world.get("Jc/jobs/none").await.is(404);
    world.get("Jc/jobs/none").await.is(404);
    world.get("Jc").await.is(200);
    let text = scrape(&world, "*/*").await.text;
    assert_eq!(value(&text, &requests("putCollection", "2xx")), "1");
    assert_eq!(value(&text, &requests("getJob", "4xx")), "2");
    assert_eq!(value(&text, &requests("getCollection", "2xx")), "1");
    assert_eq!(value(&text, &requests("metrics", "2xx")), "0", "it is counted when it is answered");
    let duration = "punctual_api_request_duration_seconds_count{operation=\"getJob\"}";
    assert_eq!(value(&text, duration), "2");
    let text = scrape(&world, "*/*").await.text;
    assert_eq!(value(&text, &requests("metrics", "2xx")), "1");
}

#[tokio::test]
async fn what_has_no_operation_makes_no_series() {
    let world = World::empty();
    let series = |text: &str| text.lines().filter(|line| !line.starts_with('#')).count();
    let before = series(&scrape(&world, "").await.text);
    for count in 0..50 {
        world.call("GET", &format!("/nothing/{count}"), Body::empty()).await;
        world.call(&format!("ODD{count}"), "/doctor", Body::empty()).await;
    }
    let text = scrape(&world, "").await.text;
    assert_eq!(series(&text), before);
    assert_eq!(value(&text, &requests("none", "4xx")), "100");
    for route in ROUTES {
        value(&text, &requests(route.name, "5xx"));
    }
}

#[tokio::test]
async fn the_format_is_the_one_that_is_asked_for() {
    let world = World::empty();
    let classic = scrape(&world, "text/plain").await;
    assert_eq!(classic.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    assert_eq!((classic.header("vary"), classic.header("cache-control")), (Some("Accept"), Some("no-cache")));
    assert!(classic.text.contains("# TYPE punctual_attempts_total counter\n"), "{}", classic.text);
    let open = scrape(&world, "application/openmetrics-text;version=1.0.0,text/plain;q=0.5").await;
    let expected = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert_eq!(open.header("content-type"), Some(expected));
    assert!(open.text.contains("# TYPE punctual_attempts counter\n"), "{}", open.text);
    assert!(open.text.ends_with("# EOF\n"));
}

#[tokio::test]
async fn it_takes_reader_on_everything_or_the_listener_for_monitoring() {
    let world = World::with_access(AccessMode::Auto);
    let all = world.token("all", &[(Role::Reader, "/")]).await;
    let one = world.token("one", &[(Role::Owner, "/subscriptions/s")]).await;
    world.call_as(None, "GET", "/metrics", Body::empty()).await.is(401);
    world.call_as(Some(&one), "GET", "/metrics", Body::empty()).await.is(403);
    world.call_as(Some(&all), "GET", "/metrics", Body::empty()).await.is(200);
    let request = Request::builder().uri("/metrics").header(header::HOST, "127.0.0.1:8382");
    let text = world.monitor(request.body(Body::empty()).unwrap()).await.is(200).text;
    // Whoever was refused is counted, too.
    assert_eq!(value(&text, &requests("metrics", "4xx")), "2");
    assert_eq!(value(&text, &requests("metrics", "2xx")), "1");
    let request = Request::builder().uri("/tokens").header(header::HOST, "127.0.0.1:8382");
    let text = world.monitor(request.body(Body::empty()).unwrap()).await.is(404).text;
    assert!(!text.contains("punctual_"), "{text}");
}
