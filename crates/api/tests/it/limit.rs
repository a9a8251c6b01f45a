//! What is refused before it is looked at.

use std::collections::BTreeSet;

use axum::body::{Body, Bytes};
use futures_util::stream;
use http::header;
use punctual_api::ROUTES;
use punctual_model::Level;
use serde_json::json;

use crate::world::{World, http, request};

#[tokio::test]
async fn a_body_of_more_than_64_kib_is_not_read() {
    let world = World::new().await;
    let body = format!("{{{}}}", " ".repeat(64 * 1024));
    let answer = world.call("PUT", "Jc/jobs/one", body.into()).await;
    answer.refused(413, "RequestContentTooLarge");
    // Not even one that never ends.
    let endless = stream::repeat_with(|| Ok::<_, std::io::Error>(Bytes::from_static(&[b' '; 4096])));
    let answer = world.call("PUT", "Jc/jobs/one", Body::from_stream(endless)).await;
    answer.refused(413, "RequestContentTooLarge");
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_arrive_is_not_waited_for() {
    let world = World::new().await;
    let silent = stream::pending::<Result<Bytes, std::io::Error>>();
    let answer = world.call("PUT", "Jc/jobs/one", Body::from_stream(silent)).await;
    answer.refused(408, "RequestTimeout");
}

#[tokio::test]
async fn a_job_of_more_than_16_kib_is_refused() {
    let world = World::new().await;
    let large = |length: usize| http(json!({"body": "x".repeat(length)}));
    let mut action = large(8000);
    action["errorAction"] = large(8000);
    let answer = world.put_job("one", json!({"action": action})).await;
    answer.is(201);
    action["errorAction"]["errorAction"] = large(8000);
    world.put_job("one", json!({"action": action})).await.refused(400, "BadRequest");
}

#[tokio::test]
async fn depth_is_bounded() {
    let world = World::new().await;
    for body in ["[".repeat(60_000), "{\"a\":".repeat(10_000)] {
        world.call("PUT", "Jc/jobs/one", body.clone().into()).await.refused(400, "BadRequest");
        world.call("PATCH", "Jc", body.into()).await.refused(400, "BadRequest");
    }
}

#[tokio::test]
async fn a_target_of_more_than_8_kib_is_not_looked_at() {
    let world = World::new().await;
    world.get(&format!("Jc/jobs?$filter={}", "a".repeat(8 * 1024))).await.refused(414, "UriTooLong");
    world.get(&format!("Jc/jobs/{}", "a".repeat(8 * 1024))).await.refused(414, "UriTooLong");
}

#[tokio::test]
async fn headers_of_more_than_64_kib_or_more_than_100_are_not_looked_at() {
    let world = World::new().await;
    let large = "x".repeat(64 * 1024);
    let message = world.send(request("GET", "Jc", (header::COOKIE, &large))).await;
    let message = message.refused(431, "RequestHeaderFieldsTooLarge");
    assert!(message.contains("65536 bytes and 100 headers"), "{message}");
    let mut many = request("GET", "Jc", (header::ACCEPT, "*/*"));
    for number in 0..100 {
        many.headers_mut().append(header::COOKIE, number.into());
    }
    world.send(many).await.refused(431, "RequestHeaderFieldsTooLarge");
    world.send(request("GET", "Jc", (header::COOKIE, &large[..60_000]))).await.is(200);
}

#[tokio::test]
async fn the_limits_of_a_request_are_those_of_the_original() {
    let world = World::new().await;
    let check = async |more: serde_json::Value, fits: bool| {
        let answer = world.put_job("one", json!({"action": http(more)})).await;
        assert_eq!(answer.status < 300, fits, "{}", answer.text);
    };
    let uri = |length: usize| json!({"uri": format!("http://a/{}", "x".repeat(length - 9))});
    check(uri(2048), true).await;
    check(uri(2049), false).await;
    check(json!({"body": "ä".repeat(8000)}), true).await;
    check(json!({"body": "x".repeat(8193)}), false).await;
    let headers = |count: usize| -> serde_json::Map<_, _> {
        (0..count).map(|number| (format!("h{number}"), json!("v"))).collect()
    };
    check(json!({"headers": headers(50)}), true).await;
    check(json!({"headers": headers(51)}), false).await;
    check(json!({"headers": {"a": "x".repeat(4095)}}), true).await;
    check(json!({"headers": {"a": "x".repeat(4096)}}), false).await;
    check(json!({"headers": {"a": "b\r\nc: d"}}), false).await;
}

#[tokio::test]
async fn a_method_that_a_path_does_not_have_is_told_which_it_has() {
    let world = World::new().await;
    let check = async |method: &str, path: &str, allow: &str| {
        let answer = world.call(method, path, Body::empty()).await;
        assert_eq!(answer.header("allow"), Some(allow), "{method} {path}");
        answer.refused(405, "MethodNotAllowed");
    };
    check("POST", "Jc", "GET, HEAD, PUT, PATCH, DELETE").await;
    check("GET", "Jc/enable", "POST").await;
    check("DELETE", "Jc/jobs", "GET").await;
    check("TRACE", "Jc/jobs/one", "GET, HEAD, PUT, PATCH, DELETE").await;
    check("PUT", "/healthz", "GET, HEAD").await;
    check("PATCH", "/subscriptions/s/resourcegroups/Rg", "GET, HEAD, PUT, DELETE").await;
}

#[tokio::test]
async fn the_part_of_a_path_that_is_wrong_is_named() {
    let world = World::empty();
    let check = async |method: &str, path: &str, expected: &str| {
        let message = world.call(method, path, Body::empty()).await.refused(404, "NotFound");
        assert_eq!(message, expected, "{path}");
    };
    let known = |level: Level| {
        let tails = ROUTES.iter().filter(|route| route.level == level && !route.tail.is_empty());
        let tails: BTreeSet<&str> = tails.map(|route| route.tail).collect();
        format!("There are: {}.", tails.into_iter().collect::<Vec<_>>().join(", "))
    };
    let job = known(Level::Job);
    check("POST", "Jc/jobs/x/start", &format!("There is no operation 'start' on the job 'x'. {job}")).await;
    check("GET", "Jc/jobs/x/run/1", &format!("There is no operation 'run/1' on the job 'x'. {job}")).await;
    check(
        "GET",
        "Jc/jobs/x/histroy",
        "There is no operation 'histroy' on the job 'x'. Did you mean 'history'?",
    )
    .await;
    let collection = known(Level::Collection);
    let expected = format!("There is no operation 'tasks/x' on the job collection 'Jc'. {collection}");
    check("GET", "Jc/tasks/x", &expected).await;
    let misspelt = "/subscriptions/s/resourceGroups/Rg/providers/Microsoft.Schedular/jobCollections";
    let meant = "'providers/Microsoft.Scheduler/jobCollections'";
    let group =
        "There is no operation 'providers/Microsoft.Schedular/jobCollections' on the resource group 'Rg'.";
    check("GET", misspelt, &format!("{group} Did you mean {meant}?")).await;
    let server = "There is no operation 'helthz' on this server. Did you mean 'healthz'?";
    check("GET", "/helthz", server).await;
}

#[tokio::test]
async fn a_path_that_nobody_has_is_not_found() {
    let world = World::empty();
    for path in ["/nope", "/tenants/t", "Jc/tasks", "Jc/jobs/one/stop", "Jc/jobs/one/run/1", "Jc//tasks"] {
        world.get(path).await.refused(404, "NotFound");
    }
}
