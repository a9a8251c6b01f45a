//! Who may do what.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use http::{Request, header};
use jiff::SignedDuration;
use punctual_api::{AccessMode, ROUTES, Route};
use punctual_model::Level;
use punctual_model::access::Role;
use punctual_store::Callers;
use serde_json::json;

use crate::world::{Answer, World, job, target};

const GROUP: &str = "/subscriptions/s/resourceGroups/Rg";
const COLLECTION: &str = "/subscriptions/s/resourceGroups/Rg/providers/Microsoft.Scheduler/jobCollections/Jc";

/// What the contract asks for each operation: a role on all of the scope, or on something in it (`in`); to say who one is
/// (`anybody`), or not even that (`nobody`).
const CONTRACT: &str = "
    welcome                       reader in
    live                          nobody
    ready                         nobody
    doctor                        reader
    metrics                       reader
    describe                      reader
    cloudMetadata                 nobody
    openIdConfiguration           nobody
    listSigningKeys               nobody
    webfinger                     nobody
    issueToken                    nobody
    me                            anybody
    signIn                        nobody
    signOut                       anybody
    listSignInWays                nobody
    beginOpenIdSignIn             nobody
    finishOpenIdSignIn            nobody
    listSessions                  owner
    endSessions                   owner
    endSession                    owner
    listTokens                    owner in
    createToken                   owner in
    getToken                      owner
    revokeToken                   owner
    rotateToken                   owner
    listKeys                      owner
    rotateKeys                    owner
    retireKey                     owner
    listNodes                     reader
    drainNode                     owner
    undrainNode                   owner
    listTenants                   reader in
    listSubscriptions             reader in
    getSubscription               reader in
    listLocations                 reader in
    listResourcesOfSubscription   reader in
    listResourcesOfGroup          reader in
    listAudit                     owner in
    verifyAudit                   owner
    searchJobs                    reader in
    getStats                      reader in
    getAgenda                     reader in
    listAgendaJobs                reader in
    listProviders                 reader in
    getProvider                   reader in
    registerProvider              contributor
    unregisterProvider            contributor
    listGroups                    reader in
    getGroup                      reader
    probeGroup                    reader
    putGroup                      contributor
    deleteGroup                   contributor
    getGroupOperation             reader in
    listCollectionsOfSubscription reader in
    listCollectionsOfGroup        reader in
    getCollection                 reader
    probeCollection               reader
    putCollection                 contributor
    patchCollection               operator
    deleteCollection              contributor
    enableCollection              operator
    disableCollection             operator
    previewJob                    reader
    listJobs                      reader
    getJob                        reader
    probeJob                      reader
    putJob                        contributor
    patchJob                      operator
    deleteJob                     contributor
    diffJob                       reader
    runJob                        operator
    listHistory                   reader
    listOccurrences               reader
    rerunOccurrence               operator
";

/// The scope of a route as a text, and a path with it.
fn place(route: &Route) -> (String, String) {
    let scope = match route.level {
        Level::Everything => "/".to_owned(),
        Level::Subscription => "/subscriptions/s".to_owned(),
        Level::Group => GROUP.to_owned(),
        Level::Collection => COLLECTION.to_owned(),
        Level::Job => format!("{COLLECTION}/jobs/j"),
    };
    let path = format!("{}/{}", scope.trim_end_matches('/'), route.tail);
    (scope, format!("{}?api-version=2026-11-01", path.replace(['{', '}'], "")))
}

/// Whether a scope is another or in it, by their texts.
fn covers(above: &str, below: &str) -> bool {
    above == "/" || above == below || below.starts_with(&format!("{above}/"))
}

async fn call(world: &World, token: Option<&str>, method: &str, path: &str, body: Body) -> Answer {
    world.call_as(token, method, path, body).await
}

async fn get(world: &World, token: &str, path: &str) -> Answer {
    call(world, Some(token), "GET", path, Body::empty()).await
}

