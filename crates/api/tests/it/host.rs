//! Whom a request is addressed to, and whether a page of another site has sent it.

use axum::body::Body;
use http::{Request, Version, header};
use punctual_api::{AccessMode, Hosts, Peer, Settings};
use punctual_model::access::Role;

use crate::world::{Answer, World, request, target};

fn to(host: &str) -> Request<Body> {
    request("GET", "Jc", (header::HOST, host))
}

async fn world() -> World {
    let world = World::with_settings(Settings {
        hosts: Hosts::new(["scheduler.example.com", "punctual"]),
        ..Settings::default()
    });
    world.put("Jc", serde_json::json!({"location": "West US"})).await.is(201);
    world
}

#[tokio::test]
async fn a_name_that_is_not_ours_reaches_nothing() {
    let world = world().await;
    for host in ["localhost", "LOCALHOST:8380", "localhost.:1", "Scheduler.Example.Com.", "punctual:8380"] {
        world.send(to(host)).await.is(200);
    }
    for host in ["127.0.0.1", "192.0.2.7:8380", "[::1]", "[2001:db8::1]:8380"] {
        world.send(to(host)).await.is(200);
    }
    for host in [
        "evil.example",
        "evil.example:8380",
        "example.com",
        "a.scheduler.example.com",
        "localhost.evil.example",
    ] {
        let message = world.send(to(host)).await.refused(421, "MisdirectedRequest");
        assert!(message.contains("server.hosts"), "{message}");
        for method in ["HEAD", "PUT", "PATCH", "DELETE", "POST", "OPTIONS"] {
            let answer = world.send(request(method, "Jc", (header::HOST, host))).await;
            assert_eq!(answer.status, 421, "{method} {host}");
        }
    }
    // Not even which paths there are.
    world.send(request("GET", "/nowhere", (header::HOST, "evil.example"))).await.is(421);
    world.get("Jc").await.is(200);
}

#[tokio::test]
async fn a_name_that_is_not_ours_is_told_before_who_calls() {
    let world = World::with_access(AccessMode::Auto);
    world.token("owner", &[(Role::Owner, "/")]).await;
    world.send(to("evil.example")).await.refused(421, "MisdirectedRequest");
    world.send(to("localhost")).await.refused(401, "AuthenticationFailed");
}

#[tokio::test]
async fn probes_come_under_any_name() {
    let world = World::empty();
    for path in ["/healthz", "/readyz"] {
        for host in ["evil.example", "10.1.2.3:80", "not a host!"] {
            world.send_as_is(request("GET", path, (header::HOST, host))).await.is(200);
            world.send_as_is(request("HEAD", path, (header::HOST, host))).await.is(200);
        }
        let without = Request::builder().uri(path).body(Body::empty()).unwrap();
        world.send_as_is(without).await.is(200);
    }
    world.send(request("GET", "/doctor", (header::HOST, "evil.example"))).await.is(421);
    world.send(request("GET", "/", (header::HOST, "evil.example"))).await.is(421);
    // What clients ask for before they sign in is no probe.
    for path in ["/metadata/endpoints", "/.well-known/webfinger", "/t/.well-known/openid-configuration"] {
        world.send(request("GET", path, (header::HOST, "evil.example"))).await.is(421);
    }
    world.send(request("POST", "/t/oauth2/token", (header::HOST, "evil.example"))).await.is(421);
}

#[tokio::test]
async fn a_host_that_is_missing_twofold_or_not_readable_is_an_error() {
    let world = world().await;
    let check = async |request: Request<Body>, expected: &str| {
        let message = world.send_as_is(request).await.refused(400, "BadRequest");
        assert!(message.starts_with(expected), "{message}");
    };
    let without = || Request::builder().uri(target("Jc")).body(Body::empty()).unwrap();
    check(without(), "There is no Host header.").await;
    let mut old = without();
    *old.version_mut() = Version::HTTP_10;
    world.send_as_is(old).await.is(200);
    let mut twofold = to("localhost");
    twofold.headers_mut().append(header::HOST, "localhost".parse().unwrap());
    check(twofold, "There is more than one Host header.").await;
    for host in ["", "a b", "localhost, evil.example", "user@localhost", "localhost:x", "[::1", "::1"] {
        check(to(host), "The Host header is not a host and a port.").await;
    }
}

