//! Tens of thousands of requests that are nearly right, by callers with and without rights: none is answered by a 500 or
//! not at all, and callers without rights are told nothing.
//!
//! There are two servers, with the same tokens and the same clock. One of them has a group, a collection and jobs, and is
//! changed by those who may. Whoever has no rights there asks both the same: the answers must be equal, so that nobody
//! finds out what there is.
//!
//! `PUNCTUAL_FUZZ_REQUESTS` says how many requests (`scripts/test --long`), `PUNCTUAL_FUZZ_SEED` which.

mod request;

use std::collections::BTreeMap;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::Duration;

use axum::body::Body;
use http::{HeaderName, Method, Request, header};
use punctual_api::AccessMode;
use punctual_model::access::Role;
use serde_json::{Value, json};

use self::request::{Asked, Generator};
use crate::world::{Answer, BASE, World, job};

/// How long an answer may take on a machine that is busy.
const HANG: Duration = Duration::from_secs(60);

/// How often what those who may have deleted is put back.
const REFURNISHED_EVERY: usize = 200;

/// Who calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Who {
    /// Shows nothing.
    Nobody,
    /// Shows something that is no token.
    Impostor,
    /// Has rights somewhere else.
    Stranger(Role),
    /// Has a role in the subscription.
    Insider(Role),
    /// Owns everything.
    Root,
}

impl Who {
    /// Whether the answers must not depend on what there is.
    fn has_no_rights(self) -> bool {
        matches!(self, Self::Nobody | Self::Impostor | Self::Stranger(_))
    }
}

/// Somebody, and the headers that show who it is.
type Shown = (Who, Vec<(HeaderName, String)>);

/// Two servers with the same tokens and the same sessions.
struct Twins {
    furnished: World,
    empty: World,
    callers: Vec<Shown>,
    root: String,
}

impl Twins {
    async fn new() -> Self {
        let (furnished, empty) = (World::with_access(AccessMode::Auto), World::with_access(AccessMode::Auto));
        let (mut callers, mut root) = (Vec::new(), String::new());
        for world in [&furnished, &empty] {
            let mut made = vec![(Who::Nobody, Vec::new())];
            for impostor in [
                "Bearer pct_0000000000000000000000000000000000000000000000000",
                "Bearer eyJhbGciOiJub25lIn0.eyJhcHBpZCI6InJvb3QifQ.",
                "Basic cm9vdDpyb290",
            ] {
                made.push((Who::Impostor, vec![(header::AUTHORIZATION, impostor.to_owned())]));
            }
            for role in Role::ALL {
                // In the same subscription a reader only: how many collections one may make depends on those that there are.
                let outside =
                    [(role, "/subscriptions/other"), (Role::Reader, "/subscriptions/s/resourceGroups/Other")];
                let outside = world.token(&format!("stranger {role}"), &outside).await;
                let inside = world.token(&format!("insider {role}"), &[(role, "/subscriptions/s")]).await;
                for (who, token) in [(Who::Stranger(role), outside), (Who::Insider(role), inside)] {
                    made.push((who, by_session(world, &token).await));
                    made.push((who, by_token(&token)));
                }
            }
            root = world.token("root", &[(Role::Owner, "/")]).await;
            made.push((Who::Root, by_token(&root)));
            world.token("disposable", &[(Role::Reader, "/subscriptions/s")]).await;
            // The keys that sign are drawn now, while both servers draw the same.
            world.call_as(None, "GET", "/common/discovery/keys", Body::empty()).await.is(200);
            callers = made;
        }
        let twins = Self { furnished, empty, callers, root };
        twins.furnish().await;
        twins
    }

    /// Puts what the furnished server has, unless it still does.
    async fn furnish(&self) {
        let put = async |path: &str, body: Value| {
            let answer = self.furnished.call_as(Some(&self.root), "PUT", path, body.to_string()).await;
            assert!(answer.status < 300 || answer.status == 409, "{path}: {}", answer.text);
        };
        put("/subscriptions/s/resourceGroups/Rg", json!({"location": "West US"})).await;
        put("Jc", json!({"location": "West US", "properties": {"sku": {"name": "P20Premium"}}})).await;
        put("Jc/jobs/one", job(json!({"recurrence": {"frequency": "Day"}}))).await;
        put("Jc/jobs/two", job(json!({"state": "Disabled"}))).await;
    }

    /// The answer to a request, and a description of both for whoever looks for a failure.
    async fn ask(&self, (who, headers): &Shown, asked: &Asked) -> Answer {
        let who = *who;
        let answer = self.furnished.send(asked.request(headers)).await;
        let shown = || {
            let body = String::from_utf8_lossy(&asked.body[..asked.body.len().min(400)]).into_owned();
            format!(
                "{who:?} {} {} {:?} {body}\n{} {}",
                asked.method, asked.target, asked.headers, answer.status, answer.text
            )
        };
        assert!(answer.status < 500, "{}", shown());
        if who.has_no_rights() {
            let twin = self.empty.send(asked.request(headers)).await;
            assert_eq!(comparable(&answer, asked), comparable(&twin, asked), "{}", shown());
            assert!(tells_nothing(who, asked, answer.status), "{}", shown());
        } else {
            assert!(is_allowed(who, asked, answer.status), "{}", shown());
        }
        answer
    }
}