/// A server with a token that owns everything.
async fn guarded() -> (World, String) {
    let world = World::with_access(AccessMode::Auto);
    let owner = world.token("owner", &[(Role::Owner, "/")]).await;
    (world, owner)
}

/// The same with a collection `Jc` and a job `j` in it.
async fn furnished() -> (World, String) {
    let (world, owner) = guarded().await;
    let body = Body::from(json!({"location": "West US"}).to_string());
    call(&world, Some(&owner), "PUT", "Jc", body).await.is(201);
    let body = Body::from(job(json!({"recurrence": {"frequency": "Day"}})).to_string());
    call(&world, Some(&owner), "PUT", "Jc/jobs/j", body).await.is(201);
    (world, owner)
}

#[tokio::test]
async fn every_operation_takes_the_right_that_the_contract_says() {
    let expected: BTreeMap<&str, Vec<&str>> = CONTRACT
        .lines()
        .filter_map(|line| {
            line.split_whitespace().collect::<Vec<_>>().split_first().map(|(n, r)| (*n, r.to_vec()))
        })
        .collect();
    let (world, _) = guarded().await;
    let scopes = [
        "/",
        "/subscriptions/s",
        GROUP,
        COLLECTION,
        "/subscriptions/s/resourceGroups/Other",
        "/subscriptions/s2",
        "/subscriptions/s/resourceGroups/Rg/providers/Microsoft.Scheduler/jobCollections/Jc2",
    ];
    let mut tokens = Vec::new();
    for scope in scopes {
        for role in Role::ALL {
            let name = format!("{role} on {}", scope.replace('/', "|"));
            tokens.push((role, scope, world.token(&name, &[(role, scope)]).await));
        }
    }
    let mut count = 0;
    for route in ROUTES {
        let needed =
            expected.get(route.name).unwrap_or_else(|| panic!("{} is not in the contract", route.name));
        let (target_scope, path) = place(route);
        for method in route.methods {
            let unknown = call(&world, None, method, &path, Body::empty()).await;
            assert_eq!(unknown.status == 401, needed[0] != "nobody", "{method} {path} without a token");
            for (role, scope, token) in &tokens {
                let allowed = match Role::parse(needed[0]) {
                    None => true,
                    Some(least) => {
                        let within = needed.get(1) == Some(&"in") && covers(&target_scope, scope);
                        *role >= least && (covers(scope, &target_scope) || within)
                    }
                };
                let answer = call(&world, Some(token), method, &path, Body::empty()).await;
                let denied = answer.status == 403;
                assert_eq!(!denied, allowed, "{method} {path} by {role} on {scope}: {}", answer.text);
                assert_ne!(answer.status, 401);
                count += 1;
            }
        }
    }
    assert!(count > 1000, "only {count} were tried");
    assert_eq!(expected.len(), ROUTES.len(), "the contract names operations that there are not");
}

#[tokio::test]
async fn an_operation_that_there_is_not_is_told_to_known_callers_only() {
    let (world, owner) = guarded().await;
    for path in ["/nothing", "/subscriptions/s/resourceGroups/g/x", "/tokens/a/b/c"] {
        call(&world, None, "GET", path, Body::empty()).await.is(401);
        get(&world, &owner, path).await.is(404);
    }
    call(&world, None, "PUT", "/doctor", Body::empty()).await.is(401);
    call(&world, Some(&owner), "PUT", "/doctor", Body::empty()).await.is(405);
}

