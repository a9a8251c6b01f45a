//! `punctual doctor`, on servers that are well, broken, stopped, and no servers at all.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::command::{punctual, run, stdout};
use crate::receiver::Receiver;
use crate::scheduler::{self, Scheduler};
use crate::server::Server;

/// A server that looks often, and takes little time to call something late.
const EAGER: [(&str, &str); 3] = [("look_seconds", "1"), ("tolerance_seconds", "1"), ("pass_seconds", "1")];

fn eager(folder: &Path) -> String {
    let lines: String = EAGER.iter().map(|(key, value)| format!("{key} = {value}\n")).collect();
    let path = folder.join("eager.toml");
    std::fs::write(&path, format!("[inspector]\n{lines}")).unwrap();
    path.to_str().unwrap().to_owned()
}

fn ask(server: &Server) -> (Option<i32>, Value) {
    let url = format!("http://{}", server.address);
    told(&run(&["doctor", "--output", "json", "--url", &url], ""))
}

fn look_through(data: &Path) -> (Option<i32>, Value) {
    told(&run(&["doctor", "--output", "json", "--data", data.to_str().unwrap()], ""))
}

fn told(output: &Output) -> (Option<i32>, Value) {
    let shown = serde_json::from_slice(&output.stdout);
    (output.status.code(), shown.unwrap_or_else(|_| panic!("{output:?}")))
}

/// The kinds that were found, each with the number of its job.
fn kinds(checkup: &Value) -> Vec<(String, i64)> {
    let findings = checkup["findings"].as_array().unwrap().iter();
    findings
        .map(|finding| (finding["kind"].as_str().unwrap().to_owned(), finding["jobId"].as_i64().unwrap()))
        .collect()
}

/// The kinds of what was found about the clock.
fn kinds_of_clock(checkup: &Value) -> Vec<&str> {
    let findings = checkup["findings"].as_array().unwrap().iter();
    findings.filter(|finding| finding["jobId"].is_null()).map(|one| one["kind"].as_str().unwrap()).collect()
}

/// Asks until a server says what is wanted.
fn wait_for(server: &Server, what: &str, reached: impl Fn(&Value) -> bool) -> Value {
    scheduler::wait_for(what, || Some(ask(server).1).filter(|checkup| reached(checkup)))
}

fn damage(data: &Path, sql: &str) {
    rusqlite::Connection::open(data.join("punctual.db")).unwrap().execute_batch(sql).unwrap();
}

/// The clock of these servers; what they have to do later is not due for whoever looks through their data.
const CLOCK: [&str; 2] = ["--clock-start", "2090-01-01T00:00:00Z"];

/// Starts a server that looks often on such data.
fn start_eager(data: &Path, more: &[&str]) -> Server {
    Server::start(data, &[&CLOCK[..], &["--config", &eager(data)], more].concat())
}

/// Data with the jobs 1 to 3, of which the first has run.
fn data_of_three_jobs() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &CLOCK);
    let receiver = Receiver::start();
    server.put_collection("c");
    let put = |name: &str, properties: Value| {
        let path = Server::path(&format!("/c/jobs/{name}"));
        assert_eq!(server.call("PUT", &path, Some(&json!({"properties": properties}))).status, 201);
    };
    let action = json!({"type": "Http", "request": {"method": "GET", "uri": receiver.url("/a")}});
    put("a", json!({"action": action, "recurrence": {"frequency": "hour"}}));
    put("b", json!({"action": action, "startTime": "2090-06-01"}));
    put("c", json!({"action": action, "startTime": "2090-06-01", "state": "disabled"}));
    while server.call("GET", &Server::path("/c/jobs/a"), None).body["properties"]["status"]["executionCount"]
        != 1
    {
        std::thread::yield_now();
    }
    server.signal("-TERM");
    assert!(server.wait().success());
    folder
}

