//! Secrets are nowhere in the clear: not in an answer, the log at its most talkative, the audit log, what monitoring and the
//! command line show, the files, or a backup of them.
//!
//! Each place that can hold a secret gets one that is searched for afterwards, in every form that [`search`] knows. The
//! targets answer everything that they were sent, so that history would show it.

mod issuer;
mod job;
mod search;

use std::cell::RefCell;
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use punctual_api::ROUTES;
use punctual_arm::ApiVersion;
use punctual_model::Level;
use rusqlite::Connection;
use serde_json::json;

use self::issuer::{CLIENT_SECRET, Issuer};
use self::job::{CORE, Certificate, jobs, refused};
use self::search::Search;
use crate::command::punctual;
use crate::raw::{self, RawAnswer};
use crate::receiver::{ACCESS_TOKEN, Receiver};
use crate::scheduler::wait_for;
use crate::server::Server;

/// A server of which every answer is kept.
struct Recorded<'a> {
    server: &'a Server,
    answers: RefCell<Vec<(String, RawAnswer)>>,
}

impl Recorded<'_> {
    /// An answer that may show its secret to whoever asked for one.
    fn call_unheard(&self, authorization: &str, method: &str, path: &str, body: &str) -> RawAnswer {
        self.exchange(&shown(authorization), method, path, body)
    }

    fn call(&self, authorization: &str, method: &str, path: &str, body: &str) -> u16 {
        self.call_with(&shown(authorization), method, path, body)
    }

    /// A call with any headers, each with a line break at its end.
    fn call_with(&self, headers: &str, method: &str, path: &str, body: &str) -> u16 {
        let answer = self.exchange(headers, method, path, body);
        let status = answer.status;
        self.answers.borrow_mut().push((format!("{method} {path}"), answer));
        status
    }

    fn exchange(&self, headers: &str, method: &str, path: &str, body: &str) -> RawAnswer {
        let request = raw::request(method, &self.server.address, path, headers, body);
        raw::exchange(&self.server.address, request.as_bytes())
    }

    fn findings(&self, search: &Search) -> Vec<String> {
        let mut found = Vec::new();
        for (asked, RawAnswer { head, text, .. }) in &*self.answers.borrow() {
            for secret in search.find(format!("{head}\n{text}").as_bytes()) {
                found.push(format!("{asked}: {secret}: {text}"));
            }
        }
        found
    }
}

/// The header of whoever shows this; none for nobody.
fn shown(authorization: &str) -> String {
    if authorization.is_empty() { String::new() } else { format!("Authorization: {authorization}\r\n") }
}

/// What our own page sends with every request.
const PAGE: &str = "Sec-Fetch-Site: same-origin\r\nX-Punctual-Page: 1\r\nContent-Type: application/json\r\n";

/// The cookie that an answer sets.
fn cookie(answer: &RawAnswer) -> &str {
    let line =
        answer.head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect("a cookie is set");
    line.split(';').next().unwrap()
}