#[tokio::test]
async fn refusals_have_the_words_of_the_contract() {
    let (world, _) = guarded().await;
    let missing = call(&world, None, "GET", "Jc", Body::empty()).await;
    assert_eq!(missing.header("www-authenticate"), Some("Bearer"));
    let message = missing.refused(401, "AuthenticationFailed");
    assert_eq!(message, "Authentication failed. The 'Authorization' header is missing.");

    let claims = "Bearer error=\"insufficient_claims\", claims=\"eyJhY2Nlc3NfdG9rZW4iOnsibmJmIjp7ImVzc2VudGlhbCI6dHJ1ZSw\
                  idmFsdWUiOiIxNzk0NzQ0MDAwIn19fQ==\"";
    let unknown = "pct_0000000000000000000000000000000000000000000";
    for (sent, part) in [
        ("Basic dTpw", "must be 'Bearer' and a token"),
        ("Bearer", "begin with 'pct_'"),
        ("Bearer pct_x", "begin with 'pct_'"),
        ("bearer eyJhbGciOiJub25lIn0.e30.", "It is unknown"),
        (&format!("Bearer {unknown}000000"), "begin with 'pct_'"),
    ] {
        let request = Request::get(target("Jc")).header(header::AUTHORIZATION, sent);
        let answer = world.send(request.body(Body::empty()).unwrap()).await;
        assert_eq!(answer.header("www-authenticate"), Some(claims), "{sent}");
        let message = answer.refused(401, "InvalidAuthenticationToken");
        assert!(message.starts_with("The access token is invalid. ") && message.contains(part), "{message}");
        assert!(!message.contains(sent), "{message}");
    }

    let reader = world.token("Zoë", &[(Role::Reader, GROUP)]).await;
    let id = world.token_id("Zoë").await;
    let check = async |method: &str, path: &str, action: &str, scope: &str| {
        let message = call(&world, Some(&reader), method, path, Body::empty())
            .await
            .refused(403, "AuthorizationFailed");
        let expected = format!(
            "The client 'Zoë' with object id '{id}' does not have authorization to perform action '{action}' over scope \
             '{scope}'."
        );
        assert_eq!(message, expected);
    };
    check("PUT", "Jc", "Microsoft.Scheduler/jobcollections/write", COLLECTION).await;
    check("POST", "Jc/enable", "Microsoft.Scheduler/jobcollections/enable/action", COLLECTION).await;
    let job = format!("{COLLECTION}/jobs/j");
    check("POST", "Jc/jobs/j/run", "Microsoft.Scheduler/jobcollections/jobs/run/action", &job).await;
    check("GET", "/tokens", "Punctual/tokens/read", "/").await;
    check("GET", "/doctor", "Punctual/doctor/read", "/").await;
}

#[tokio::test(start_paused = true)]
async fn rights_are_checked_before_the_body_is_read() {
    let (world, _) = furnished().await;
    let reader = world.token("reader", &[(Role::Reader, "/")]).await;
    for (method, path) in [("PUT", "Jc"), ("PUT", "Jc/jobs/j"), ("PATCH", "Jc/jobs/j"), ("POST", "/tokens")] {
        for (token, status) in [(Some(reader.as_str()), 403), (None, 401)] {
            let endless = Body::from_stream(stream::pending::<Result<Bytes, std::io::Error>>());
            call(&world, token, method, path, endless).await.is(status);
        }
    }
}

#[tokio::test]
async fn what_a_caller_may_not_read_does_not_show_whether_it_exists() {
    let (world, _) = furnished().await;
    let other = world.token("other", &[(Role::Owner, "/subscriptions/s/resourceGroups/Other")]).await;
    for method in ["GET", "PUT", "PATCH", "DELETE"] {
        for (here, nowhere) in [("Jc", "No"), ("Jc/jobs/j", "Jc/jobs/n"), ("Jc/jobs/j", "No/jobs/j")] {
            let there = call(&world, Some(&other), method, here, Body::empty()).await.is(403);
            let missing = call(&world, Some(&other), method, nowhere, Body::empty()).await.is(403);
            let renamed = missing.text.replace("/No", "/Jc").replace("/n'", "/j'");
            assert_eq!(there.text, renamed);
            let names = |answer: &Answer| answer.headers.keys().map(ToString::to_string).collect::<Vec<_>>();
            assert_eq!(names(&there), names(&missing));
        }
    }
}

