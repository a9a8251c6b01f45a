//! The web page's own files, and that it takes nothing from the API.

use std::sync::Arc;

use axum::body::Body;
use http::{Request, header};
use punctual_api::{AccessMode, Hosts, Page, PageFile, ROUTES, Settings};
use punctual_model::Level;
use punctual_model::access::Role;

use crate::world::{Answer, World, target};

const INDEX: &str = "<!doctype html><head><base href=\"/\"><title>Page</title></head>";

/// What gzip makes of it does not matter here.
const FILES: &[PageFile] = &[
    PageFile { path: "assets/a-1.js", content: b"let a = 1;", gzip: Some(b"a in gzip") },
    PageFile { path: "assets/b-1.woff2", content: b"font", gzip: None },
    PageFile { path: "favicon.svg", content: b"<svg/>", gzip: None },
];

fn settings(public_url: Option<&str>) -> Settings {
    Settings {
        public_url: public_url.map(str::to_owned),
        hosts: Hosts::new(["tools.example.com"]),
        page: Some(Arc::new(Page::new(INDEX, FILES, public_url))),
        ..Settings::default()
    }
}

fn world() -> World {
    World::with_settings(settings(None))
}

async fn ask(world: &World, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    world.send(request.body(Body::empty()).unwrap()).await
}

const BROWSER: &[(&str, &str)] = &[("accept", "text/html,*/*;q=0.8"), ("sec-fetch-dest", "document")];

#[tokio::test]
async fn a_browser_gets_the_page_and_a_program_the_api() {
    let world = world();
    let page = ask(&world, "GET", "/", BROWSER).await.is(200);
    assert_eq!(page.text, INDEX);
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    for accept in ["*/*", "application/json"] {
        let answer = ask(&world, "GET", "/", &[("accept", accept)]).await.is(200);
        assert_eq!(answer.body["name"], "punctual");
    }
    assert_eq!(ask(&world, "GET", "/", &[]).await.is(200).body["name"], "punctual");
    for path in
        ["/jobs", "/jobs/s/g/c/j", "/collections/s/g/c/new", "/audit", "/bulk/1", "/settings", "/signin"]
    {
        assert_eq!(ask(&world, "GET", path, BROWSER).await.is(200).text, INDEX, "{path}");
    }
    let audit = ask(&world, "GET", "/audit?api-version=2026-11-01", BROWSER).await.is(200);
    assert!(audit.body["value"].is_array());
}

#[tokio::test]
async fn the_page_takes_no_operation_from_the_api() {
    let world = world();
    for route in ROUTES.iter().filter(|route| route.methods.contains(&"GET")) {
        let scope = match route.level {
            Level::Everything => "",
            Level::Subscription => "/subscriptions/s",
            Level::Group => "/subscriptions/s/resourceGroups/g",
            Level::Collection => {
                "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/c"
            }
            Level::Job => {
                "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/c/jobs/j"
            }
        };
        let path = format!("{scope}/{}", route.tail.replace(['{', '}'], ""));
        let is_page =
            |answer: &Answer| answer.text == INDEX || answer.header("content-security-policy").is_some();
        for headers in
            [&[][..], &[("accept", "application/json")], &[("accept", "*/*"), ("sec-fetch-dest", "empty")]]
        {
            let answer = ask(&world, "GET", &path, headers).await;
            let of_sign_in = path.starts_with("/session/");
            assert!(of_sign_in || !is_page(&answer), "{path} {headers:?}");
        }
        let versioned = ask(&world, "GET", &format!("{path}?api-version=2026-11-01"), BROWSER).await;
        assert_ne!(versioned.text, INDEX, "{path}");
    }
}

#[tokio::test]
async fn what_a_browser_opens_outside_of_the_page_is_still_the_api() {
    let world = world();
    assert_eq!(ask(&world, "GET", "/healthz", BROWSER).await.is(200).body["status"], "ok");
    assert!(ask(&world, "GET", "/openapi.json", BROWSER).await.is(200).body["paths"].is_object());
    assert!(ask(&world, "GET", &target("Jc"), BROWSER).await.is(404).body["error"].is_object());
}

#[tokio::test]
async fn what_is_nowhere_is_told_by_the_page() {
    let world = world();
    assert_eq!(ask(&world, "GET", "/nowhere", BROWSER).await.is(404).text, INDEX);
    assert!(ask(&world, "GET", "/nowhere", &[]).await.is(404).body["error"].is_object());
}