#[test]
fn what_is_broken_is_found_in_stopped_data_and_by_the_running_server() {
    let check = |sql: &str, kind: &str, job: i64| {
        let folder = data_of_three_jobs();
        let (code, checkup) = look_through(folder.path());
        assert_eq!((code, checkup["status"].as_str()), (Some(0), Some("healthy")), "{checkup}");
        assert_eq!(checkup["scan"]["jobCount"], 3);
        damage(folder.path(), sql);
        let (code, checkup) = look_through(folder.path());
        assert_eq!(code, Some(1), "{sql}");
        assert_eq!(kinds(&checkup), [(kind.to_owned(), job)], "{sql}");
        let server = start_eager(folder.path(), &[]);
        let checkup = wait_for(&server, kind, |checkup| kinds(checkup).contains(&(kind.to_owned(), job)));
        assert_eq!(checkup["status"], "findings");
        assert_eq!(ask(&server).0, Some(1));
    };
    check("DELETE FROM agenda WHERE job = 2", "missing-part", 2);
    check("DELETE FROM jobs WHERE id = 2", "missing-part", 2);
    check("UPDATE agenda SET due_at = NULL WHERE job = 2", "no-entry", 2);
    check(
        "UPDATE agenda SET due_at = 99999999999999999, nominal_at = 0, cause = 0, step = 0, attempt = 0, ordinal = 0 WHERE job = 3",
        "stray-entry",
        3,
    );
    check("UPDATE agenda SET execution_count = 7 WHERE job = 1", "counters", 1);
    check("DELETE FROM history", "counters", 1);
    check("UPDATE agenda SET state = 9 WHERE job = 3", "unreadable", 3);
    check("UPDATE jobs SET document = X'00' WHERE id = 3", "unreadable", 3);
    check("UPDATE history SET status = 99", "unreadable-record", 1);
}

#[test]
fn a_job_that_is_due_and_cannot_be_read_is_a_finding_until_it_is_made_anew() {
    let folder = data_of_three_jobs();
    damage(
        folder.path(),
        "UPDATE jobs SET document = X'00' WHERE id = 2; UPDATE agenda SET due_at = 0 WHERE job = 2",
    );
    let server = start_eager(folder.path(), &[]);
    let unreadable = [("unreadable".to_owned(), 2)];
    let checkup = wait_for(&server, "unreadable", |checkup| kinds(checkup) == unreadable);
    assert_eq!(checkup["findings"][0]["job"].as_str().unwrap().rsplit('/').next(), Some("b"));
    let job = json!({"properties": {"startTime": "2090-06-01", "action":
        {"type": "Http", "request": {"method": "GET", "uri": "http://127.0.0.1:9/"}}}});
    assert_eq!(server.call("DELETE", &Server::path("/c/jobs/b"), None).status, 200);
    assert_eq!(server.call("PUT", &Server::path("/c/jobs/b"), Some(&job)).status, 201);
    let checkup = wait_for(&server, "that all is well", |checkup| checkup["status"] == "healthy");
    let kinds = checkup["kinds"].as_array().unwrap();
    let totals = |name: &str| {
        let kind = kinds.iter().find(|kind| kind["kind"] == name).unwrap();
        (kind["open"].as_u64(), kind["total"].as_u64())
    };
    assert_eq!(totals("unreadable"), (Some(0), Some(1)));
    assert_eq!(totals("stale-claim"), (Some(0), Some(0)), "it was not left claimed");
}