#[tokio::test]
async fn an_operator_changes_the_state_and_nothing_else() {
    let (world, owner) = furnished().await;
    let operator = world.token("operator", &[(Role::Operator, COLLECTION)]).await;
    let secretive =
        job(json!({"action": {"type": "Http", "request": {"method": "GET", "uri": "https://example.com/",
        "authentication": {"type": "Basic", "username": "u", "password": "hunter2"}}}}));
    call(&world, Some(&owner), "PUT", "Jc/jobs/s", Body::from(secretive.to_string())).await.is(201);
    let patch = async |path: &str, properties: serde_json::Value| {
        let body = Body::from(json!({ "properties": properties }).to_string());
        call(&world, Some(&operator), "PATCH", path, body).await
    };
    patch("Jc/jobs/j", json!({"state": "Disabled"})).await.is(200);
    patch("Jc/jobs/j", json!({"state": "Enabled", "recurrence": {"frequency": "Day"}})).await.is(200);
    patch("Jc/jobs/j", json!({})).await.is(200);
    let denied = patch("Jc/jobs/j", json!({"recurrence": {"frequency": "Hour"}})).await;
    let message = denied.refused(403, "AuthorizationFailed");
    assert!(message.contains("'Microsoft.Scheduler/jobcollections/jobs/write' over scope"), "{message}");
    patch("Jc/jobs/j", json!({"state": "Disabled", "startTime": "2027-01-01"})).await.is(403);
    assert_eq!(get(&world, &owner, "Jc/jobs/j").await.properties()["recurrence"]["frequency"], "day");
    // The right password is denied like a wrong one.
    let guess = |password: &str| json!({"action": {"request": {"authentication": {"type": "Basic", "username": "u", "password": password}}}});
    let (right, wrong) =
        (patch("Jc/jobs/s", guess("hunter2")).await.is(403), patch("Jc/jobs/s", guess("x")).await.is(403));
    assert_eq!(right.text, wrong.text);

    patch("Jc", json!({"state": "Disabled"})).await.is(200);
    patch("Jc", json!({"state": "Enabled", "sku": {"name": "Standard"}})).await.is(200);
    let message = patch("Jc", json!({"quota": {"maxJobCount": 3}})).await.refused(403, "AuthorizationFailed");
    assert!(message.contains("'Microsoft.Scheduler/jobcollections/write' over scope"), "{message}");
    patch("Jc", json!({"state": "Disabled", "sku": {"name": "Free"}})).await.is(403);
    assert_eq!(get(&world, &owner, "Jc").await.properties()["state"], "Enabled");
}

