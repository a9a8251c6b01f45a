//! Tokens over the API.

use axum::body::Body;
use http::{Request, header};
use punctual_api::AccessMode;
use punctual_model::access::Role;
use serde_json::{Value, json};

use crate::world::{Answer, World};

async fn send(world: &World, token: &str, method: &str, path: &str, body: Value) -> Answer {
    let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
    world.call_as(Some(token), method, &format!("{path}?api-version=2026-11-01"), body).await
}

async fn guarded() -> (World, String) {
    let world = World::with_access(AccessMode::Auto);
    let owner = world.token("owner", &[(Role::Owner, "/")]).await;
    (world, owner)
}

#[tokio::test]
async fn a_token_lives_from_its_creation_to_its_revocation() {
    let (world, owner) = guarded().await;
    let grants =
        json!([{"role": "reader", "scope": "/subscriptions/s1"}, {"role": "operator", "scope": "/"}]);
    let created =
        send(&world, &owner, "POST", "/tokens", json!({"name": "ci", "grants": grants})).await.is(201);
    assert_eq!(created.header("cache-control"), Some("no-store"));
    let secret = created.body["token"].as_str().unwrap().to_owned();
    let mut shown = created.body.clone();
    shown.as_object_mut().unwrap().remove("token");
    assert_eq!(
        shown,
        json!({"id": shown["id"], "name": "ci", "grants": grants, "createdAt": "2026-11-15T12:00:00Z",
            "expiresAt": null, "lastUsedAt": null})
    );
    let path = format!("/tokens/{}", created.body["id"].as_str().unwrap());
    assert_eq!(send(&world, &owner, "GET", &path, Value::Null).await.is(200).body, shown);
    let listed = send(&world, &owner, "GET", "/tokens", Value::Null).await.is(200);
    assert_eq!(listed.names(), ["ci", "owner"]);
    assert_eq!(listed.body["value"][0], shown);
    assert!(!listed.text.contains("pct_"), "{}", listed.text);

    let read = async |secret: &str| send(&world, secret, "GET", "/doctor", Value::Null).await.status;
    assert_eq!(read(&secret).await, 200);
    let rotated = send(&world, &owner, "POST", &format!("{path}/rotate"), Value::Null).await.is(200);
    assert_eq!(rotated.header("cache-control"), Some("no-store"));
    let new_secret = rotated.body["token"].as_str().unwrap().to_owned();
    assert_ne!(new_secret, secret);
    assert_eq!(rotated.body["id"], created.body["id"]);
    assert_eq!((read(&secret).await, read(&new_secret).await), (401, 200));

    send(&world, &owner, "DELETE", &path, Value::Null).await.is(200);
    assert_eq!(read(&new_secret).await, 401);
    for method in ["GET", "DELETE"] {
        let message = send(&world, &owner, method, &path, Value::Null).await.refused(404, "NotFound");
        assert!(message.starts_with("There is no token with the id "), "{message}");
    }
}

#[tokio::test]
async fn what_can_t_be_a_token_is_told_with_every_problem() {
    let (world, owner) = guarded().await;
    let wrong =
        json!({"name": "", "grants": [{"role": "boss", "scope": "x"}], "expiresAt": "yesterday", "scope": 1});
    let message = send(&world, &owner, "POST", "/tokens", wrong).await.refused(400, "BadRequest");
    for part in
        ["scope: unknown member", "name: ''", "grants[0].role: 'boss'", "grants[0].scope: 'x'", "expiresAt: "]
    {
        assert!(message.contains(part), "{part} is not in {message}");
    }
    let body = json!({"name": "OWNER", "grants": [{"role": "reader", "scope": "/"}]});
    let message = send(&world, &owner, "POST", "/tokens", body).await.refused(409, "Conflict");
    assert!(message.starts_with("There is a token 'OWNER' already"), "{message}");
    let older = Request::get("/tokens?api-version=2016-03-01")
        .header(header::AUTHORIZATION, format!("Bearer {owner}"));
    let answer = world.send(older.body(Body::empty()).unwrap()).await;
    answer.refused(400, "InvalidApiVersionParameter");
}

#[tokio::test]
async fn an_owner_of_a_scope_manages_what_lies_within_it() {
    let (world, owner) = guarded().await;
    let team = world.token("team", &[(Role::Owner, "/subscriptions/s1")]).await;
    world.token("wide", &[(Role::Reader, "/subscriptions/s1"), (Role::Reader, "/subscriptions/s2")]).await;
    let group = "/subscriptions/S1/resourceGroups/g1";
    let body = |name: &str, scope: &str| json!({"name": name, "grants": [{"role": "owner", "scope": scope}]});
    let created = send(&world, &team, "POST", "/tokens", body("mine", group)).await.is(201);
    for scope in ["/", "/subscriptions/s2"] {
        let message = send(&world, &team, "POST", "/tokens", body("other", scope))
            .await
            .refused(403, "AuthorizationFailed");
        assert!(message.ends_with(&format!("'Punctual/tokens/write' over scope '{scope}'.")), "{message}");
    }
    let listed = send(&world, &team, "GET", "/tokens", Value::Null).await.is(200);
    assert_eq!(listed.names(), ["mine", "team"]);
    let (wide, nobody) = (world.token_id("wide").await, "00000000-0000-4000-8000-000000000000");
    for (method, tail) in [("GET", ""), ("DELETE", ""), ("POST", "/rotate")] {
        let there = send(&world, &team, method, &format!("/tokens/{wide}{tail}"), Value::Null).await.is(403);
        let missing =
            send(&world, &team, method, &format!("/tokens/{nobody}{tail}"), Value::Null).await.is(403);
        assert_eq!(there.text, missing.text);
        send(&world, &owner, method, &format!("/tokens/{nobody}{tail}"), Value::Null).await.is(404);
    }
    let mine = format!("/tokens/{}", created.body["id"].as_str().unwrap());
    send(&world, &team, "DELETE", &mine, Value::Null).await.is(200);
}