#[test]
fn jobs_are_counted_now_and_faulted_ones_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &CLOCK);
    let first_look = wait_for(&server, "the first look", |checkup| checkup["scan"]["passCount"] == 1);
    assert_eq!((&first_look["jobs"]["count"], &first_look["jobs"]["faultedCount"]), (&json!(0), &json!(0)));
    server.put_collection("c");
    let put = |name: &str, start: &str| {
        let action = json!({"type": "Http", "request": {"method": "GET", "uri": "http://127.0.0.1:9/"},
            "retryPolicy": {"retryType": "none"}});
        let body = json!({"properties": {"action": action, "startTime": start}});
        assert_eq!(server.call("PUT", &Server::path(&format!("/c/jobs/{name}")), Some(&body)).status, 201);
    };
    put("later", "2090-06-01");
    put("never", "2090-06-01");
    assert_eq!(ask(&server).1["jobs"]["count"], 2, "the next look is an hour away");
    assert_eq!(server.call("DELETE", &Server::path("/c/jobs/never"), None).status, 200);
    assert_eq!(ask(&server).1["jobs"]["count"], 1);
    put("fails", "2089-12-31");
    let checkup = wait_for(&server, "a faulted job", |checkup| checkup["jobs"]["faultedCount"] == 1);
    assert_eq!(checkup["status"], "healthy", "a job that fails is no fault of the server");
    let faulted = &checkup["jobs"]["faulted"][0];
    assert!(faulted["job"].as_str().unwrap().ends_with("/jobCollections/c/jobs/fails"), "{faulted}");
    let shown = stdout(&["doctor", "--url", &format!("http://{}", server.address)], "");
    for part in
        [" jobs                   2\n", " faulted jobs           1, lately:\n", "/c/jobs/fails, 2090-01-01T"]
    {
        assert!(shown.contains(part), "{part:?} is not in\n{shown}");
    }
    server.signal("-TERM");
    assert!(server.wait().success());
    let (_, checkup) = look_through(folder.path());
    assert_eq!((&checkup["jobs"]["count"], &checkup["jobs"]["faultedCount"]), (&json!(2), &json!(1)));
}

#[test]
fn what_cannot_be_read_is_left_out_of_lists_and_named_by_answer_and_doctor() {
    let folder = data_of_three_jobs();
    let server = Server::start(folder.path(), &CLOCK);
    server.put_collection("d");
    let list = |path: &str, names: &str, left_out: Option<&str>| {
        let answer = server.call("GET", &Server::path(path), None);
        assert_eq!(answer.status, 200, "{path}");
        let items = answer.body["value"].as_array().unwrap().iter();
        let shown: Vec<_> =
            items.map(|item| item["name"].as_str().unwrap().rsplit('/').next().unwrap()).collect();
        let mut headers = answer.headers.lines();
        let header = headers.find_map(|line| line.strip_prefix("x-punctual-unreadable: "));
        assert_eq!((shown.join(" ").as_str(), header), (names, left_out), "{path}");
    };
    list("", "c d", None);
    list("/c/jobs", "a b c", None);
    damage(
        folder.path(),
        "UPDATE jobs SET document = X'00' WHERE name = 'b';
         UPDATE collections SET document = X'00' WHERE name = 'd';
         UPDATE history SET message = CAST(X'FF' AS TEXT)",
    );
    list("", "c", Some("collection 2 'g1/d'"));
    list("/c/jobs", "a c", Some("job 2 'c/b'"));
    list("/c/jobs/a/history", "", Some("record 1 of job 1"));
    for (path, name) in [("/c/jobs/b", "job 2 'c/b'"), ("/d", "collection 2 'g1/d'")] {
        let answer = server.call("GET", &Server::path(path), None);
        let message = answer.body["error"]["message"].as_str().unwrap();
        assert!(
            answer.status == 500 && message.contains(name) && message.contains("punctual doctor"),
            "{message}"
        );
    }
    let found = |checkup: &Value| {
        let findings = checkup["findings"].as_array().unwrap().iter();
        let told = |finding: &Value| {
            let subject = ["resource", "job", "record"].map(|member| finding[member].clone());
            let subject =
                subject.iter().find(|it| !it.is_null()).map(ToString::to_string).unwrap_or_default();
            format!(
                "{} {}",
                finding["kind"].as_str().unwrap(),
                subject.trim_matches('"').rsplit('/').next().unwrap()
            )
        };
        let mut found: Vec<String> = findings.map(told).collect();
        found.sort();
        found
    };
    let all = ["unreadable b", "unreadable d", "unreadable-record 1"];
    wait_for(&server, "what was left out", |checkup| found(checkup) == all);
    let url = format!("http://{}", server.address);
    let shown = String::from_utf8(run(&["doctor", "--url", &url], "").stdout).unwrap();
    for part in ["/jobCollections/c/jobs/b (job 2)\n", "/jobCollections/d\n", "- record 1 of job 1\n"] {
        assert!(shown.contains(part), "{part:?} is not in\n{shown}");
    }
    for path in ["/c/jobs/b", "/c/jobs/a", "/d"] {
        assert_eq!(server.call("DELETE", &Server::path(path), None).status, 200, "{path}");
    }
    wait_for(&server, "that all is well", |checkup| checkup["status"] == "healthy");
}

