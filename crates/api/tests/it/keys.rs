//! The keys that seal, over the API.

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
async fn keys_are_shown_rotated_and_retired_by_an_owner_and_that_is_noted() {
    let world = World::with_access(AccessMode::Auto);
    let owner = world.token("olga", &[(Role::Owner, "/")]).await;
    let shown = call(&world, &owner, "GET", "/keys").await.is(200).body;
    assert_eq!(
        shown,
        json!({
            "source": "nowhere",
            "keys": [{"id": 1, "madeAt": null, "state": "seals", "jobCount": 3, "serverSecretCount": 2}],
            "resealing": {"key": 1, "done": true, "jobDoneCount": 3, "jobCount": 3},
            "notes": [],
        })
    );
    let rotated = call(&world, &owner, "POST", "/keys/rotate").await.is(200).body;
    assert_eq!(rotated["keys"][0]["id"], 2);
    let message = call(&world, &owner, "POST", "/keys/2/retire").await.refused(409, "Conflict");
    assert_eq!(message, "Key 2 is the one that seals.");
    for unknown in ["7", "0", "x", "-1", "99999999999"] {
        let message =
            call(&world, &owner, "POST", &format!("/keys/{unknown}/retire")).await.refused(404, "NotFound");
        assert_eq!(message, format!("There is no key {unknown}."));
    }
    call(&world, &owner, "POST", "/keys/1/retire").await.is(200);
    let entries = call(&world, &owner, "GET", "/audit").await.is(200).body;
    let told: Vec<String> = entries["value"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|entry| entry["action"].as_str().unwrap().contains("/keys/"))
        .map(|entry| format!("{} {} {}", entry["caller"]["name"], entry["action"], entry["subject"]))
        .collect();
    assert_eq!(
        told,
        [
            "\"olga\" \"Punctual/keys/retire/action\" \"key 1\"",
            "\"olga\" \"Punctual/keys/rotate/action\" \"key 2\"",
        ]
    );
}

#[tokio::test]
async fn keys_are_of_our_own_version_only() {
    let world = World::empty();
    let answer = world.get("/keys?api-version=2016-03-01").await;
    assert_eq!(answer.status, 400, "{}", answer.text);
}