/// Signs in on the web page, with a token and through a provider, and tries to.
fn sign_in_on_the_page(recorded: &Recorded<'_>, token: &str, search: &mut Search) {
    let own = "/session?api-version=2026-11-01";
    let signed_in = recorded.exchange(PAGE, "POST", own, &json!({ "token": token }).to_string());
    assert_eq!(signed_in.status, 201, "{}", signed_in.text);
    let session = cookie(&signed_in);
    search.add("the secret of a session", session.split('=').nth(1).unwrap().as_bytes());
    let me = "/me?api-version=2026-11-01";
    for (cookie, expected) in [(session, 200), (&format!("__Host-punctual-session={CORE}"), 401)] {
        assert_eq!(recorded.call_with(&format!("{PAGE}Cookie: {cookie}\r\n"), "GET", me, ""), expected);
        recorded.call_with(&format!("Cookie: {cookie}\r\n"), "DELETE", own, "");
    }
    for body in [format!("{{\"token\": \"pct_{CORE}\"}}"), format!("{{\"token\": [\"{CORE}\"], \"{CORE}")] {
        assert!((400..500).contains(&recorded.call_with(PAGE, "POST", own, &body)), "{body}");
    }

    let begun = recorded.exchange("Sec-Fetch-Site: none\r\n", "GET", "/session/openid", "");
    assert_eq!(begun.status, 303, "{}", begun.text);
    let state = begun.head.split("state=").nth(1).unwrap().split(['&', '\r']).next().unwrap();
    let login = cookie(&begun);
    search.add("a sign-in that is under way", login.split_once('=').unwrap().1.as_bytes());
    // Of another sign-in; refused by the provider, which repeats the code with our own secret; and once more.
    let mut told = Vec::new();
    for parameters in [format!("state=other&iss={CORE}"), format!("state={state}"), format!("state={state}")]
    {
        let back = format!("/session/callback?code={CORE}-code&{parameters}");
        let answered = recorded.call_with(&format!("Cookie: {login}\r\n"), "GET", &back, "");
        assert!((400..500).contains(&answered), "{answered}");
        told.push(recorded.answers.borrow().last().unwrap().1.text.clone());
    }
    assert!(told[1] != told[0] && told[1] != told[2], "the provider was asked: {told:?}");
    recorded.call_with("", "GET", &format!("/session/callback?code={CORE}&state={CORE}"), "");
}

/// A certificate with its key, and what of them must not be seen.
fn make_certificate(folder: &Path, search: &mut Search) -> Certificate {
    let password = format!("{CORE}-pfx");
    let openssl = |arguments: &str| {
        let run = Command::new("openssl").args(arguments.split(' ')).current_dir(folder).output();
        let run = run.expect("the openssl command line is needed to make a certificate");
        assert!(run.status.success(), "openssl {arguments}: {}", String::from_utf8_lossy(&run.stderr));
        run.stdout
    };
    openssl(
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key.pem -subj /CN=Test -out cert.pem -days 3650",
    );
    openssl(&format!("pkcs12 -export -in cert.pem -inkey key.pem -passout pass:{password} -out it.pfx"));
    let file = fs::read(folder.join("it.pfx")).unwrap();
    search.add("the certificate file", &file[file.len() / 2..][..32]);
    // A sequence of a version and an octet string with the number.
    search.add("the private key", &openssl("ec -in key.pem -outform DER")[7..39]);
    let pfx = String::from_utf8(openssl("base64 -A -in it.pfx")).unwrap().trim().to_owned();
    for name in ["key.pem", "cert.pem", "it.pfx"] {
        fs::remove_file(folder.join(name)).unwrap();
    }
    Certificate { pfx, password }
}

/// The path of each operation, with names of things that there are.
fn paths(token_id: &str) -> Vec<String> {
    let mut paths = Vec::new();
    for route in ROUTES {
        let collection = "/subscriptions/s1/resourceGroups/g1/providers/Microsoft.Scheduler/jobCollections/c";
        let scopes: Vec<String> = match route.level {
            Level::Everything => vec![String::new()],
            Level::Subscription => vec!["/subscriptions/s1".to_owned()],
            Level::Group => vec!["/subscriptions/s1/resourceGroups/g1".to_owned()],
            Level::Collection => vec![collection.to_owned()],
            Level::Job => NAMES.iter().map(|name| format!("{collection}/jobs/{name}")).collect(),
        };
        let tail = route
            .tail
            .replace("{tokenId}", token_id)
            .replace("{tenant}", "adfs")
            .replace("{operationId}", "x")
            .replace("{sessionId}", "x")
            .replace("{keyId}", "1");
        paths.extend(scopes.iter().map(|scope| format!("{scope}/{tail}")));
    }
    // What others serve for scrapers, should it ever be served here.
    paths.extend(["/debug", "/status", "/config"].map(str::to_owned));
    paths
}

/// The jobs that there are; the last two are never stored.
const NAMES: [&str; 12] = [
    "headers",
    "user-info",
    "basic",
    "oauth",
    "oauth-refused",
    "certificate",
    "storage-queue",
    "bus-queue",
    "bus-topic",
    "bus-amqp",
    "refused",
    "nothing",
];