fn by_token(token: &str) -> Vec<(HeaderName, String)> {
    vec![(header::AUTHORIZATION, format!("Bearer {token}"))]
}

/// Signs in on the web page, and sends what that sends.
async fn by_session(world: &World, token: &str) -> Vec<(HeaderName, String)> {
    let page = [("sec-fetch-site", "same-origin"), ("x-punctual-page", "1")];
    let page = page.map(|(name, value)| (HeaderName::from_static(name), value.to_owned()));
    let mut request =
        Request::post("/session?api-version=2026-11-01").header(header::CONTENT_TYPE, "application/json");
    for (name, value) in &page {
        request = request.header(name, value);
    }
    let answer =
        world.send(request.body(Body::from(json!({ "token": token }).to_string())).unwrap()).await.is(201);
    let cookie = answer.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    [&page[..], &[(header::COOKIE, cookie)]].concat()
}

/// What of an answer must be the same on both servers: everything but the numbers that each draws.
fn comparable(answer: &Answer, asked: &Asked) -> (u16, Vec<(String, String)>, String) {
    let drawn = ["x-ms-request-id", "x-ms-correlation-request-id", "x-ms-routing-request-id"];
    let headers = answer.headers.iter().filter(|(name, _)| !drawn.contains(&name.as_str()));
    let mut headers: Vec<_> = headers
        .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
        .collect();
    headers.sort();
    // Names are shown in the letter case of whoever wrote them first.
    let mut text = answer.text.to_lowercase();
    // The entries of one's own scopes; their numbers count those of others, too.
    if asked.plain_path() == "/audit" && answer.status == 200 {
        let entries = answer.body["value"].as_array().unwrap().iter();
        text = entries
            .map(|entry| format!("{} {} {}\n", entry["action"], entry["scope"], entry["outcome"]))
            .collect();
        text.push_str(if answer.body["nextLink"].is_null() { "end" } else { "more" });
        headers.retain(|(name, _)| name != "content-length");
    }
    // Whoever may read something in a subscription may know whether it is registered.
    if asked.plain_path().contains("/providers") {
        text = text.replace("\"notregistered\"", "\"registered\"");
        headers.retain(|(name, _)| name != "content-length");
    }
    // A deletion answers an operation whose id is drawn.
    if answer.status == 202 {
        headers.retain(|(name, _)| name != "location");
    }
    (answer.status, headers, text)
}

/// Paths that are answered whoever asks: probes, and what clients ask before they can sign in.
fn is_open(path: &str) -> bool {
    let ends =
        ["/.well-known/openid-configuration", "/discovery/keys", "/oauth2/token", "/oauth2/v2.0/token"];
    let whole = [
        "/healthz",
        "/readyz",
        "/metadata/endpoints",
        "/.well-known/webfinger",
        "/session",
        "/session/ways",
        "/session/openid",
        "/session/callback",
    ];
    whole.contains(&path) || ends.iter().any(|end| path.ends_with(end)) || path.contains("/discovery/")
}

/// Whether somebody without rights may be told this.
///
/// Before anybody is asked who they are, a request is refused for its head: a Host that can't be read (400) or is not ours
/// (421), a page of another site, or the cookie of a session that our own page did not show to have sent (403), a target that is too long (414), too many headers (431).
fn tells_nothing(who: Who, asked: &Asked, status: u16) -> bool {
    let path = asked.plain_path();
    if [414, 431].contains(&status)
        || asked.has_strange_head() && [400, 403, 421].contains(&status)
        || is_open(&path)
    {
        return true;
    }
    match who {
        Who::Nobody | Who::Impostor => status == 401,
        Who::Stranger(_) => {
            // What is on the whole server, with no more than one's own in it; and one's own scopes.
            let general = [
                "/",
                "/me",
                "/tenants",
                "/subscriptions",
                "/audit",
                "/tokens",
                "/jobs",
                "/stats",
                "/agenda",
                "/agenda/jobs",
            ]
            .contains(&path.as_str());
            let within =
                path.starts_with("/tokens/") || path == "/subscriptions/s" || is_general_below(&path);
            let own = path.contains("/subscriptions/other") || path.contains("/resourcegroups/other");
            // 404 and 405 say that there is no such operation, of paths that nobody has. The cookie of a session beside
            // another one is none.
            general || own || within && status < 500 || [401, 403, 404, 405].contains(&status)
        }
        Who::Insider(_) | Who::Root => false,
    }
}

/// Lists of the subscription, which show a stranger no more than the group that it has rights in.
fn is_general_below(path: &str) -> bool {
    path.strip_prefix("/subscriptions/s/").is_some_and(|below| !below.starts_with("resourcegroups/"))
}