#[tokio::test]
async fn lists_show_what_the_caller_may_read() {
    let (world, owner) = guarded().await;
    let groups = ["a", "b", "c"];
    for group in groups {
        for number in 0..600 {
            let path = format!(
                "/subscriptions/s/resourceGroups/{group}/providers/Microsoft.Scheduler/jobCollections/{group}{number:03}"
            );
            let body = json!({"location": "West US", "properties": {"sku": {"name": "P20Premium"}}});
            call(&world, Some(&owner), "PUT", &path, Body::from(body.to_string())).await.is(201);
        }
    }
    let single = "/subscriptions/s/resourceGroups/b/providers/Microsoft.Scheduler/jobCollections/b300";
    let grants = [
        (Role::Reader, "/subscriptions/s/resourceGroups/C"),
        (Role::Owner, single),
        (Role::Reader, "/subscriptions/s/resourceGroups/a"),
        (Role::Operator, "/subscriptions/s/resourceGroups/nothing"),
    ];
    let some = world.token("some", &grants).await;
    let all = async |token: &str, path: &str| {
        let mut names: Vec<String> = Vec::new();
        let mut next = Some(target(path));
        let mut sizes = Vec::new();
        while let Some(link) = next {
            let path = link.strip_prefix("http://localhost").unwrap_or(&link).to_owned();
            let page = get(&world, token, &path).await.is(200);
            names.extend(page.names().into_iter().map(ToOwned::to_owned));
            sizes.push(page.names().len());
            next = page.body["nextLink"].as_str().map(ToOwned::to_owned);
        }
        (names, sizes)
    };
    let numbered = |group: &str| (0..600).map(|number| format!("{group}{number:03}")).collect::<Vec<_>>();
    let path = "/subscriptions/s/providers/Microsoft.Scheduler/jobCollections";
    let (names, sizes) = all(&some, path).await;
    assert_eq!(names, [numbered("a"), vec!["b300".to_owned()], numbered("c")].concat());
    assert_eq!(sizes, [1000, 201]);
    assert_eq!(all(&owner, path).await.0, [numbered("a"), numbered("b"), numbered("c")].concat());
    let in_group = |group: &str| {
        format!("/subscriptions/s/resourceGroups/{group}/providers/Microsoft.Scheduler/jobCollections")
    };
    assert_eq!(all(&some, &in_group("b")).await.0, ["b300"]);
    assert_eq!(all(&some, &in_group("c")).await.0, numbered("c"));
    get(&world, &some, &in_group("other")).await.is(403);
    assert_eq!(all(&some, "/subscriptions/s/resourcegroups").await.0, ["a", "c"]);
    get(&world, &some, "/subscriptions/s2/resourcegroups").await.is(403);
}

#[tokio::test]
async fn a_token_is_refused_from_the_instant_it_expires() {
    let (world, owner) = furnished().await;
    let body = json!({"name": "brief", "grants": [{"role": "reader", "scope": "/"}], "expiresAt": "2026-11-15T13:00:00Z"});
    let path = "/tokens?api-version=2026-11-01";
    let created = call(&world, Some(&owner), "POST", path, Body::from(body.to_string())).await.is(201);
    let token = created.body["token"].as_str().unwrap().to_owned();
    world.advance(SignedDuration::from_millis(3_599_999));
    get(&world, &token, "Jc").await.is(200);
    world.advance(SignedDuration::from_millis(1));
    let expired = get(&world, &token, "Jc").await;
    assert!(expired.header("www-authenticate").unwrap().starts_with("Bearer error=\"insufficient_claims\""));
    assert_eq!(
        expired.refused(401, "ExpiredAuthenticationToken"),
        "The access token expiry UTC time '2026-11-15T13:00:00Z' is earlier than current UTC time '2026-11-15T13:00:00Z'."
    );
    let rotate = format!("/tokens/{}/rotate?api-version=2026-11-01", created.body["id"].as_str().unwrap());
    let message = call(&world, Some(&owner), "POST", &rotate, Body::empty()).await.refused(409, "Conflict");
    assert!(message.contains("give a new expiresAt"), "{message}");
    let body = Body::from(json!({"expiresAt": null}).to_string());
    let rotated = call(&world, Some(&owner), "POST", &rotate, body).await.is(200);
    get(&world, rotated.body["token"].as_str().unwrap(), "Jc").await.is(200);
}

#[tokio::test]
async fn what_was_changed_elsewhere_is_in_force_without_being_asked_for() {
    let (world, owner) = furnished().await;
    let token = world.token("brief", &[(Role::Reader, "/")]).await;
    get(&world, &token, "Jc").await.is(200);
    let access = Arc::clone(&world.access);
    let attending = tokio::spawn(async move { access.attend().await });
    tokio::task::yield_now().await;
    let id = world.token_id("brief").await;
    world.store.delete_token(&punctual_model::access::TokenId(id), None).await.unwrap();
    while get(&world, &token, "Jc").await.status == 200 {
        tokio::task::yield_now().await;
    }
    get(&world, &token, "Jc").await.refused(401, "InvalidAuthenticationToken");
    get(&world, &owner, "Jc").await.is(200);
    attending.abort();
}

