//! The nodes, over the API.

use axum::body::Body;
use http::{Request, header};
use punctual_api::AccessMode;
use punctual_model::access::Role;
use serde_json::json;

use crate::world::{Answer, World, target};

async fn call(world: &World, token: &str, method: &str, path: &str) -> Answer {
    let path = format!("{path}?api-version=2026-11-01");
    let request = Request::builder().method(method).uri(target(&path));
    let request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
    world.send(request.body(Body::empty()).unwrap()).await
}

#[tokio::test]
async fn a_server_that_has_its_store_for_itself_is_one_node_that_nobody_can_drain() {
    let world = World::with_access(AccessMode::Auto);
    let owner = world.token("olga", &[(Role::Owner, "/")]).await;
    let shown = call(&world, &owner, "GET", "/nodes").await.is(200).body;
    assert_eq!(shown["value"].as_array().unwrap().len(), 1);
    let node = &shown["value"][0];
    assert_eq!(
        (&node["self"], &node["drained"], &node["inFlight"]),
        (&json!(true), &json!(false), &json!(0))
    );
    assert_eq!(
        (&shown["takeoverSeconds"], &node["url"], &node["reason"]),
        (&json!(null), &json!(null), &json!(null))
    );
    for verb in ["drain", "undrain"] {
        let message =
            call(&world, &owner, "POST", &format!("/nodes/this/{verb}")).await.refused(409, "Conflict");
        assert!(message.contains("for itself"), "{message}");
    }
}