/// Whether a role allows what was done, by method and path alone.
fn is_allowed(who: Who, asked: &Asked, status: u16) -> bool {
    let path = asked.plain_path();
    let changes = asked.changes();
    let done = status < 300;
    let ends_with = |ends: &[&str]| ends.iter().any(|end| path.trim_end_matches('/').ends_with(end));
    match who {
        _ if !done || is_open(&path) => true,
        Who::Insider(Role::Reader) => !changes || ends_with(&["/preview", "/diff"]),
        Who::Insider(Role::Operator) => {
            let switch = ends_with(&["/preview", "/diff", "/run", "/rerun", "/enable", "/disable"]);
            !changes || asked.method == Method::PATCH || switch
        }
        Who::Insider(Role::Contributor) => {
            !["/tokens", "/audit", "/sessions", "/keys"].iter().any(|owners| path.starts_with(owners))
        }
        Who::Insider(Role::Owner) => {
            let whole =
                ["/doctor", "/metrics", "/openapi.json", "/audit/verification"].contains(&path.as_str());
            !whole && !path.starts_with("/sessions") && !path.starts_with("/keys")
        }
        Who::Root | Who::Nobody | Who::Impostor | Who::Stranger(_) => true,
    }
}

/// Ends the process if the test stops telling that it goes on: a request that never returns can't be interrupted.
fn watch(seed: u64) -> Sender<String> {
    let (alive, told) = mpsc::channel::<String>();
    std::thread::spawn(move || {
        let mut last = String::new();
        loop {
            match told.recv_timeout(HANG) {
                Ok(asked) => last = asked,
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {
                    eprintln!("PUNCTUAL_FUZZ_SEED={seed}: no answer within {HANG:?} to {last}");
                    std::process::abort();
                }
            }
        }
    });
    alive
}

fn number(name: &str) -> Option<u64> {
    #[expect(clippy::disallowed_methods, reason = "a test is told its length from outside")]
    let text = std::env::var(name).ok()?;
    text.parse().ok()
}

#[tokio::test]
async fn no_request_is_answered_by_a_500_and_callers_without_rights_learn_nothing() {
    let count = number("PUNCTUAL_FUZZ_REQUESTS").unwrap_or(100_000);
    let seed = number("PUNCTUAL_FUZZ_SEED").unwrap_or(0x5eed);
    println!("PUNCTUAL_FUZZ_SEED={seed}, {count} requests");
    let alive = watch(seed);
    let twins = Twins::new().await;
    let disposable = twins.furnished.token_id("disposable").await;
    let of_a_stranger = twins.furnished.token_id("stranger owner").await;
    let mut generator = Generator::new(seed, vec![disposable.clone(), disposable, "nothing".to_owned()]);
    let mut for_strangers =
        Generator::new(seed ^ 0x55, vec![of_a_stranger, twins.furnished.token_id("root").await]);
    let mut statuses: BTreeMap<(Who, u16), usize> = BTreeMap::new();
    let mut sent = 0;
    while sent < usize::try_from(count).unwrap() {
        if sent % REFURNISHED_EVERY == 0 {
            twins.furnish().await;
        }
        let caller = generator.random.of(&twins.callers);
        let who = caller.0;
        let asked = if who.has_no_rights() { for_strangers.draw() } else { generator.draw() };
        let skipped = match who {
            Who::Stranger(Role::Owner) => changes_tokens(&asked),
            // What strangers have is theirs alone, so that it is the same on both servers.
            Who::Insider(_) | Who::Root => asked.plain_path().contains("/other") && asked.changes(),
            Who::Nobody | Who::Impostor | Who::Stranger(_) => false,
        };
        // Sessions are to last until the end.
        if skipped || asked.plain_path() == "/session" && asked.method == Method::DELETE {
            continue;
        }
        alive.send(format!("{who:?} {} {}", asked.method, asked.target)).unwrap();
        let answer = twins.ask(caller, &asked).await;
        *statuses.entry((who, answer.status)).or_default() += 1;
        sent += 1;
    }
    for ((who, status), count) in &statuses {
        println!("{count:8} times {status} to {who:?}");
    }
    let done = |who: Who| statuses.iter().any(|((one, status), _)| *one == who && *status < 300);
    assert!(Role::ALL.into_iter().all(|role| done(Who::Insider(role))), "nothing is done: {statuses:?}");
    let still = twins.furnished.call_as(Some(&twins.root), "GET", &format!("{BASE}/Jc"), Body::empty()).await;
    assert!([200, 404].contains(&still.status), "{}", still.text);
}

/// Whether a request makes a token, or ends one, for whoever owns something. The names of tokens are those of the whole
/// server, so that the answer tells whether somebody has one of that name; and one's own must stay.
fn changes_tokens(asked: &Asked) -> bool {
    asked.plain_path().starts_with("/tokens") && asked.method != Method::GET
}
