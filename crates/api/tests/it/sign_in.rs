//! Service principals: signing in by the id and the secret of a token, and what clients ask around it.

use std::sync::Arc;

use axum::body::Body;
use http::{Request, header};
use jiff::SignedDuration;
use punctual_api::AccessMode;
use punctual_jwt::{Parsed, PublicKey, SigningKey};
use punctual_model::access::Role;
use punctual_store::Callers;
use serde_json::{Value, json};

use crate::world::{Answer, SUBSCRIPTION, TENANT, World};

const CLAIMS_CHALLENGE: &str = "Bearer error=\"insufficient_claims\", claims=\"";

async fn post_form(world: &World, path: &str, form: &str) -> Answer {
    let request =
        Request::post(path).header(header::HOST, "localhost:1").body(Body::from(form.to_owned())).unwrap();
    world.send(request).await
}

fn form(id: &str, secret: &str) -> String {
    format!(
        "grant_type=client_credentials&client_id={id}&client_secret={secret}&scope=https%3A%2F%2Fh%2F%2F.default"
    )
}

async fn sign_in(world: &World, id: &str, secret: &str) -> String {
    let answer = post_form(world, "/adfs/oauth2/token", &form(id, secret)).await.is(200);
    answer.body["access_token"].as_str().unwrap().to_owned()
}

async fn get(world: &World, token: &str, path: &str) -> Answer {
    call(world, token, "GET", path, "").await
}

async fn call(world: &World, token: &str, method: &str, path: &str, body: &str) -> Answer {
    world.call_as(Some(token), method, path, body.to_owned()).await
}

/// A server with a reader of the group `Rg`, its id and its secret, and an owner's secret.
async fn guarded() -> (World, String, String, String) {
    let world = World::with_access(AccessMode::Auto);
    let owner = world.token("owner", &[(Role::Owner, "/")]).await;
    let reader = world.token("reader", &[(Role::Reader, "/subscriptions/s/resourceGroups/Rg")]).await;
    call(&world, &owner, "PUT", "Jc", &json!({"location": "West US", "tags": {"a": "b"}}).to_string())
        .await
        .is(201);
    let id = world.token_id("reader").await;
    (world, id, reader, owner)
}

#[tokio::test]
async fn whoever_signs_in_may_do_what_the_token_may() {
    let (world, id, secret, _) = guarded().await;
    for path in [
        "/adfs/oauth2/token",
        "/adfs/oauth2/v2.0/token?client-request-id=1",
        "/anything/oauth2/token?api-version=1.0",
        "/adfs/my.org/oauth2/v2.0/token",
        "//ADFS//OAuth2/token/",
    ] {
        let answer = post_form(&world, path, &form(&id, &secret)).await.is(200);
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        assert_eq!(answer.body["token_type"], "Bearer");
        assert_eq!(answer.body["expires_in"], json!(3_600), "a number");
        assert_eq!(answer.body["expires_on"], json!("1794747600"));
        let token = answer.body["access_token"].as_str().unwrap();
        get(&world, token, "Jc").await.is(200);
        let message = call(&world, token, "DELETE", "Jc", "").await.refused(403, "AuthorizationFailed");
        assert!(
            message.starts_with(&format!("The client 'reader' with object id '{id}' does not have")),
            "{message}"
        );
        get(&world, token, "/doctor").await.is(403);
    }
    let upper = post_form(&world, "/t/oauth2/token", &form(&id.to_uppercase(), &secret)).await;
    upper.is(200);
}

#[tokio::test]
async fn what_is_issued_has_the_claims_that_clients_read_and_is_verified_by_the_published_key() {
    let (world, id, secret, _) = guarded().await;
    let token = sign_in(&world, &id, &secret).await;
    let keys = world.get("/common/discovery/keys").await.is(200);
    let key = PublicKey::from_jwk(&keys.body["keys"][0]).unwrap();
    assert_eq!(keys.body["keys"].as_array().unwrap().len(), 1);
    let claims = Parsed::read(&token).unwrap().verify(&key).unwrap();
    for (name, expected) in [
        ("aud", "http://localhost:1/"),
        ("iss", "http://localhost:1/adfs"),
        ("tid", TENANT),
        ("oid", &id),
        ("sub", &id),
        ("appid", &id),
        ("ver", "1.0"),
    ] {
        assert_eq!(claims.text(name), Some(expected), "{name}");
    }
    let times = ["iat", "nbf", "exp"].map(|name| claims.seconds(name).unwrap());
    assert_eq!(times, [1_794_744_000, 1_794_744_000, 1_794_747_600]);
    let parts: Vec<&str> = token.split('.').collect();
    assert_eq!(parts.len(), 3);
    assert!(!token.contains('='), "without padding");
}