#[test]
fn a_finding_is_logged_when_it_appears_and_when_it_is_gone() {
    let folder = data_of_three_jobs();
    damage(folder.path(), "UPDATE agenda SET due_at = NULL WHERE job = 2");
    let log = folder.path().join("log");
    let mut child = punctual()
        .args(["serve", "--listen", "127.0.0.1:0", "--config", &eager(folder.path()), "--data"])
        .arg(folder.path())
        .args(CLOCK)
        .stdout(Stdio::piped())
        .stderr(std::fs::File::create(&log).unwrap())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let url = line.split_whitespace().find_map(|word| word.strip_suffix(',')).unwrap().to_owned();
    let wait_for = |what: &str, reached: &dyn Fn(&Value) -> bool| {
        let ask = || told(&run(&["doctor", "--output", "json", "--url", &url], "")).1;
        scheduler::wait_for(what, || Some(ask()).filter(|checkup| reached(checkup)))
    };
    let seen = wait_for("three passes", &|checkup| checkup["scan"]["passCount"].as_u64() >= Some(3));
    assert_eq!(seen["status"], "findings");
    let path = Server::path("/c/jobs/b");
    for state in ["disabled", "enabled"] {
        let body = json!({"properties": {"state": state}}).to_string();
        let sent =
            Command::new("curl").args(["-sSf", "-X", "PATCH", "-d", &body, &format!("{url}{path}")]).output();
        assert!(sent.unwrap().status.success());
    }
    wait_for("all is well", &|checkup| checkup["status"] == "healthy");
    child.kill().unwrap();
    child.wait().unwrap();
    let log = std::fs::read_to_string(&log).unwrap();
    let count = |text: &str| log.lines().filter(|line| line.contains(text)).count();
    assert_eq!((count("an invariant does not hold"), count("an invariant holds again")), (1, 1), "{log}");
    assert!(
        log.contains(r#"kind="no-entry" job=2 name="c/b" detail="it is enabled and has no entry""#),
        "{log}"
    );
}

#[test]
fn a_busy_server_that_is_well_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let config = eager(folder.path());
    let speed = ["--clock-start", scheduler::START, "--clock-speed", "600", "--config", &config];
    let scheduler = Scheduler::start_with(&speed);
    for index in 0..30 {
        let mut job = scheduler.minutely(if index % 3 == 0 { "/500" } else { "/ok" });
        if index % 5 == 0 {
            job["action"]["retryPolicy"] =
                json!({"retryType": "fixed", "retryInterval": "00:01:00", "retryCount": 2});
        }
        scheduler.put(&format!("j{index}"), &job);
    }
    let mut passes = 0;
    while passes < 3 {
        scheduler.patch("j1", &json!({"state": if passes % 2 == 0 { "disabled" } else { "enabled" }}));
        scheduler.run("j2");
        let (code, checkup) = ask(&scheduler.server);
        let total: u64 =
            checkup["kinds"].as_array().unwrap().iter().filter_map(|kind| kind["total"].as_u64()).sum();
        assert_eq!((code, total), (Some(0), 0), "{checkup}");
        passes = checkup["scan"]["passCount"].as_u64().unwrap();
    }
    scheduler.server.signal("-KILL");
    let Scheduler { server, folder, .. } = scheduler;
    server.wait();
    let (code, checkup) = look_through(folder.path());
    assert_eq!(code, Some(0), "killed while it looked and fired: {checkup}");
    assert_eq!(checkup["scan"]["jobCount"], 30);
    assert!(checkup["schemaVersion"].as_u64() >= Some(2));
}