#[tokio::test]
async fn uses_are_noted_together_and_shown_at_once() {
    let (world, owner) = furnished().await;
    let token = world.token("busy", &[(Role::Reader, "/")]).await;
    world.access.note_uses().await;
    world.advance(SignedDuration::from_secs(90));
    for _ in 0..3 {
        get(&world, &token, "Jc").await.is(200);
    }
    let stored = async || {
        let tokens = world.store.tokens().await.unwrap();
        tokens.into_iter().find(|token| token.name == "busy").unwrap().last_used_at.map(|at| at.to_string())
    };
    assert_eq!(stored().await, None, "nothing is written by a request");
    let listed = get(&world, &owner, "/tokens?api-version=2026-11-01").await.is(200);
    assert_eq!(listed.body["value"][0]["lastUsedAt"], "2026-11-15T12:01:30Z");
    world.access.note_uses().await;
    assert_eq!(stored().await.as_deref(), Some("2026-11-15T12:01:30Z"));
}

#[tokio::test]
async fn without_tokens_everybody_may_do_everything_and_with_one_nobody_unknown() {
    let world = World::with_access(AccessMode::Auto);
    world.access.refresh().await.unwrap();
    world.put("Jc", json!({"location": "West US"})).await.is(201);
    get(&world, "anything", "Jc").await.is(200);
    let body = json!({"name": "first", "grants": [{"role": "owner", "scope": "/"}]});
    let path = "/tokens?api-version=2026-11-01";
    let created = call(&world, None, "POST", path, Body::from(body.to_string())).await.is(201);
    world.get("Jc").await.is(401);
    let token = created.body["token"].as_str().unwrap();
    get(&world, token, "Jc").await.is(200);
    // Whoever revokes the last one does not open the server.
    let own = format!("/tokens/{}?api-version=2026-11-01", created.body["id"].as_str().unwrap());
    call(&world, Some(token), "DELETE", &own, Body::empty()).await.is(200);
    world.get("Jc").await.is(401);
    get(&world, token, "Jc").await.is(401);
}

#[tokio::test]
async fn where_tokens_were_never_read_nobody_may_do_anything() {
    let world = World::with_access(AccessMode::Auto);
    world.get("Jc").await.is(401);
    world.get("/healthz").await.is(200);
}

#[tokio::test]
async fn whatever_is_sent_as_a_token_is_refused_in_one_of_a_few_ways() {
    let (world, owner) = guarded().await;
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = move || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    let mut messages = std::collections::BTreeSet::new();
    for _ in 0..5_000 {
        let mut bytes = format!("Bearer {owner}").into_bytes();
        for _ in 0..=next() % 4 {
            let place = usize::try_from(next()).unwrap() % bytes.len();
            match next() % 4 {
                0 => bytes[place] = next().to_le_bytes()[0],
                1 => bytes.truncate(place.max(1)),
                2 => bytes.insert(place, next().to_le_bytes()[0]),
                _ => bytes.extend_from_within(place..),
            }
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if text.split_once(' ').is_some_and(|(_, token)| token.trim() == owner) {
            continue;
        }
        let Ok(value) = header::HeaderValue::from_bytes(&bytes) else { continue };
        let request = Request::get(target("/tokens")).header(header::AUTHORIZATION, value);
        let answer = world.send(request.body(Body::empty()).unwrap()).await;
        messages.insert(answer.refused(401, "InvalidAuthenticationToken"));
    }
    assert!(messages.len() <= 3, "{messages:?}");
    let twice = Request::get(target("/tokens"))
        .header(header::AUTHORIZATION, format!("Bearer {owner}"))
        .header(header::AUTHORIZATION, format!("Bearer {owner}"));
    let message =
        world.send(twice.body(Body::empty()).unwrap()).await.refused(401, "InvalidAuthenticationToken");
    assert!(message.contains("more than one"), "{message}");
}