#[tokio::test]
async fn files_come_with_their_type_and_may_be_kept() {
    let world = world();
    let script = ask(&world, "GET", "/assets/a-1.js", &[]).await.is(200);
    assert_eq!((script.text.as_str(), script.header("content-length")), ("let a = 1;", Some("10")));
    assert_eq!(script.header("content-type"), Some("text/javascript; charset=utf-8"));
    assert_eq!(script.header("cache-control"), Some("public, max-age=31536000, immutable"));
    assert_eq!(script.header("pragma"), None);
    assert_eq!(script.header("vary"), Some("accept-encoding"));
    let font = ask(&world, "GET", "/assets/b-1.woff2", &[("accept-encoding", "gzip")]).await.is(200);
    assert_eq!((font.header("content-type"), font.header("content-encoding")), (Some("font/woff2"), None));
    let icon = ask(&world, "GET", "/favicon.svg", &[]).await.is(200);
    assert_eq!(
        (icon.header("content-type"), icon.header("cache-control")),
        (Some("image/svg+xml"), Some("no-cache"))
    );
    let index = ask(&world, "GET", "/", BROWSER).await.is(200);
    assert_eq!(index.header("cache-control"), Some("no-cache"));
}

#[tokio::test]
async fn gzip_is_for_whoever_takes_it() {
    let world = world();
    let plain = ask(&world, "GET", "/assets/a-1.js", &[("accept-encoding", "br")]).await.is(200);
    let gzip = ask(&world, "GET", "/assets/a-1.js", &[("accept-encoding", "br, gzip")]).await.is(200);
    assert_eq!((gzip.text.as_str(), gzip.header("content-encoding")), ("a in gzip", Some("gzip")));
    assert_eq!((plain.text.as_str(), plain.header("content-encoding")), ("let a = 1;", None));
    assert_ne!(plain.header("etag"), gzip.header("etag"));
}

#[tokio::test]
async fn what_somebody_has_is_not_sent_again() {
    let world = world();
    for (path, headers) in [("/", BROWSER), ("/assets/a-1.js", &[]), ("/favicon.svg", &[])] {
        let first = ask(&world, "GET", path, headers).await.is(200);
        let tag = first.header("etag").unwrap();
        let headers = [headers, &[("if-none-match", tag)]].concat();
        let again = ask(&world, "GET", path, &headers).await.is(304);
        assert_eq!((again.text.as_str(), again.header("etag")), ("", Some(tag)));
        assert_eq!(again.header("cache-control"), first.header("cache-control"));
        assert!(again.header("content-security-policy").is_some());
    }
}

#[tokio::test]
async fn head_says_what_get_would() {
    let world = world();
    for (path, headers) in [("/jobs", BROWSER), ("/assets/a-1.js", &[("accept-encoding", "gzip")][..])] {
        let (get, head) = (
            ask(&world, "GET", path, headers).await.is(200),
            ask(&world, "HEAD", path, headers).await.is(200),
        );
        assert_eq!((head.text.as_str(), head.headers), ("", get.headers));
    }
}

#[tokio::test]
async fn a_file_of_another_build_is_gone_and_is_not_the_page() {
    let world = world();
    for headers in [&[][..], BROWSER] {
        let gone = ask(&world, "GET", "/assets/a-0.js", headers).await.is(404);
        assert_eq!(gone.header("cache-control"), Some("no-store"));
        assert_eq!(gone.header("content-type"), Some("text/plain; charset=utf-8"));
    }
}

#[tokio::test]
async fn nothing_inline_nothing_foreign_and_no_frame_is_allowed() {
    let world = world();
    for (path, headers) in
        [("/", BROWSER), ("/nowhere", BROWSER), ("/assets/a-1.js", &[]), ("/assets/gone.js", &[])]
    {
        let answer = ask(&world, "GET", path, headers).await;
        let policy = answer.header("content-security-policy").unwrap();
        for part in [
            "default-src 'self'",
            "object-src 'none'",
            "base-uri 'self'",
            "frame-ancestors 'none'",
            "form-action 'self'",
        ] {
            assert!(policy.split("; ").any(|found| found == part), "{policy}");
        }
        for never in ["unsafe", "http:", "https:", "*", "blob:"] {
            assert!(!policy.contains(never), "{policy}");
        }
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "same-origin"),
            ("x-frame-options", "DENY"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            assert_eq!(answer.header(name), Some(value), "{path}");
        }
    }
}