#[test]
fn the_table_explains_each_finding() {
    let folder = data_of_three_jobs();
    let data = folder.path().to_str().unwrap();
    let shown = stdout(&["doctor", "--data", data], "");
    assert!(shown.starts_with("Everything is all right.\n\n"), "{shown}");
    assert!(shown.contains(" oldest that is due     none\n"), "{shown}");
    damage(folder.path(), "UPDATE agenda SET due_at = NULL WHERE job = 2; DELETE FROM history");
    let shown = String::from_utf8(run(&["doctor", "--data", data], "").stdout).unwrap();
    assert!(shown.starts_with("There are 2 findings.\n\n"), "{shown}");
    for part in [
        "no-entry: 1 now, 1 since the start\n  The job is enabled and has no next time: it will not run.\n",
        "  What to do: Disable and enable the job",
        "  - /subscriptions/s1/resourceGroups/g1/providers/Microsoft.Scheduler/jobCollections/c/jobs/b (job 2)\n",
        "    it counts 1 executions, 0 failures and 0 faulted, and its history has 0, 0 and 0; found at ",
        " jobs                   3\n",
        ", schema version ",
    ] {
        assert!(shown.contains(part), "{part:?} is not in\n{shown}");
    }
}

fn refused(arguments: &[&str], parts: &[&str]) {
    let output = run(&[&["doctor"], arguments].concat(), "");
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
    for part in parts {
        assert!(error.contains(part), "{arguments:?}: {part:?} is not in {error}");
    }
}

#[test]
fn data_that_a_server_owns_or_that_is_none_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    refused(&["--data", data], &["there is no data in"]);
    refused(&["--data", "/no/such/place"], &["there is no data in /no/such/place"]);
    let server = Server::start(folder.path(), &["--role", "api"]);
    refused(&["--data", data], &["is in use by process", "ask the server that runs, with --url"]);
    assert_eq!(ask(&server).0, Some(0), "and the server does not mind");
}

#[test]
fn data_of_a_virtual_clock_is_not_ahead_of_the_clock_of_whoever_looks_through_it() {
    let folder = data_of_three_jobs();
    let (code, checkup) = look_through(folder.path());
    assert_eq!((code, kinds(&checkup)), (Some(0), Vec::new()), "{checkup}");
    // A server that takes it over on the machine's clock puts the jobs back to that.
    let server = Server::start(folder.path(), &["--config", &eager(folder.path())]);
    let found = |checkup: &Value| kinds_of_clock(checkup) == ["clock-back"];
    wait_for(&server, "the clock is behind the data", found);
}

#[test]
fn data_that_is_damaged_beyond_reading_is_a_failure() {
    let folder = data_of_three_jobs();
    let log = folder.path().join("punctual.db-wal");
    assert!(!log.exists(), "a server that was stopped has copied its log into the data file");
    std::fs::write(folder.path().join("punctual.db"), [7; 20_000]).unwrap();
    let output = run(&["doctor", "--data", folder.path().to_str().unwrap()], "");
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("could not open the data file"), "{error}");
}

#[test]
fn every_role_is_inspected_unless_that_is_switched_off() {
    let folder = tempfile::tempdir().unwrap();
    for role in ["all", "api", "runner"] {
        let server = Server::start(folder.path(), &["--role", role]);
        let (code, checkup) = ask(&server);
        assert_eq!((code, checkup["status"].as_str()), (Some(0), Some("healthy")), "{role}");
        server.signal("-TERM");
        assert!(server.wait().success());
    }
    let config = folder.path().join("off.toml");
    std::fs::write(&config, "[inspector]\nenabled = false\n").unwrap();
    let server = Server::start(folder.path(), &["--config", config.to_str().unwrap()]);
    refused(
        &["--url", &format!("http://{}", server.address)],
        &["does not inspect itself", "inspector.enabled"],
    );
}

#[test]
fn where_nothing_fires_nothing_is_overdue() {
    let folder = data_of_three_jobs();
    damage(folder.path(), "UPDATE agenda SET due_at = 0 WHERE job = 2");
    let (code, checkup) = look_through(folder.path());
    assert_eq!((code, checkup["oldestDue"]["jobId"].as_i64()), (Some(0), Some(2)));
    let server = start_eager(folder.path(), &["--role", "api"]);
    let checkup = wait_for(&server, "two looks", |checkup| checkup["scan"]["passCount"].as_u64() >= Some(3));
    assert_eq!(
        (checkup["status"].as_str(), checkup["oldestDue"]["jobId"].as_i64()),
        (Some("healthy"), Some(2))
    );
}