#[tokio::test]
async fn wrong_credentials_are_refused_in_the_words_of_oauth() {
    let (world, id, secret, owner) = guarded().await;
    let check = async |form: String, status: u16, code: &str| {
        let answer = post_form(&world, "/adfs/oauth2/token", &form).await.is(status);
        assert_eq!(answer.body["error"], code, "{form}");
        let members: Vec<_> = answer.body.as_object().unwrap().keys().collect();
        assert_eq!(members, ["error", "error_description"]);
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        assert!(!answer.text.contains(&secret), "{}", answer.text);
        answer.body["error_description"].as_str().unwrap().to_owned()
    };
    let unknown = check(form(&id, "wrong"), 401, "invalid_client").await;
    // The secret of another, and another's id: neither shows which of the two is known.
    assert_eq!(check(form(&id, &owner), 401, "invalid_client").await, unknown);
    assert_eq!(check(form("nobody", &secret), 401, "invalid_client").await, unknown);
    assert_eq!(check(form("nobody", "wrong"), 401, "invalid_client").await, unknown);
    check(form(&id, &secret).replace("client_credentials", "password"), 400, "unsupported_grant_type").await;
    check(String::new(), 400, "invalid_request").await;
    check("x".repeat(70_000), 413, "invalid_request").await;
    let basic = Request::post("/adfs/oauth2/token").header(header::AUTHORIZATION, "Basic dTpw");
    let answer = world.send(basic.body(Body::from("grant_type=client_credentials")).unwrap()).await.is(401);
    assert_eq!(answer.header("www-authenticate"), Some("Basic realm=\"Punctual\""));
    world.get("/adfs/oauth2/token").await.is(401);
}

#[tokio::test]
async fn whoever_is_revoked_or_rotated_is_refused_at_once_and_asked_to_sign_in_anew() {
    for revoked in [true, false] {
        let (world, id, secret, owner) = guarded().await;
        let token = sign_in(&world, &id, &secret).await;
        get(&world, &token, "Jc").await.is(200);
        let (method, path) = if revoked { ("DELETE", "") } else { ("POST", "/rotate") };
        let changed = call(&world, &owner, method, &format!("/tokens/{id}{path}?api-version=2026-11-01"), "")
            .await
            .is(200);
        let refused = get(&world, &token, "Jc").await;
        assert!(refused.header("www-authenticate").unwrap().starts_with(CLAIMS_CHALLENGE));
        refused.refused(401, "InvalidAuthenticationToken");
        post_form(&world, "/adfs/oauth2/token", &form(&id, &secret)).await.is(401);
        if !revoked {
            let token = sign_in(&world, &id, changed.body["token"].as_str().unwrap()).await;
            get(&world, &token, "Jc").await.is(200);
        }
    }
}