#[tokio::test]
async fn the_page_is_for_everybody_and_shows_nothing_by_itself() {
    let world = World::build(settings(None), AccessMode::Auto);
    world.token("owner", &[(Role::Owner, "/")]).await;
    for path in ["/", "/jobs", "/jobs/s/g/c/j", "/assets/a-1.js"] {
        ask(&world, "GET", path, BROWSER).await.is(200);
    }
    // What it would show is not.
    ask(&world, "GET", "/audit?api-version=2026-11-01", BROWSER).await.refused(401, "AuthenticationFailed");
    ask(&world, "GET", "/", &[]).await.refused(401, "AuthenticationFailed");
    // Not whether something exists either.
    let (there, not) =
        (ask(&world, "GET", "/jobs/s/g/c/j", BROWSER).await, ask(&world, "GET", "/jobs/x", BROWSER).await);
    assert_eq!((there.text, there.headers), (not.text, not.headers));
}

#[tokio::test]
async fn only_our_own_names_have_the_page_and_other_sites_may_link_to_it() {
    let world = world();
    ask(&world, "GET", "/", &[&[("host", "evil.example")], BROWSER].concat())
        .await
        .refused(421, "MisdirectedRequest");
    let link = [&[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")], BROWSER].concat();
    ask(&world, "GET", "/jobs", &link).await.is(200);
    let foreign = [("origin", "http://evil.example"), ("sec-fetch-site", "cross-site")];
    ask(&world, "GET", "/assets/a-1.js", &foreign).await.refused(403, "CrossOriginRequest");
}

#[tokio::test]
async fn behind_a_path_everything_is_below_it_whether_the_proxy_leaves_it_away_or_not() {
    let world = World::with_settings(settings(Some("https://tools.example.com/punctual")));
    let place = "/subscriptions/s/resourceGroups/Rg/providers/Microsoft.Scheduler/jobCollections";
    for prefix in ["", "/punctual"] {
        for path in ["/", "/jobs", "/jobs/s/g/c/j?tz=utc"] {
            let page = ask(&world, "GET", &format!("{prefix}{path}"), BROWSER).await.is(200);
            assert!(page.text.contains("<base href=\"/punctual/\">"), "{}", page.text);
        }
        ask(&world, "GET", &format!("{prefix}/assets/a-1.js"), &[]).await.is(200);
        let name = format!("c{}", prefix.len());
        let path = format!("{prefix}{place}/{name}?api-version=2016-03-01");
        let request = Request::builder().method("PUT").uri(&path).header(header::HOST, "tools.example.com");
        let body = Body::from(r#"{"location": "West US"}"#);
        world.send(request.body(body).unwrap()).await.is(201);
        ask(&world, "GET", &path, &[]).await.is(200);
        ask(&world, "GET", &format!("{prefix}/healthz"), &[]).await.is(200);
    }
    assert_eq!(
        ask(&world, "GET", "/punctual", BROWSER).await.is(200).header("cache-control"),
        Some("no-cache")
    );
    ask(&world, "GET", "/punctualx", &[]).await.is(404);
}

#[tokio::test]
async fn links_have_the_path_of_the_proxy_once() {
    let world = World::with_settings(settings(Some("https://tools.example.com/punctual/")));
    world.put("Jc", serde_json::json!({"location": "West US"})).await.is(201);
    for name in ["a", "b"] {
        world.put_job(name, serde_json::json!({})).await.is(201);
    }
    let changes = "/audit?$top=1&api-version=2026-11-01";
    for prefix in ["", "/punctual"] {
        let list = ask(&world, "GET", &format!("{prefix}{changes}"), &[]).await.is(200);
        let next = list.body["nextLink"].as_str().unwrap();
        assert!(next.starts_with("https://tools.example.com/punctual/audit?"), "{next}");
    }
}

#[tokio::test]
async fn without_a_page_there_is_none() {
    let world = World::empty();
    assert_eq!(ask(&world, "GET", "/", BROWSER).await.is(200).body["name"], "punctual");
    ask(&world, "GET", "/assets/a-1.js", BROWSER).await.is(404);
}
