//! Sessions of the web page: signing in with a token, what the cookie is good for, and signing out.

use axum::body::Body;
use http::{Request, header};
use jiff::SignedDuration;
use punctual_api::{AccessMode, CallerLimits, Hosts, Peer, Rate, Settings};
use punctual_model::access::{Role, SessionSecret};
use punctual_store::{Callers, Sessions};
use serde_json::{Value, json};

use crate::world::{Answer, World, target};

const SESSION: &str = "/session?api-version=2026-11-01";
const ME: &str = "/me?api-version=2026-11-01";
const SESSIONS: &str = "/sessions?api-version=2026-11-01";

/// What a browser sends along with a request of our own page.
const OWN: &[(&str, &str)] = &[("sec-fetch-site", "same-origin"), ("x-punctual-page", "1")];

/// A server that asks who calls, and the token of an owner.
async fn guarded() -> (World, String) {
    let world = World::with_access(AccessMode::Auto);
    let owner = world.token("owner", &[(Role::Owner, "/")]).await;
    (world, owner)
}

async fn send(world: &World, method: &str, path: &str, headers: &[(&str, &str)], body: Value) -> Answer {
    let mut request = Request::builder().method(method).uri(target(path));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
    world.send(request.body(body).unwrap()).await
}

async fn sign_in(world: &World, token: &str, more: &[(&str, &str)]) -> Answer {
    let headers = [OWN, &[("content-type", "application/json")], more].concat();
    send(world, "POST", SESSION, &headers, json!({ "token": token })).await
}

/// The cookie that an answer sets, as a browser would send it back.
fn cookie(answer: &Answer) -> String {
    let set = answer.header("set-cookie").expect("a cookie is set");
    set.split(';').next().unwrap().to_owned()
}

/// Signs in: the cookie of the session.
async fn signed_in(world: &World, token: &str) -> String {
    cookie(&sign_in(world, token, &[]).await.is(201))
}

async fn as_page(world: &World, cookie: &str, method: &str, path: &str) -> Answer {
    let body = if method == "PUT" { json!({"location": "West US"}) } else { Value::Null };
    send(world, method, path, &[OWN, &[("cookie", cookie)]].concat(), body).await
}

#[tokio::test]
async fn whoever_signs_in_with_a_token_may_what_the_token_may() {
    let (world, _) = guarded().await;
    let scope = "/subscriptions/s/resourceGroups/Rg";
    let contributor = world.token("ci", &[(Role::Contributor, scope)]).await;
    let answer = sign_in(&world, &contributor, &[]).await.is(201);
    let set = answer.header("set-cookie").unwrap();
    let (name, attributes) = set.split_once(';').unwrap();
    assert!(name.starts_with("__Host-punctual-session=pcs_"), "{name}");
    assert_eq!(attributes, " Path=/; Secure; HttpOnly; SameSite=Strict");
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let cookie = cookie(&answer);
    assert!(!answer.text.contains(cookie.split_once('=').unwrap().1), "the secret is in the cookie only");

    as_page(&world, &cookie, "PUT", "Jc").await.is(201);
    as_page(&world, &cookie, "GET", "Jc").await.is(200);
    as_page(&world, &cookie, "GET", "/doctor").await.refused(403, "AuthorizationFailed");

    let me = as_page(&world, &cookie, "GET", ME).await.is(200);
    assert_eq!(me.body["caller"], json!({"id": world.token_id("ci").await, "name": "ci", "kind": "token"}));
    assert_eq!(me.body["grants"], json!([{"role": "contributor", "scope": scope}]));
    assert_eq!(me.body["session"]["idleAt"], "2026-11-15T13:00:00Z");
    assert_eq!(me.body["session"]["expiresAt"], "2026-11-16T00:00:00Z");
    assert_eq!(
        me.body["features"],
        json!([
            "agenda",
            "audit",
            "authentication",
            "nodes",
            "occurrences",
            "preview",
            "rerun",
            "search",
            "sessions",
            "stats",
            "tokens"
        ])
    );
    assert_eq!(me.body["version"], env!("CARGO_PKG_VERSION"));
    let clock = json!({"time": "2026-11-15T12:00:00Z", "realTime": "2026-11-15T12:00:00Z", "speed": 1.0});
    assert_eq!(me.body["clock"], clock);
    assert_eq!(answer.body["caller"], me.body["caller"]);
}