#[tokio::test]
async fn what_is_issued_expires_after_an_hour_and_never_after_its_token() {
    let (world, id, secret, owner) = guarded().await;
    let token = sign_in(&world, &id, &secret).await;
    let body = json!({"name": "brief", "grants": [{"role": "reader", "scope": "/"}], "expiresAt": "2026-11-15T12:20:00Z"});
    let path = "/tokens?api-version=2026-11-01";
    let created = call(&world, &owner, "POST", path, &body.to_string()).await.is(201).body;
    let (brief_id, brief_secret) = (created["id"].as_str().unwrap(), created["token"].as_str().unwrap());
    let answer = post_form(&world, "/adfs/oauth2/token", &form(brief_id, brief_secret)).await.is(200);
    assert_eq!(answer.body["expires_in"], json!(1_200));
    world.advance(SignedDuration::from_secs(1_199));
    get(&world, answer.body["access_token"].as_str().unwrap(), "Jc").await.is(200);
    world.advance(SignedDuration::from_secs(1));
    let brief = get(&world, answer.body["access_token"].as_str().unwrap(), "Jc").await;
    brief.refused(401, "ExpiredAuthenticationToken");
    let answer = post_form(&world, "/adfs/oauth2/token", &form(brief_id, brief_secret)).await.is(401);
    assert!(answer.body["error_description"].as_str().unwrap().contains("expired at 2026-11-15T12:20:00Z"));
    world.advance(SignedDuration::from_secs(2_399));
    get(&world, &token, "Jc").await.is(200);
    world.advance(SignedDuration::from_secs(1));
    let expired = get(&world, &token, "Jc").await;
    assert!(expired.header("www-authenticate").unwrap().starts_with(CLAIMS_CHALLENGE));
    expired.refused(401, "ExpiredAuthenticationToken");
}

#[tokio::test]
async fn what_others_have_signed_is_refused() {
    let (world, id, secret, _) = guarded().await;
    let made_up = SigningKey::new(&[7; 32]).unwrap();
    let claims = json!({"appid": id, "secret_fingerprint": "", "nbf": 0, "exp": 4_000_000_000_i64});
    // Before there is a key, and after.
    for _ in 0..2 {
        get(&world, &made_up.sign(&claims), "Jc").await.refused(401, "InvalidAuthenticationToken");
        sign_in(&world, &id, &secret).await;
    }
    let token = sign_in(&world, &id, &secret).await;
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let (header, body) = signed.split_once('.').unwrap();
    for forged in [
        format!("{signed}."),
        format!("{signed}.{}A", &signature[..signature.len() - 2]),
        // {"alg":"none","typ":"JWT"}
        format!("eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0.{body}."),
        format!("{header}.{}.{signature}", body.replace('A', "B")),
    ] {
        let refused = get(&world, &forged, "Jc").await;
        assert!(refused.header("www-authenticate").unwrap().starts_with(CLAIMS_CHALLENGE));
        refused.refused(401, "InvalidAuthenticationToken");
    }
    get(&world, &token, "Jc").await.is(200);
}

#[tokio::test]
async fn whatever_is_made_of_a_jwt_is_refused_in_one_of_a_few_ways() {
    let (world, id, secret, _) = guarded().await;
    let token = sign_in(&world, &id, &secret).await;
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = move || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    let letters = b"ABCXYZabcxyz0189-_.={";
    let mut messages = std::collections::BTreeSet::new();
    for _ in 0..3_000 {
        let mut bytes = token.clone().into_bytes();
        for _ in 0..=next() % 4 {
            let place = usize::try_from(next()).unwrap() % bytes.len();
            let letter = letters[usize::try_from(next()).unwrap() % letters.len()];
            match next() % 4 {
                0 => bytes[place] = letter,
                1 => bytes.truncate(place.max(1)),
                2 => bytes.insert(place, letter),
                _ => bytes.extend_from_within(place..),
            }
        }
        let changed = String::from_utf8(bytes).unwrap();
        if changed != token && changed.len() < 60_000 {
            messages.insert(get(&world, &changed, "Jc").await.refused(401, "InvalidAuthenticationToken"));
        }
    }
    assert!(messages.len() <= 3, "{messages:?}");
    get(&world, &token, "Jc").await.is(200);
}

#[tokio::test]
async fn the_key_is_made_once_and_shared_by_all_nodes_of_a_store() {
    let (world, id, secret, _) = guarded().await;
    let token = sign_in(&world, &id, &secret).await;
    let other = World::on(Arc::clone(&world.store), AccessMode::Auto);
    other.access.refresh().await.unwrap();
    get(&other, &token, "Jc").await.is(200);
    let keys = async |world: &World| world.get("/common/discovery/keys").await.is(200).body;
    assert_eq!(keys(&world).await, keys(&other).await);
    let back = sign_in(&other, &id, &secret).await;
    get(&world, &back, "Jc").await.is(200);
    assert!(world.store.server_secret("signing key").await.unwrap().is_some());
}