/// A request as HTTP/2 has it: whom it is addressed to is a part of its target.
fn over_http_2(method: &str, authority: &str, headers: &[(&str, &str)]) -> Request<Body> {
    let mut request = Request::builder()
        .method(method)
        .version(Version::HTTP_2)
        .uri(format!("https://{authority}{}", target("Jc")));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Body::from(r#"{"location": "West US"}"#)).unwrap()
}

#[tokio::test]
async fn over_http_2_it_is_the_authority_that_counts() {
    let world = world().await;
    world.send(over_http_2("GET", "localhost:8380", &[])).await.is(200);
    world.send(over_http_2("GET", "[::1]:8380", &[])).await.is(200);
    world.send(over_http_2("GET", "evil.example", &[])).await.refused(421, "MisdirectedRequest");
    world.send(over_http_2("GET", "localhost", &[("host", "LOCALHOST")])).await.is(200);
    for (authority, host) in [("localhost", "evil.example"), ("evil.example", "localhost")] {
        let answer = world.send(over_http_2("GET", authority, &[("host", host)])).await;
        let message = answer.refused(400, "BadRequest");
        assert!(message.contains("different hosts"), "{message}");
    }
    // A page of ours may do everything.
    let own = &[("origin", "https://localhost:8380"), ("sec-fetch-site", "same-origin")];
    world.send(over_http_2("PUT", "localhost:8380", own)).await.is(201);
    world.send(over_http_2("GET", "localhost:8380", own)).await.is(200);
    let foreign = &[("origin", "https://localhost:8381")];
    world.send(over_http_2("PUT", "localhost:8380", foreign)).await.refused(403, "CrossOriginRequest");
}

async fn from_a_page(world: &World, method: &str, headers: &[(&str, &str)]) -> Answer {
    let mut request = Request::builder().method(method).uri(target("Jc")).header("host", "localhost:8380");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    world.send(request.body(Body::from(r#"{"location": "West US"}"#)).unwrap()).await
}

#[tokio::test]
async fn pages_of_other_sites_give_no_orders() {
    let world = world().await;
    let foreign: [&[(&str, &str)]; 9] = [
        &[("origin", "https://evil.example")],
        &[("origin", "http://localhost:8381")],
        &[("origin", "null")],
        &[("origin", "")],
        &[("origin", "http://localhost:8380"), ("origin", "https://evil.example")],
        &[("sec-fetch-site", "cross-site")],
        &[("sec-fetch-site", "same-site")],
        &[("sec-fetch-site", "cross-site"), ("origin", "http://localhost:8380")],
        &[("sec-fetch-site", "same-origin"), ("origin", "https://evil.example")],
    ];
    for headers in foreign {
        for method in ["PUT", "PATCH", "POST", "DELETE"] {
            from_a_page(&world, method, headers).await.refused(403, "CrossOriginRequest");
        }
    }
    world.get("Jc").await.is(200);
    // A link to us in another page is fine, a script that reads is not.
    from_a_page(&world, "GET", &[("sec-fetch-site", "cross-site")]).await.is(200);
    let reading = from_a_page(&world, "GET", &[("origin", "https://evil.example")]).await;
    reading.refused(403, "CrossOriginRequest");
}

#[tokio::test]
async fn pages_of_ours_and_clients_that_are_no_browsers_may() {
    let world = world().await;
    let own: [&[(&str, &str)]; 5] = [
        &[],
        &[("origin", "http://localhost:8380")],
        &[("origin", "http://LOCALHOST:8380"), ("sec-fetch-site", "same-origin")],
        &[("origin", "null"), ("sec-fetch-site", "same-origin")],
        &[("sec-fetch-site", "none")],
    ];
    for headers in own {
        from_a_page(&world, "PUT", headers).await.is(201);
        from_a_page(&world, "GET", headers).await.is(200);
    }
}

#[tokio::test]
async fn the_listener_for_probes_asks_nobody_and_serves_nothing_else() {
    let world = World::with_access(AccessMode::Auto);
    world.token("owner", &[(Role::Owner, "/")]).await;
    for path in ["/healthz", "/readyz", "/doctor", "/metrics"] {
        world.monitor(request("GET", path, (header::HOST, "127.0.0.1:8381"))).await.is(200);
    }
    for path in ["/", "/openapi.json", "/tokens", "/subscriptions/s/providers", "Jc"] {
        let answer = world.monitor(request("GET", path, (header::HOST, "127.0.0.1:8381"))).await;
        answer.refused(404, "NotFound");
    }
    for method in ["PUT", "POST", "DELETE"] {
        let answer = world.monitor(request(method, "Jc", (header::HOST, "127.0.0.1:8381"))).await;
        answer.refused(404, "NotFound");
    }
    // No page of another site reads there what was found.
    world.monitor(request("GET", "/doctor", (header::HOST, "evil.example"))).await.is(421);
    world.monitor(request("GET", "/metrics", (header::HOST, "evil.example"))).await.is(421);
    world.monitor(request("GET", "/healthz", (header::HOST, "evil.example"))).await.is(200);
}

#[tokio::test]
async fn the_audit_log_says_where_a_request_came_from_through_trusted_proxies() {
    let settings = Settings { trusted_proxies: vec!["10.0.0.0/8".parse().unwrap()], ..Settings::default() };
    let world = World::build(settings, AccessMode::Auto);
    let owner = world.token("owner", &[(Role::Owner, "/")]).await;
    for (name, peer) in [("Jc", "10.0.0.1:5"), ("Other", "192.0.2.1:5")] {
        let mut put = request("PUT", name, (header::AUTHORIZATION, &format!("Bearer {owner}")));
        put.headers_mut().insert("x-forwarded-for", "203.0.113.9, 198.51.100.7".parse().unwrap());
        put.extensions_mut().insert(Peer(peer.parse().unwrap()));
        *put.body_mut() = Body::from(r#"{"location": "West US"}"#);
        world.send(put).await.is(201);
    }
    let path = "/audit?api-version=2026-11-01";
    let listed =
        world.send(request("GET", path, (header::AUTHORIZATION, &format!("Bearer {owner}")))).await.is(200);
    let mut sources: Vec<&str> = listed.body["value"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["source"].as_str().unwrap())
        .collect();
    sources.sort_unstable();
    assert_eq!(sources, ["192.0.2.1", "198.51.100.7"]);
}