#[tokio::test]
async fn everybody_may_know_who_they_are() {
    let open = World::empty();
    let me = open.get(ME).await.is(200);
    assert_eq!((&me.body["caller"]["kind"], &me.body["session"]), (&json!("anonymous"), &Value::Null));
    assert_eq!(me.body["grants"], json!([{"role": "owner", "scope": "/"}]));

    let (world, owner) = guarded().await;
    world.get(ME).await.refused(401, "AuthenticationFailed");
    let bearer = format!("Bearer {owner}");
    let me = send(&world, "GET", ME, &[("authorization", &bearer)], Value::Null).await.is(200);
    assert_eq!((&me.body["caller"]["name"], &me.body["session"]), (&json!("owner"), &Value::Null));
    send(&world, "GET", "/me", &[("authorization", &bearer)], Value::Null).await.is(400);
}

#[tokio::test]
async fn a_session_is_always_a_new_one() {
    let (world, owner) = guarded().await;
    let first = signed_in(&world, &owner).await;
    // A cookie that somebody planted is neither taken over nor kept.
    let planted = "__Host-punctual-session=pcs_planted";
    let second = sign_in(&world, &owner, &[("cookie", planted)]).await.is(201);
    assert_ne!(cookie(&second), planted);
    as_page(&world, planted, "GET", ME).await.refused(401, "InvalidAuthenticationToken");
    // Whoever signs in again has another one, and the former has ended.
    let third = cookie(&sign_in(&world, &owner, &[("cookie", &first)]).await.is(201));
    assert_ne!(third, first);
    as_page(&world, &third, "GET", ME).await.is(200);
    as_page(&world, &first, "GET", ME).await.refused(401, "InvalidAuthenticationToken");
}

#[tokio::test]
async fn signing_out_ends_the_session_on_every_server_at_once() {
    let (world, owner) = guarded().await;
    let other = World::on(world.store.clone(), AccessMode::Auto);
    other.access.refresh().await.unwrap();
    let (cookie, stays) = (signed_in(&world, &owner).await, signed_in(&world, &owner).await);
    for server in [&world, &other] {
        as_page(server, &cookie, "GET", ME).await.is(200);
    }
    let out = as_page(&other, &cookie, "DELETE", SESSION).await.is(200);
    let cleared = "__Host-punctual-session=; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=0";
    let set: Vec<&str> = out.headers.get_all("set-cookie").iter().map(|set| set.to_str().unwrap()).collect();
    let login = "__Host-punctual-login=; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=0";
    assert_eq!(set, [cleared, login]);
    assert_eq!(out.header("clear-site-data"), Some("\"cache\", \"storage\""));
    for server in [&world, &other] {
        let over = as_page(server, &cookie, "GET", ME).await;
        assert_eq!(over.header("set-cookie"), Some(cleared), "a browser forgets what is no use");
        assert_eq!(over.header("www-authenticate"), Some("Bearer"));
        over.refused(401, "InvalidAuthenticationToken");
        as_page(server, &stays, "GET", ME).await.is(200);
    }
    as_page(&world, &cookie, "DELETE", SESSION).await.is(401);
    // Who calls by a token has no session to end.
    let bearer = format!("Bearer {owner}");
    let none = send(&world, "DELETE", SESSION, &[("authorization", &bearer)], Value::Null).await;
    assert!(none.refused(400, "BadRequest").contains("no session"));
}