#[tokio::test]
async fn a_sign_in_counts_as_a_use_of_the_token() {
    let (world, id, secret, owner) = guarded().await;
    world.advance(SignedDuration::from_secs(90));
    let token = sign_in(&world, &id, &secret).await;
    let used = async || {
        let listed = get(&world, &owner, &format!("/tokens/{id}?api-version=2026-11-01")).await.is(200);
        listed.body["lastUsedAt"].as_str().unwrap().to_owned()
    };
    assert_eq!(used().await, "2026-11-15T12:01:30Z");
    world.advance(SignedDuration::from_secs(30));
    get(&world, &token, "Jc").await.is(200);
    assert_eq!(used().await, "2026-11-15T12:02:00Z");
}

#[tokio::test]
async fn where_everybody_may_do_everything_signing_in_works_too_and_gives_nothing() {
    let world = World::with_access(AccessMode::Auto);
    world.access.refresh().await.unwrap();
    let token = sign_in(&world, "anything", "anything").await;
    call(&world, &token, "PUT", "Jc", r#"{"location": "West US"}"#).await.is(201);
    world.token("first", &[(Role::Owner, "/")]).await;
    get(&world, &token, "Jc").await.refused(401, "InvalidAuthenticationToken");
    post_form(&world, "/adfs/oauth2/token", &form("anything", "anything")).await.is(401);
}

#[tokio::test]
async fn the_documents_that_clients_look_for_need_no_token() {
    let (world, ..) = guarded().await;
    let get = async |path: &str| {
        let request = Request::get(path).header(header::HOST, "localhost:1").body(Body::empty()).unwrap();
        world.send(request).await
    };
    let found = get("/adfs/.well-known/openid-configuration").await.is(200).body;
    assert_eq!(found["issuer"], "http://localhost:1/adfs");
    assert_eq!(found["token_endpoint"], "http://localhost:1/adfs/oauth2/token");
    assert_eq!(found["jwks_uri"], "http://localhost:1/common/discovery/keys");
    let found = get("/adfs/my.org/v2.0/.well-known/openid-configuration").await.is(200).body;
    assert_eq!(found["issuer"], format!("http://localhost:1/{TENANT}"));
    let found = get("//metadata/endpoints?api-version=2015-01-01").await.is(200).body;
    assert_eq!(found["authentication"]["loginEndpoint"], "http://localhost:1/adfs");
    assert!(get("/metadata/endpoints?api-version=2019-05-01").await.is(200).body.is_array());
    get("/metadata/endpoints").await.refused(400, "MissingApiVersionParameter");
    let found = get("/.well-known/webfinger?rel=x&resource=y").await.is(200).body;
    assert_eq!(found["links"][0]["href"], "http://localhost:1");
}

#[tokio::test]
async fn subscriptions_are_those_of_the_settings_of_groups_and_of_grants() {
    let (world, id, secret, owner) = guarded().await;
    let listed = async |token: &str| {
        let answer = get(&world, token, "/subscriptions/?api-version=2022-12-01").await.is(200);
        let names = answer.body["value"].as_array().unwrap().iter();
        names.map(|one| one["subscriptionId"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(listed(&owner).await, [SUBSCRIPTION, "s"]);
    let reader = sign_in(&world, &id, &secret).await;
    assert_eq!(listed(&reader).await, ["s"]);
    let elsewhere =
        world.token("elsewhere", &[(Role::Contributor, "/subscriptions/New/resourceGroups/g")]).await;
    assert_eq!(listed(&elsewhere).await, ["New"]);

    let one = get(&world, &owner, &format!("/subscriptions/{SUBSCRIPTION}")).await.is(200).body;
    let expected = json!({"id": format!("/subscriptions/{SUBSCRIPTION}"), "subscriptionId": SUBSCRIPTION,
        "tenantId": TENANT, "displayName": SUBSCRIPTION, "state": "Enabled"});
    assert_eq!(one, expected);
    get(&world, &owner, "/subscriptions/other").await.refused(404, "SubscriptionNotFound");
    get(&world, &reader, "/subscriptions/other").await.refused(403, "AuthorizationFailed");
    let tenants = get(&world, &reader, "/tenants").await.is(200).body;
    assert_eq!(tenants["value"], json!([{"id": format!("/tenants/{TENANT}"), "tenantId": TENANT}]));
    let locations = get(&world, &reader, "/subscriptions/s/locations").await.is(200).body;
    assert_eq!(locations["value"][0]["name"], "northcentralus");
    get(&world, &reader, "/subscriptions/other/locations").await.is(403);
}

#[tokio::test]
async fn resources_are_filtered_and_only_those_that_the_caller_may_read_are_shown() {
    let (world, _, reader, owner) = guarded().await;
    for (group, name) in [("Rg", "Second"), ("Other", "Jc"), ("Other", "Third")] {
        let path = format!(
            "/subscriptions/s/resourceGroups/{group}/providers/Microsoft.Scheduler/jobCollections/{name}"
        );
        call(&world, &owner, "PUT", &path, r#"{"location": "West US"}"#).await.is(201);
    }
    let names = |answer: &Answer| -> Vec<String> {
        let values = answer.body["value"].as_array().unwrap().iter();
        values.map(|one| one["id"].as_str().unwrap().rsplit('/').next().unwrap().to_owned()).collect()
    };
    let check = async |token: &str, query: &str, expected: &[&str]| {
        let path = format!(
            "/subscriptions/s/{query}{}api-version=2021-04-01",
            if query.contains('?') { "&" } else { "?" }
        );
        let answer = get(&world, token, &path.replace(' ', "%20")).await.is(200);
        assert_eq!(names(&answer), expected, "{query}");
        answer
    };
    let all = check(&owner, "resources", &["Jc", "Third", "Jc", "Second"]).await;
    let expected = json!({"id": "/subscriptions/s/resourceGroups/Rg/providers/Microsoft.Scheduler/jobCollections/Jc",
        "name": "Jc", "type": "Microsoft.Scheduler/jobCollections", "location": "West US", "tags": {"a": "b"}});
    assert_eq!(all.body["value"][2], expected);
    check(&reader, "resources", &["Jc", "Second"]).await;
    check(&owner, "resourceGroups/rg/resources", &["Jc", "Second"]).await;
    check(
        &owner,
        "resources?$filter=resourceGroup eq 'RG'&$expand=createdTime,changedTime",
        &["Jc", "Second"],
    )
    .await;
    check(&owner, "resources?$filter=name eq 'jc'", &["Jc", "Jc"]).await;
    check(&owner, "resources?$filter=resourceGroup eq 'other' and name eq 'third'", &["Third"]).await;
    check(&reader, "resources?$filter=resourceGroup eq 'other'", &[]).await;
    check(&owner, "resources?$filter=resourceType eq 'Microsoft.Storage/storageAccounts'", &[]).await;
    check(&owner, "resourceGroups/Rg/resources?$filter=resourceGroup eq 'other'", &[]).await;
    get(&world, &owner, "/subscriptions/s/resources?$filter=tagName%20eq%20'a'")
        .await
        .refused(400, "BadRequest");
    let first = check(&owner, "resources?$top=3", &["Jc", "Third", "Jc"]).await;
    let next = first.body["nextLink"].as_str().unwrap().strip_prefix("http://localhost").unwrap().to_owned();
    let second = get(&world, &owner, &next).await.is(200);
    assert_eq!((names(&second), &second.body["nextLink"]), (vec!["Second".to_owned()], &Value::Null));
}

#[tokio::test]
async fn whether_a_resource_exists_is_answered_without_a_body() {
    let (world, _, reader, _) = guarded().await;
    let head = async |path: &str| call(&world, &reader, "HEAD", path, "").await.status;
    assert_eq!(head("Jc").await, 204);
    assert_eq!(
        head("/subscriptions/s/resourcegroups/RG/providers/microsoft.scheduler//jobcollections/JC/").await,
        204
    );
    assert_eq!(head("No").await, 404);
    assert_eq!(head("Jc/jobs/j").await, 404);
    assert_eq!(head("Jc?api-version=2021-04-01").await, 400);
}