/// What a verb of the command line says to its user.
fn said(arguments: &[&str], token: &str, input: &str) -> Vec<u8> {
    let mut command = punctual();
    command.args(arguments).env("PUNCTUAL_TOKEN", token).stdin(std::process::Stdio::piped());
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    [output.stdout, output.stderr].concat()
}

#[test]
fn secrets_are_nowhere_in_the_clear() {
    let folder = tempfile::tempdir().unwrap();
    let (data, log, backup) =
        (folder.path().join("data"), folder.path().join("log"), folder.path().join("backup"));
    let mut search = Search::new();
    search.add("a secret of a request", CORE.as_bytes());
    search.add("the access token of an action", ACCESS_TOKEN.as_bytes());
    let certificate = make_certificate(folder.path(), &mut search);
    let (receiver, issuer) = (Receiver::start(), Issuer::start());
    let jobs = jobs(&receiver, &certificate);
    assert!(jobs.iter().zip(NAMES).all(|((made, _), named)| *made == named));

    let directory = data.to_str().unwrap().to_owned();
    let owner = ["token", "create", "owner", "--role", "owner", "--scope", "/", "--data", &directory];
    let owner = crate::command::stdout(&owner, "").trim_end().to_owned();
    let config = folder.path().join("punctual.toml");
    fs::write(&config, issuer.settings()).unwrap();
    let monitoring = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let mut command = punctual();
    command
        .env("PUNCTUAL_LOG__LEVEL", "trace")
        .env("PUNCTUAL_LOG__ACCESS", "true")
        .env("PUNCTUAL_SERVER__MONITORING_LISTEN", &monitoring)
        .env("PUNCTUAL_SERVER__PUBLIC_URL", "https://scheduler.example.com")
        .env(CLIENT_SECRET, format!("{CORE}-client"))
        .env("PUNCTUAL_LIMITS__SIGN_IN_FAILURES_PER_MINUTE", "0")
        .env(
            "PUNCTUAL_ACTIONS__CREDENTIAL_HEADERS",
            "X-Mine,X-Api-Key,Api-Key,X-Functions-Key,Ocp-Apim-Subscription-Key",
        )
        .env("PUNCTUAL_ACTIONS__OAUTH_AUTHORITY", receiver.url("/oauth"))
        .env("PUNCTUAL_ACTIONS__STORAGE_QUEUE_ENDPOINT", receiver.url("/echo-{account}"))
        .env("PUNCTUAL_ACTIONS__SERVICE_BUS_REST_ENDPOINT", receiver.url("/echo-{namespace}"))
        .env("PUNCTUAL_ACTIONS__SERVICE_BUS_AMQP_ENDPOINT", "amqp://127.0.0.1:1")
        .stderr(File::create(&log).unwrap());
    let server = Server::start_as(&mut command, &data, &["--config", config.to_str().unwrap()]);
    let recorded = Recorded { server: &server, answers: RefCell::default() };
    let root = format!("Bearer {owner}");

    // Whoever gets a secret is told it once, and it is nowhere else.
    let own = "?api-version=2026-11-01";
    let grant = json!({"name": "made", "grants": [{"role": "contributor", "scope": "/subscriptions/s1"}]})
        .to_string();
    let made = recorded.call_unheard(&root, "POST", &format!("/tokens{own}"), &grant).json();
    let id = made["id"].as_str().unwrap().to_owned();
    let rotated = recorded.call_unheard(&root, "POST", &format!("/tokens/{id}/rotate{own}"), "").json();
    let (first, second) = (made["token"].as_str().unwrap(), rotated["token"].as_str().unwrap());
    let form = format!("grant_type=client_credentials&client_id={id}&client_secret={second}");
    let signed_in = recorded.call_unheard("", "POST", "/adfs/oauth2/token", &form).json();
    let jwt = signed_in["access_token"].as_str().unwrap();
    let (foreign, expired) = (issuer.token(true), issuer.token(false));
    for (name, secret) in [("the owner's token", &owner[..]), ("a token", first), ("a rotated token", second)]
    {
        search.add(name, secret.strip_prefix("pct_").unwrap().as_bytes());
    }
    for (name, token) in [("a JWT", jwt), ("a JWT of an issuer", &foreign), ("an expired JWT", &expired)] {
        let mut parts = token.rsplit('.');
        search.add(name, parts.next().unwrap().as_bytes());
        search.add(&format!("the claims of {name}"), parts.next().unwrap().as_bytes());
    }
    // The first key, and one that follows it.
    assert_eq!(recorded.call(&root, "POST", &format!("/keys/rotate{own}"), ""), 200);
    let keys = fs::read_to_string(data.join("keys")).unwrap();
    let keys: Vec<&str> = keys.split_whitespace().filter(|word| word.len() >= 32).collect();
    assert_eq!(keys.len(), 2, "there are two keys");
    for key in keys {
        search.add("a key that seals", key.as_bytes());
    }

    // Callers of every kind, and those who try to be one.
    for (authorization, expected) in [
        (&*root, 200),
        (&format!("Bearer {first}"), 401),
        (&format!("Bearer {second}"), 200),
        (&format!("Bearer {jwt}"), 200),
        (&format!("Bearer {foreign}"), 200),
        (&format!("Bearer {expired}"), 401),
        (&format!("Bearer pct_{CORE}{CORE}{CORE}{CORE}{}", &CORE[..5]), 401),
        (&format!("Bearer {CORE}"), 401),
        (&format!("Basic {CORE}"), 401),
        (&format!("{CORE} {CORE}"), 401),
        (&format!("Bearer {}.{}.{CORE}", jwt.split('.').next().unwrap(), CORE), 401),
    ] {
        assert_eq!(recorded.call(authorization, "GET", "/tenants?api-version=1", ""), expected);
    }
    for form in [
        format!("grant_type=client_credentials&client_id={id}&client_secret={CORE}"),
        format!("grant_type=client_credentials&client_id={id}&client_secret={first}"),
        format!("grant_type=client_credentials&client_id={id}&client_secret={CORE}&client_secret={CORE}"),
        format!("grant_type=password&client_id={id}&username=u&password={CORE}"),
        format!("grant_type=client_credentials&client_assertion={CORE}"),
    ] {
        assert!((400..500).contains(&recorded.call("", "POST", "/adfs/oauth2/token", &form)), "{form}");
    }

    sign_in_on_the_page(&recorded, &owner, &mut search);

    // Jobs with secrets, which are stored, refused, changed and carried out.
    let collection =
        json!({"location": "West US", "properties": {"sku": {"name": "P20Premium"}}}).to_string();
    assert_eq!(recorded.call(&root, "PUT", &Server::path("/c"), &collection), 201);
    for (name, body) in &jobs {
        let path = Server::path(&format!("/c/jobs/{name}"));
        let created = recorded.call(&root, "PUT", &path, &body.to_string());
        assert_eq!(created, 201, "{name}: {}", recorded.answers.borrow().last().unwrap().1.text);
        for body in refused(body) {
            for version in ApiVersion::ALL {
                let path = Server::path("/c/jobs/refused").replace("2016-03-01", version.as_str());
                recorded.call(&root, "PUT", &path, &body);
                recorded.call(&root, "PATCH", &path, &body);
            }
        }
        recorded.call(&root, "DELETE", &Server::path("/c/jobs/refused"), "");
    }
    for name in &NAMES[..10] {
        wait_for(&format!("both actions of {name} were carried out"), || {
            let page = recorded
                .call_unheard(&root, "GET", &Server::path(&format!("/c/jobs/{name}/history")), "")
                .json();
            (page["value"].as_array()?.len() == 2).then_some(())
        });
    }
    // They did arrive, and were answered.
    let sent: String = receiver.hits().iter().map(|hit| format!("{hit:?}\n")).collect();
    let arrived = search.find(sent.as_bytes());
    for name in ["a secret of a request as it is", "the access token of an action as it is"] {
        assert!(arrived.contains(name), "{arrived:?}");
    }
    let history = recorded.call_unheard(&root, "GET", &Server::path("/c/jobs/headers/history"), "").text;
    assert!(history.contains("***"), "the target's answer is shown without secrets: {history}");

    let metrics = recorded.call_unheard(&root, "GET", "/metrics", "").text;
    let counted = |step| {
        let sample = format!("step=\"{step}\",try=\"first\",outcome=\"failed\"}} ");
        metrics.lines().filter(|line| line.split_once(&sample).is_some_and(|(_, count)| count != "0")).count()
    };
    assert_eq!(
        [counted("main"), counted("error")],
        [4, 4],
        "each kind of action was fired and counted: {metrics}"
    );

    for path in paths(&id) {
        for version in ApiVersion::ALL {
            let path = format!("{path}?api-version={}", version.as_str());
            for authorization in ["", &root, &format!("Bearer {second}"), &format!("Bearer {foreign}")] {
                recorded.call(authorization, "GET", &path, "");
                recorded.call(authorization, "HEAD", &path, "");
            }
            let request = raw::request("GET", &monitoring, &path, "", "");
            let answer = raw::exchange(&monitoring, request.as_bytes());
            recorded.answers.borrow_mut().push((format!("monitoring {path}"), answer));
        }
        recorded.call(&root, "PATCH", &format!("{path}?api-version=2016-03-01"), &format!("{{\"{CORE}"));
    }
    // Who moves a job elsewhere must bring its secrets again.
    for (name, body) in &jobs {
        let moved = body.to_string().replace(&receiver.address.to_string(), "other.example");
        recorded.call(&root, "PATCH", &Server::path(&format!("/c/jobs/{name}")), &moved);
        let elsewhere =
            json!({"properties": {"action": {"request": {"uri": "http://other.example/"}}}}).to_string();
        recorded.call(&root, "PATCH", &Server::path(&format!("/c/jobs/{name}")), &elsewhere);
    }

    let address = format!("http://{}", server.address);
    let mut told = Vec::new();
    for arguments in [
        &["audit", "list", "--server", &address][..],
        &["audit", "export", "--server", &address],
        &["audit", "verify", "--server", &address],
        &["token", "list", "--server", &address],
        &["doctor", "--server", &address],
    ] {
        told.push((arguments.join(" "), said(arguments, &owner, "")));
        told.push((arguments.join(" "), said(arguments, &format!("pct_{CORE}"), "")));
    }
    for (name, body) in &jobs {
        told.push((format!("preview {name}"), said(&["preview"], &owner, &body.to_string())));
        let broken = body.to_string();
        told.push((format!("preview {name}"), said(&["preview"], &owner, &broken[..broken.len() - 2])));
    }

    // A backup while it runs: the files as they are, and as SQLite copies them.
    fs::create_dir(&backup).unwrap();
    for name in ["punctual.db", "punctual.db-wal", "punctual.db-shm"] {
        fs::copy(data.join(name), backup.join(format!("raw-{name}"))).unwrap();
    }
    let copy = backup.join("copy.db");
    let connection = Connection::open(data.join("punctual.db")).unwrap();
    connection.execute("VACUUM INTO ?1", [copy.to_str().unwrap()]).unwrap();
    connection.close().unwrap();
    let running = search.find_below(&data, &data.join("keys"));
    let found = recorded.findings(&search);
    let answer_count = recorded.answers.borrow().len();
    drop(recorded);
    let printed = server.stop().join("\n");

    for arguments in [
        &["audit", "export", "--data", &directory][..],
        &["audit", "verify", "--data", &directory],
        &["token", "list", "--data", &directory],
        &["doctor", "--data", &directory],
    ] {
        told.push((arguments.join(" "), said(arguments, "", "")));
    }
    told.push(("what the server printed".to_owned(), printed.into_bytes()));
    let told: Vec<String> = told
        .iter()
        .flat_map(|(what, text)| search.find(text).into_iter().map(move |secret| format!("{what}: {secret}")))
        .collect();
    fs::remove_file(&config).unwrap();
    let stopped = search.find_below(folder.path(), &data.join("keys"));
    println!("{answer_count} answers, {} bytes of log", fs::metadata(&log).unwrap().len());
    assert_eq!(
        (found, told, running, stopped),
        <(Vec<String>, Vec<String>, Vec<String>, Vec<String>)>::default()
    );
}