#[test]
fn a_server_with_tls_is_asked_over_tls() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["--role", "api", "--tls", "self-signed"]);
    let port = server.address.rsplit(':').next().unwrap();
    let certificate = folder.path().join("tls-cert.pem");
    let certificate = certificate.to_str().unwrap();
    for host in ["localhost", "127.0.0.1"] {
        let url = format!("https://{host}:{port}/");
        assert!(stdout(&["doctor", "--url", &url, "--ca", certificate], "").contains("all right"), "{host}");
    }
    let (secure, plain) = (format!("https://localhost:{port}"), format!("http://localhost:{port}"));
    refused(&["--url", &secure], &["could not ask https://localhost", "--ca names a certificate to trust"]);
    refused(&["--url", &plain], &["if the server serves TLS, the URL begins with https://"]);
    refused(&["--url", &secure, "--ca", "/no/such/file"], &["--ca: could not use /no/such/file"]);
}

#[test]
fn a_wrong_url_is_told_without_what_may_be_secret_in_it() {
    refused(&["--url", "127.0.0.1:8380"], &["--server: must begin with http://"]);
    refused(&["--url", "ftp://x/"], &["--server: must begin with http://"]);
    refused(&["--url", "http://x/?q"], &["--server: must have no query"]);
    let output = run(&["doctor", "--url", "http://user:hunter2@127.0.0.1:1/"], "");
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("must have no user name") && !error.contains("hunter2"), "{error}");
}

/// Somebody who answers each connection in a way of his own; each on a thread.
fn stranger(answer: impl Fn(TcpStream) + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answer = std::sync::Arc::new(answer);
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let answer = std::sync::Arc::clone(&answer);
            std::thread::spawn(move || answer(stream));
        }
    });
    url
}

/// Reads the request, so that the connection is not reset under the answer.
fn hear(stream: &mut TcpStream) {
    let _ = stream.read(&mut [0; 4_096]);
}

#[test]
fn whoever_answers_the_end_is_clear_and_comes_in_time() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    refused(&["--url", &format!("http://{closed}")], &["Connection refused", "is the server running?"]);
    let check = |parts: &[&str], answer: fn(TcpStream)| {
        let url = stranger(answer);
        refused(&["--timeout", "1", "--url", &url], parts);
    };
    // Hangs.
    check(&["there is no answer within 1 s"], |mut stream| {
        let _ = stream.read_to_end(&mut Vec::new());
    });
    // Goes away.
    check(&["does not answer in HTTP"], drop);
    // Speaks something else.
    check(&["does not answer in HTTP"], |mut stream| {
        let _ = stream.write_all(b"220 mail.example.com ESMTP\r\n");
        hear(&mut stream);
    });
    // A head without an end.
    check(&["does not answer in HTTP"], |mut stream| {
        hear(&mut stream);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n");
        while stream.write_all(&[b'x'; 4_096]).is_ok() {}
    });
    // A body without an end, fast.
    check(&["its answer is longer than"], |mut stream| {
        hear(&mut stream);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
        while stream.write_all(&[b' '; 65_536]).is_ok() {}
    });
    // A body that trickles.
    check(&["there is no answer within 1 s"], |mut stream| {
        hear(&mut stream);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{");
        let _ = stream.read_to_end(&mut Vec::new());
    });
    // A body that breaks off.
    check(&["its answer breaks off"], |mut stream| {
        hear(&mut stream);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{");
    });
    check(&["it answers 404 Not Found"], |mut stream| {
        hear(&mut stream);
        let _ = stream.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n");
    });
    check(&["its answer is no checkup"], |mut stream| {
        hear(&mut stream);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}");
    });
}

#[test]
fn help_of_doctor_is_golden() {
    let shown = stdout(&["doctor", "--help"], "");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/doctor-help.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, &shown).unwrap();
    }
    assert_eq!(shown, std::fs::read_to_string(path).unwrap_or_default(), "UPDATE_GOLDEN=1 writes it anew");
}