#[tokio::test]
async fn a_session_ends_with_its_token() {
    let (world, owner) = guarded().await;
    let bearer = format!("Bearer {owner}");
    for how in ["DELETE", "rotate", "expire"] {
        let token = world.token(how, &[(Role::Reader, "/")]).await;
        let cookie = signed_in(&world, &token).await;
        as_page(&world, &cookie, "GET", ME).await.is(200);
        let id = world.token_id(how).await;
        let path = format!("/tokens/{id}?api-version=2026-11-01");
        let owned = &[("authorization", bearer.as_str())];
        match how {
            "DELETE" => send(&world, "DELETE", &path, owned, Value::Null).await.is(200),
            "rotate" => {
                let path = path.replace('?', "/rotate?");
                send(&world, "POST", &path, owned, Value::Null).await.is(200)
            }
            _ => {
                let path = path.replace('?', "/rotate?");
                let soon = json!({"expiresAt": "2026-11-15T12:00:10Z"});
                let token = send(&world, "POST", &path, owned, soon).await.is(200).body["token"].clone();
                let cookie = signed_in(&world, token.as_str().unwrap()).await;
                as_page(&world, &cookie, "GET", ME).await.is(200);
                world.advance(SignedDuration::from_secs(10));
                as_page(&world, &cookie, "GET", ME).await
            }
        };
        as_page(&world, &cookie, "GET", ME).await.refused(401, "InvalidAuthenticationToken");
    }
}

#[tokio::test]
async fn rights_are_those_of_the_token_now_and_not_those_of_then() {
    let (world, _) = guarded().await;
    let token = world.token("ci", &[(Role::Reader, "/")]).await;
    let cookie = signed_in(&world, &token).await;
    as_page(&world, &cookie, "GET", "/doctor").await.is(200);
    let tokens = world.store.tokens().await.unwrap();
    let mut changed = tokens.into_iter().find(|token| token.name == "ci").unwrap();
    changed.grants.clear();
    assert!(world.store.replace_token(&changed, None).await.unwrap());
    world.access.refresh().await.unwrap();
    as_page(&world, &cookie, "GET", "/doctor").await.refused(403, "AuthorizationFailed");
}

#[tokio::test]
async fn a_session_ends_when_it_rests_and_when_it_is_old() {
    let (world, owner) = guarded().await;
    let cookie = signed_in(&world, &owner).await;
    let minutes = |count| world.advance(SignedDuration::from_mins(count));
    for _ in 0..12 {
        minutes(59);
        as_page(&world, &cookie, "GET", ME).await.is(200);
    }
    // It was used all the time, and is twelve hours old.
    minutes(12);
    let message = as_page(&world, &cookie, "GET", ME).await.refused(401, "ExpiredAuthenticationToken");
    assert!(message.contains("'2026-11-16T00:00:00Z'") && message.ends_with("Sign in again."), "{message}");

    let cookie = signed_in(&world, &owner).await;
    minutes(59);
    as_page(&world, &cookie, "GET", ME).await.is(200);
    minutes(60);
    as_page(&world, &cookie, "GET", ME).await.refused(401, "ExpiredAuthenticationToken");
}

#[tokio::test]
async fn another_server_knows_when_a_session_was_used_and_what_is_over_is_deleted() {
    let (world, owner) = guarded().await;
    let other = World::on(world.store.clone(), AccessMode::Auto);
    other.access.refresh().await.unwrap();
    let (cookie, _unused) = (signed_in(&world, &owner).await, signed_in(&world, &owner).await);
    let minutes = |count| {
        world.advance(SignedDuration::from_mins(count));
        other.advance(SignedDuration::from_mins(count));
    };
    minutes(50);
    as_page(&world, &cookie, "GET", ME).await.is(200);
    world.access.note_uses().await;
    minutes(50);
    as_page(&other, &cookie, "GET", ME).await.is(200);
    assert_eq!(world.store.sessions(None, 9).await.unwrap().len(), 2);
    // Each minute, and at the start.
    let access = other.access.clone();
    let attending = tokio::spawn(async move { access.attend().await });
    while world.store.sessions(None, 9).await.unwrap().len() != 1 {
        tokio::task::yield_now().await;
    }
    attending.abort();
    as_page(&world, &cookie, "GET", ME).await.is(200);
}

#[tokio::test]
async fn a_request_with_the_cookie_must_come_from_our_own_page() {
    let (world, owner) = guarded().await;
    let cookie = signed_in(&world, &owner).await;
    let with = async |method: &str, headers: &[(&str, &str)]| {
        let body = if method == "PUT" { json!({"location": "West US"}) } else { Value::Null };
        let headers = [&[("host", "localhost:8380"), ("cookie", cookie.as_str())], headers].concat();
        send(&world, method, "Jc", &headers, body).await
    };
    let page = ("x-punctual-page", "1");
    let own_origin = ("origin", "http://localhost:8380");
    let same = ("sec-fetch-site", "same-origin");

    let may_write: [&[(&str, &str)]; 3] = [&[same, page], &[same, page, own_origin], &[own_origin, page]];
    for headers in may_write {
        with("PUT", headers).await.is(201);
        with("GET", headers).await.is(200);
    }
    let may_read: [&[(&str, &str)]; 4] = [&[same], &[("sec-fetch-site", "none")], &[page], &[own_origin]];
    for headers in may_read {
        with("GET", headers).await.is(200);
        with("HEAD", headers).await.is(204);
    }
    let may_not_write: [&[(&str, &str)]; 10] = [
        &[],
        &[page],
        &[same],
        &[own_origin],
        &[same, own_origin],
        &[("sec-fetch-site", "none"), page],
        &[("sec-fetch-site", "none"), page, own_origin],
        &[("sec-fetch-site", "cross-site"), page, own_origin],
        &[("sec-fetch-site", "same-site"), page, own_origin],
        &[("origin", "https://evil.example"), page],
    ];
    for headers in may_not_write {
        for method in ["PUT", "PATCH", "POST", "DELETE"] {
            let path = if method == "POST" { "Jc/disable" } else { "Jc" };
            let sent = [&[("host", "localhost:8380"), ("cookie", cookie.as_str())], headers].concat();
            let answer = send(&world, method, path, &sent, Value::Null).await;
            answer.refused(403, "CrossOriginRequest");
        }
    }
    let may_not_read: [&[(&str, &str)]; 6] = [
        &[],
        &[("sec-fetch-site", "cross-site")],
        &[("sec-fetch-site", "same-site")],
        &[("sec-fetch-site", "cross-site"), page],
        // A link, an image, a frame: what they lead to is no page.
        &[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")],
        &[same, ("sec-fetch-site", "cross-site")],
    ];
    for headers in may_not_read {
        let answer = with("GET", headers).await;
        let message = answer.refused(403, "CrossOriginRequest");
        assert!(message.contains("x-punctual-page") || message.contains("another site"), "{message}");
    }
    assert_eq!(with("GET", &[same]).await.is(200).properties()["state"], "Enabled");
    // Whether there is such a session does not show.
    let made_up = send(&world, "PUT", "Jc", &[("cookie", "__Host-punctual-session=x")], Value::Null).await;
    made_up.refused(403, "CrossOriginRequest");
}

#[tokio::test]
async fn nobody_is_allowed_to_ask_from_elsewhere() {
    let (world, owner) = guarded().await;
    let cookie = signed_in(&world, &owner).await;
    let asks: [&[(&str, &str)]; 2] = [
        &[("origin", "https://evil.example"), ("access-control-request-method", "PUT")],
        &[("origin", "http://localhost"), ("access-control-request-headers", "x-punctual-page")],
    ];
    for headers in asks {
        for (method, path) in [("OPTIONS", "Jc"), ("OPTIONS", SESSION), ("GET", "Jc"), ("GET", "/healthz")] {
            let answer =
                send(&world, method, path, &[headers, &[("cookie", &cookie)]].concat(), Value::Null).await;
            let named = answer.headers.keys().find(|name| name.as_str().starts_with("access-control-"));
            assert_eq!(named, None, "{method} {path}");
            assert!(method == "GET" || answer.status >= 400, "{}", answer.status);
        }
    }
}

#[tokio::test]
async fn the_authorization_header_wins_over_the_cookie() {
    let (world, owner) = guarded().await;
    let reader = world.token("reader", &[(Role::Reader, "/")]).await;
    let cookie = signed_in(&world, &owner).await;
    let both = |token: &str| vec![("cookie", cookie.clone()), ("authorization", format!("Bearer {token}"))];
    let call = async |method: &str, path: &str, headers: Vec<(&str, String)>| {
        let headers: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        send(&world, method, path, &headers, Value::Null).await
    };
    // As a program would send it, with no sign of a page.
    let me = call("GET", ME, both(&reader)).await.is(200);
    assert_eq!((&me.body["caller"]["name"], &me.body["session"]), (&json!("reader"), &Value::Null));
    call("DELETE", "Jc", both(&reader)).await.refused(403, "AuthorizationFailed");
    call("GET", ME, both("pct_wrong")).await.refused(401, "InvalidAuthenticationToken");
    let basic = vec![("cookie", cookie.clone()), ("authorization", "Basic dTpw".to_owned())];
    call("GET", ME, basic).await.refused(401, "InvalidAuthenticationToken");
}

#[tokio::test]
async fn a_cookie_that_is_no_session_is_refused() {
    let (world, owner) = guarded().await;
    let cookie = signed_in(&world, &owner).await;
    let secret = cookie.split_once('=').unwrap().1;
    for wrong in [
        "__Host-punctual-session=",
        "__Host-punctual-session=x",
        &format!("__Host-punctual-session={owner}"),
        &format!("__Host-punctual-session={}", secret.replace("pcs_", "pct_")),
        &format!("__Host-punctual-session={}", &secret[..52]),
        &format!("{cookie}; {cookie}"),
        &format!("__Host-punctual-session=\"{secret}\""),
    ] {
        as_page(&world, wrong, "GET", ME).await.refused(401, "InvalidAuthenticationToken");
    }
    for none in [format!("punctual-session={secret}"), format!("__host-punctual-session={secret}")] {
        as_page(&world, &none, "GET", ME).await.refused(401, "AuthenticationFailed");
    }
    // Nor is the secret a token.
    let bearer = format!("Bearer {secret}");
    send(&world, "GET", ME, &[("authorization", &bearer)], Value::Null).await.is(401);
}

#[tokio::test]
async fn a_sign_in_that_another_site_could_send_is_refused() {
    let (world, owner) = guarded().await;
    let body = json!({ "token": owner });
    let json = ("content-type", "application/json");
    let page = ("x-punctual-page", "1");
    let post = async |headers: &[(&str, &str)]| send(&world, "POST", SESSION, headers, body.clone()).await;
    post(&[json]).await.refused(400, "BadRequest");
    post(&[page]).await.refused(400, "BadRequest");
    post(&[page, ("content-type", "text/plain")]).await.refused(400, "BadRequest");
    post(&[page, ("content-type", "application/x-www-form-urlencoded")]).await.refused(400, "BadRequest");
    post(&[page, json, ("sec-fetch-site", "cross-site")]).await.refused(403, "CrossOriginRequest");
    post(&[page, json, ("origin", "https://evil.example")]).await.refused(403, "CrossOriginRequest");
    post(&[page, ("content-type", "Application/JSON; charset=utf-8")]).await.is(201);
    // Never in a URL.
    let path = format!("{SESSION}&token={owner}");
    send(&world, "POST", &path, &[page, json], json!({})).await.refused(400, "BadRequest");
    send(&world, "POST", "/session", &[page, json], body.clone()).await.is(400);
}

#[tokio::test]
async fn without_https_a_session_is_for_the_machine_itself_only() {
    let check = async |settings: Settings, headers: &[(&str, &str)], status: u16| {
        let world = World::build(settings, AccessMode::Auto);
        let owner = world.token("owner", &[(Role::Owner, "/")]).await;
        let headers = [headers, &[("content-type", "application/json"), ("x-punctual-page", "1")]].concat();
        let answer = send(&world, "POST", SESSION, &headers, json!({ "token": owner })).await;
        assert_eq!(answer.status, status, "{headers:?}: {}", answer.text);
        if status == 400 {
            assert!(answer.text.contains("A session needs https"), "{}", answer.text);
        }
    };
    let plain = || Settings { hosts: Hosts::new(["a.example"]), ..Settings::default() };
    check(plain(), &[("host", "localhost:8380")], 201).await;
    check(plain(), &[("host", "127.0.0.1:8380"), ("origin", "http://127.0.0.1:8380")], 201).await;
    check(plain(), &[("host", "[::1]:8380")], 201).await;
    check(plain(), &[("host", "192.0.2.1:8380")], 400).await;
    check(plain(), &[("host", "a.example"), ("origin", "http://a.example")], 400).await;
    check(plain(), &[("host", "a.example")], 400).await;
    // A proxy serves https, which the browser says.
    check(plain(), &[("host", "a.example"), ("origin", "https://a.example")], 201).await;
    check(Settings { secure: true, ..plain() }, &[("host", "a.example")], 201).await;
    let public = |url: &str| Settings { public_url: Some(url.to_owned()), ..plain() };
    check(public("https://a.example"), &[("host", "a.example")], 201).await;
    check(public("http://a.example"), &[("host", "a.example")], 400).await;
}

#[tokio::test(start_paused = true)]
async fn failed_sign_ins_are_audited_and_slow_down() {
    let sign_in_failures = Some(Rate { per_second: 0.1, burst: 3.0 });
    let caller_limits = CallerLimits { sign_in_failures, ..CallerLimits::default() };
    let world = World::build(Settings { caller_limits, ..Settings::default() }, AccessMode::Auto);
    let owner = world.token("owner", &[(Role::Owner, "/")]).await;
    let from = async |token: &str, cookie: Option<&str>| {
        let method = if cookie.is_some() { "GET" } else { "POST" };
        let mut request = Request::builder().method(method).uri(if cookie.is_some() { ME } else { SESSION });
        for (name, value) in OWN.iter().chain(&[("content-type", "application/json")]) {
            request = request.header(*name, *value);
        }
        request = request.header(header::COOKIE, cookie.unwrap_or("a=b"));
        let mut request = request.body(Body::from(json!({ "token": token }).to_string())).unwrap();
        request.extensions_mut().insert(Peer("192.0.2.1:1".parse().unwrap()));
        world.send(request).await
    };
    let made_up = {
        let mut one = owner.clone().into_bytes();
        one[5] = if one[5] == b'x' { b'y' } else { b'x' };
        String::from_utf8(one).unwrap()
    };
    let message = from(&made_up, None).await.refused(401, "InvalidAuthenticationToken");
    assert!(!message.contains(&made_up), "{message}");
    from("x", None).await.refused(401, "InvalidAuthenticationToken");
    from("", Some("__Host-punctual-session=x")).await.refused(401, "InvalidAuthenticationToken");
    from(&made_up, None).await.refused(429, "TooManyRequests");
    from("", Some("__Host-punctual-session=x")).await.refused(429, "TooManyRequests");
    // Whoever has a good one is not concerned, nor is a page that was left open.
    from(&owner, None).await.is(201);
    let old = cookie(&from(&owner, None).await.is(201));
    world.advance(SignedDuration::from_hours(1));
    for _ in 0..5 {
        from("", Some(&old)).await.refused(401, "ExpiredAuthenticationToken");
    }

    let cookie = cookie(&from(&owner, None).await.is(201));
    as_page(&world, &cookie, "DELETE", SESSION).await.is(200);
    world.auditor.finish().await.unwrap();
    let bearer = format!("Bearer {owner}");
    let audit = "/audit?api-version=2026-11-01";
    let log = send(&world, "GET", audit, &[("authorization", &bearer)], Value::Null).await.is(200);
    let mut told: Vec<(&str, &str, u64)> = log.body["value"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| {
            let text = |name: &str| entry[name].as_str().unwrap();
            (text("action"), text("outcome"), entry["count"].as_u64().unwrap())
        })
        .collect();
    told.sort_unstable();
    assert_eq!(
        told,
        [
            ("Punctual/callers/read", "unauthenticated", 2),
            ("Punctual/callers/read", "unauthenticated", 5),
            ("Punctual/sessions/signIn/action", "signInFailed", 3),
            ("Punctual/sessions/signIn/action", "signedIn", 1),
            ("Punctual/sessions/signIn/action", "signedIn", 1),
            ("Punctual/sessions/signIn/action", "signedIn", 1),
            ("Punctual/sessions/signOut/action", "done", 1),
        ]
    );
    assert!(log.text.contains("session "), "{}", log.text);
    for secret in [cookie.split_once('=').unwrap().1, owner.as_str()] {
        assert!(!log.text.contains(secret));
    }
}

#[tokio::test]
async fn sign_ins_count_as_writes_of_their_caller() {
    let caller_limits =
        CallerLimits { writes: Some(Rate { per_second: 0.1, burst: 2.0 }), ..CallerLimits::default() };
    let world = World::build(Settings { caller_limits, ..Settings::default() }, AccessMode::Auto);
    let (one, other) = (
        world.token("one", &[(Role::Reader, "/")]).await,
        world.token("other", &[(Role::Reader, "/")]).await,
    );
    signed_in(&world, &one).await;
    signed_in(&world, &one).await;
    sign_in(&world, &one, &[]).await.refused(429, "TooManyRequests");
    signed_in(&world, &other).await;
}

#[tokio::test]
async fn an_owner_sees_who_is_signed_in_and_ends_it() {
    let (world, owner) = guarded().await;
    let ci = world.token("ci", &[(Role::Owner, "/subscriptions/s")]).await;
    let (mine, one, two) =
        (signed_in(&world, &owner).await, signed_in(&world, &ci).await, signed_in(&world, &ci).await);
    for method in ["GET", "DELETE"] {
        as_page(&world, &one, method, SESSIONS).await.refused(403, "AuthorizationFailed");
    }
    let listed = as_page(&world, &mine, "GET", SESSIONS).await.is(200);
    // To look at a session is no use of its token.
    world.advance(SignedDuration::from_secs(90));
    as_page(&world, &mine, "GET", SESSIONS).await.is(200);
    let tokens = as_page(&world, &mine, "GET", "/tokens?api-version=2026-11-01").await.is(200);
    let used = tokens.body["value"].as_array().unwrap().iter().find(|token| token["name"] == "ci").unwrap();
    assert_eq!(used["lastUsedAt"], "2026-11-15T12:00:00Z");
    let rows = listed.body["value"].as_array().unwrap();
    let of_ci: Vec<&Value> = rows.iter().filter(|row| row["caller"]["name"] == "ci").collect();
    assert_eq!((rows.len(), of_ci.len()), (3, 2));
    for secret in [&mine, &one, &two] {
        assert!(!listed.text.contains(secret.split_once('=').unwrap().1), "{}", listed.text);
    }
    let me = as_page(&world, &one, "GET", ME).await.is(200);
    let id = me.body["session"]["id"].as_str().unwrap();
    let path = format!("/sessions/{id}?api-version=2026-11-01");
    as_page(&world, &mine, "DELETE", &path).await.is(200);
    as_page(&world, &one, "GET", ME).await.is(401);
    as_page(&world, &two, "GET", ME).await.is(200);
    as_page(&world, &mine, "DELETE", &path).await.refused(404, "SessionNotFound");

    let id = world.token_id("ci").await;
    as_page(&world, &mine, "DELETE", SESSIONS).await.refused(400, "BadRequest");
    let ended = as_page(&world, &mine, "DELETE", &format!("{SESSIONS}&caller={id}")).await.is(200);
    assert_eq!(ended.body, json!({"ended": 1}));
    as_page(&world, &two, "GET", ME).await.is(401);
    as_page(&world, &mine, "GET", ME).await.is(200);
}

#[tokio::test]
async fn only_the_hash_of_a_session_is_stored() {
    let (world, owner) = guarded().await;
    let cookie = signed_in(&world, &owner).await;
    let secret = SessionSecret::parse(cookie.split_once('=').unwrap().1).unwrap();
    let stored = world.store.session(&secret.hash()).await.unwrap().unwrap();
    assert!(!format!("{stored:?}").contains(secret.expose()));
}

#[tokio::test]
async fn the_ways_to_sign_in_are_told_to_everybody() {
    let (world, _) = guarded().await;
    let path = "/session/ways?api-version=2026-11-01";
    let ways = world.get(path).await.is(200);
    assert_eq!(ways.body, json!({"required": true, "token": true, "openId": []}));
    assert_eq!(World::empty().get(path).await.is(200).body["required"], false);
    let none = world.get("/session/openid").await.is(404);
    assert!(none.text.contains("no such provider"), "{}", none.text);
}
