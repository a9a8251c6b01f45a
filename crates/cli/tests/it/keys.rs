//! Keys as whoever runs a server sees them: rotated while it works, killed in the middle, from wherever they come.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::command::{punctual, run, stdout};
use crate::receiver::Receiver;
use crate::scheduler::wait_for;
use crate::server::{Server, call_at};

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

/// Runs `punctual keys` against a server.
fn ask(server: &Server, arguments: &[&str]) -> Output {
    let address = format!("http://{}", server.address);
    run(&[&["keys"], arguments, &["--server", &address, "--timeout", "60"]].concat(), "")
}

/// The same, where it must succeed, as JSON.
fn told(server: &Server, arguments: &[&str]) -> Value {
    let output = ask(server, &[arguments, &["--output", "json"]].concat());
    assert!(output.status.success(), "{arguments:?}: {}", text(output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The same on the data of a stopped server.
fn told_by(data: &Path, arguments: &[&str]) -> Value {
    let data = data.to_str().unwrap();
    let answer = stdout(&[&["keys"], arguments, &["--data", data, "--output", "json"]].concat(), "");
    serde_json::from_str(&answer).unwrap()
}

/// What was refused, and why.
#[track_caller]
fn refused(output: Output, parts: &[&str]) {
    let error = text(output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    for part in parts {
        assert!(error.contains(part), "{part:?} is not in {error}");
    }
}

fn ids(keys: &Value) -> Vec<u64> {
    keys["keys"].as_array().unwrap().iter().map(|key| key["id"].as_u64().unwrap()).collect()
}

fn wait_until_sealed(server: &Server) -> Value {
    wait_for("everything is sealed anew", || {
        let keys = told(server, &["status"]);
        (keys["resealing"]["done"] == true).then_some(keys)
    })
}

fn with_password(url: &str, password: &str) -> Value {
    json!({"properties": {"startTime": "2027-06-01", "action": {"type": "Http",
        "retryPolicy": {"retryType": "none"}, "request": {"method": "GET", "uri": url,
        "headers": {"X-Api-Key": password}}}}})
}

fn put(server: &Server, name: &str, body: &Value) {
    put_at(&server.address, name, body);
}

fn put_at(address: &str, name: &str, body: &Value) {
    let answer = call_at(address, None, "PUT", &Server::path(&format!("/c/jobs/{name}")), Some(body));
    assert!(matches!(answer.status, 200 | 201), "{}", answer.body);
}

/// A server with so many jobs that have a password.
fn furnished(data: &Path, url: &str, count: usize) -> Server {
    let server = Server::start(data, &[]);
    server.put_collection("c");
    for number in 0..count {
        put(&server, &format!("j{number}"), &with_password(url, &format!("password {number}")));
    }
    server
}

/// Has a job run, and answers with which credentials it came.
fn fire(address: &str, receiver: &Receiver, name: &str, times: usize) -> String {
    let path = Server::path(&format!("/c/jobs/{name}/run"));
    assert_eq!(call_at(address, None, "POST", &path, None).status, 200);
    receiver.wait_for(name, times).last().unwrap().header("x-api-key").to_owned()
}

/// Ends what goes on until then, also if the test fails.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn keys_are_rotated_while_jobs_fire_and_are_edited_and_nothing_is_lost() {
    const JOBS: usize = 30;
    const ROTATIONS: u64 = 3;
    let folder = tempfile::tempdir().unwrap();
    let receiver = Receiver::start();
    let server = furnished(folder.path(), &receiver.url("/ok"), JOBS);
    let first_keys = fs::read(folder.path().join("keys")).unwrap();
    let etag = |name: &str| {
        let answer = server.call("GET", &Server::path(&format!("/c/jobs/{name}")), None);
        let etag = answer.headers.lines().find(|line| line.starts_with("etag")).map(str::to_owned);
        (etag, answer.body)
    };
    let before = etag("j0");
    let over = AtomicBool::new(false);
    let (url, address) = (receiver.url("/ok"), server.address.as_str());
    let rounds = std::thread::scope(|scope| {
        let edits = scope.spawn(|| {
            let mut round = 0;
            while !over.load(Ordering::Relaxed) {
                round += 1;
                for number in 10..20 {
                    put_at(address, &format!("j{number}"), &with_password(&url, &format!("round {round}")));
                }
            }
            round
        });
        let fires = scope.spawn(|| {
            let mut count = 0;
            while !over.load(Ordering::Relaxed) {
                count += 1;
                for number in 20..JOBS {
                    let came = fire(address, &receiver, &format!("j{number}"), count);
                    assert_eq!(came, format!("password {number}"));
                }
            }
            count
        });
        let ends = Ends(&over);
        for old in 1..=ROTATIONS {
            let rotated = told(&server, &["rotate"]);
            assert_eq!(rotated["keys"].as_array().unwrap().last().unwrap()["state"], "seals");
            assert_eq!(ids(&rotated), [old, old + 1]);
            wait_until_sealed(&server);
            let retired = told(&server, &["retire", &old.to_string()]);
            assert_eq!(ids(&retired), [old + 1]);
        }
        drop(ends);
        assert!(fires.join().unwrap() > 0);
        edits.join().unwrap()
    });
    assert_eq!(etag("j0"), before, "neither its ETag nor anything else that callers see");
    let file = fs::read_to_string(folder.path().join("keys")).unwrap();
    let numbers: Vec<&str> = file.lines().skip(2).filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(numbers, ["4"]);
    assert_eq!(fs::metadata(folder.path().join("keys")).unwrap().permissions().mode() & 0o777, 0o600);
    server.stop();

    let server = Server::start(folder.path(), &[]);
    for number in 10..20 {
        let came = fire(&server.address, &receiver, &format!("j{number}"), 1);
        assert_eq!(came, format!("round {rounds}"), "the last write is there");
    }
    let audit = punctual()
        .args(["audit", "list", "--count", "100000", "--server", &format!("http://{}", server.address)])
        .output()
        .unwrap();
    let listed = text(audit.stdout);
    assert_eq!(listed.matches("Punctual/keys/rotate/action").count(), 3, "{listed}");
    assert_eq!(listed.matches("Punctual/keys/retire/action").count(), 3, "{listed}");
    server.stop();

    // What the first key opened is gone.
    fs::write(folder.path().join("keys"), &first_keys).unwrap();
    let data = folder.path().to_str().unwrap();
    let start = run(&["serve", "--listen", "127.0.0.1:0", "--data", data], "");
    refused(start, &["key 4 is missing, and sealed with it: 30 jobs and 2 secrets of the server", "keys"]);
}

#[test]
fn a_server_that_is_killed_while_it_rotates_goes_on_from_there() {
    const JOBS: usize = 200;
    let folder = tempfile::tempdir().unwrap();
    let receiver = Receiver::start();
    let mut server = furnished(folder.path(), &receiver.url("/ok"), JOBS);
    // Wherever it is then: before the file is written, behind it, among the jobs.
    for life in [0, 3, 10, 30, 100, 300] {
        let mut rotate = punctual()
            .args(["keys", "rotate", "--server", &format!("http://{}", server.address)])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (_keep, moment) = mpsc::channel::<()>();
        let _ = moment.recv_timeout(Duration::from_millis(life));
        drop(server);
        rotate.wait().unwrap();
        server = Server::start(folder.path(), &[]);
        let keys = told(&server, &["status"]);
        let newest = *ids(&keys).last().unwrap();
        assert_eq!(keys["resealing"]["key"], newest);
    }
    let last = told(&server, &["rotate"]);
    let sealed = wait_until_sealed(&server);
    let newest = *ids(&last).last().unwrap();
    for key in sealed["keys"].as_array().unwrap() {
        let count = if key["id"] == newest { JOBS } else { 0 };
        assert_eq!(key["jobCount"], count, "{sealed}");
    }
    for old in ids(&sealed).into_iter().filter(|id| *id != newest) {
        told(&server, &["retire", &old.to_string()]);
    }
    assert_eq!(ids(&told(&server, &["status"])), [newest]);
    for number in [0, 63, 64, 65, 128, JOBS - 1] {
        let came = fire(&server.address, &receiver, &format!("j{number}"), 1);
        assert_eq!(came, format!("password {number}"));
    }
    let names: Vec<String> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("keys"))
        .collect();
    assert_eq!(names, ["keys"], "nothing of a rotation that was cut off is left");
}

#[test]
fn keys_of_a_stopped_server_are_rotated_and_retired() {
    let folder = tempfile::tempdir().unwrap();
    furnished(folder.path(), "http://127.0.0.1:9/", 5).stop();
    let data = folder.path().to_str().unwrap();
    let shown = told_by(folder.path(), &["status"]);
    assert_eq!((ids(&shown), &shown["resealing"]["done"]), (vec![1], &json!(true)));
    assert!(shown["keys"][0]["madeAt"].as_str().unwrap().ends_with('Z'), "{shown}");
    refused(
        run(&["keys", "retire", "1", "--data", data], ""),
        &["key 1 is the one that seals: rotate first"],
    );
    refused(run(&["keys", "retire", "7", "--data", data], ""), &["there is no key 7"]);

    let rotated = run(&["keys", "rotate", "--data", data], "");
    let (table, notes) = (text(rotated.stdout), text(rotated.stderr));
    assert!(table.contains("sealed anew: everything, with key 2"), "{table}");
    for part in ["Key 2 seals from now on. Back up", "need key 1", "Nothing needs key 1 any more"] {
        assert!(notes.contains(part), "{notes}");
    }
    let both = fs::read_to_string(folder.path().join("keys")).unwrap();
    let retired = told_by(folder.path(), &["retire", "1"]);
    assert_eq!(ids(&retired), [2]);
    assert!(retired["notes"][0].as_str().unwrap().starts_with("Key 1 is gone from the key file"));
    let list = stdout(&["audit", "list", "--data", data], "");
    assert!(list.contains("whoever can write the keys") && list.contains("key 2"), "{list}");

    let server = Server::start(folder.path(), &[]);
    assert_eq!(server.call("GET", &Server::path("/c/jobs/j4"), None).status, 200);
    refused(run(&["keys", "status", "--data", data], ""), &["in use by", "--server"]);
    server.stop();

    // A kill between the retirement and the file leaves the key there: the next start takes it out.
    let alone = fs::read_to_string(folder.path().join("keys")).unwrap();
    fs::write(folder.path().join("keys"), both).unwrap();
    let server = Server::start(folder.path(), &[]);
    wait_for("the retired key is taken out", || {
        (fs::read_to_string(folder.path().join("keys")).unwrap() == alone).then_some(())
    });
    assert_eq!(ids(&told(&server, &["status"])), [2]);
    server.stop();
}

/// A start with an environment that must be refused.
fn start_refused(data: &Path, environment: &[(&str, &str)], parts: &[&str]) {
    let mut command = punctual();
    command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data);
    command.envs(environment.iter().copied());
    refused(command.output().unwrap(), parts);
}

fn generate(number: &str) -> String {
    let line = stdout(&["keys", "generate", number], "");
    assert_eq!(line.split(' ').nth(1).unwrap().len(), 64, "a number, a key and a time");
    line.trim_end().to_owned()
}

/// Rotates keys that the server can't write: `start` starts it with keys, and says where they come from.
fn rotates_by_hand(data: &Path, place: &str, start: &dyn Fn(&[&str]) -> Server) {
    let (one, two) = (generate("1"), generate("2"));
    let server = start(&[&one]);
    server.put_collection("c");
    put(&server, "j", &with_password("http://127.0.0.1:9/", "password"));
    assert!(!data.join("keys").exists(), "none is made");
    assert_eq!(told(&server, &["status"])["source"], place);
    refused(
        ask(&server, &["rotate"]),
        &[&format!("keys come from {place}, which the server can't change"), "punctual keys generate 2"],
    );
    server.stop();

    let server = start(&[&one, &two]);
    let sealed = wait_until_sealed(&server);
    assert_eq!(sealed["keys"][1]["jobCount"], 1, "{sealed}");
    let retired = told(&server, &["retire", "1"]);
    assert!(retired["notes"][0].as_str().unwrap().contains(&format!("take it out of {place}")), "{retired}");
    assert_eq!(ids(&retired), [2]);
    let audit = server.call("GET", "/audit?api-version=2026-11-01", None).body;
    let rotation = audit["value"]
        .as_array()
        .unwrap()
        .iter()
        .find(|entry| entry["action"] == "Punctual/keys/rotate/action")
        .unwrap();
    assert_eq!(rotation["caller"]["name"], "whoever can write the keys");
    server.stop();

    let server = start(&[&one, &two]);
    assert_eq!(ids(&told(&server, &["status"])), [2], "a retired key is not used any more");
    server.stop();
    let server = start(&[&two]);
    assert_eq!(server.call("GET", &Server::path("/c/jobs/j"), None).status, 200);
    server.stop();
}

#[test]
fn keys_come_from_the_environment() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let start = |keys: &[&str]| {
        let mut command = punctual();
        command.env("PUNCTUAL_KEYS", keys.join(", ")).stderr(Stdio::inherit());
        Server::start_as(&mut command, data, &["--role", "api"])
    };
    rotates_by_hand(data, "the environment variable PUNCTUAL_KEYS", &start);

    let (one, wrong) = (generate("1"), "2 abcd, x y, 3");
    let starts = |keys: &str, parts: &[&str]| start_refused(data, &[("PUNCTUAL_KEYS", keys)], parts);
    starts(
        &one,
        &["with the environment variable PUNCTUAL_KEYS: key 2 is missing, and sealed with it: 1 job and 2"],
    );
    starts(&generate("2"), &["the keys do not belong to this data directory"]);
    starts("", &["PUNCTUAL_KEYS: is empty"]);
    starts(
        wrong,
        &[
            "could not use the environment variable PUNCTUAL_KEYS: it has 3 problems",
            "key 1: the key must have 64 hex digits",
            "key 2: must begin with a number from 1",
            "key 3: must be a number and a key",
        ],
    );
    let both = [("PUNCTUAL_KEYS", one.as_str()), ("PUNCTUAL_DATA__KEY_FILE", "/nonexistent/keys")];
    start_refused(
        data,
        &both,
        &["keys are in 2 places: the key file /nonexistent/keys, the environment variable PUNCTUAL_KEYS"],
    );
}

#[test]
fn keys_come_from_systemd_credentials() {
    let folder = tempfile::tempdir().unwrap();
    let (data, credentials) = (folder.path().join("data"), folder.path().join("credentials"));
    fs::create_dir(&credentials).unwrap();
    let file = credentials.join("punctual-keys");
    let start = |keys: &[&str]| {
        // As systemd shows it where an access list says who may read it.
        let _ = fs::remove_file(&file);
        fs::write(&file, format!("punctual keys 1\n{}\n", keys.join("\n"))).unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o440)).unwrap();
        let mut command = punctual();
        command.env("CREDENTIALS_DIRECTORY", &credentials).stderr(Stdio::inherit());
        Server::start_as(&mut command, &data, &["--role", "api"])
    };
    rotates_by_hand(&data, "the systemd credential punctual-keys", &start);
    fs::remove_file(&file).unwrap();
    fs::write(&file, "nothing").unwrap();
    let environment = [("CREDENTIALS_DIRECTORY", credentials.to_str().unwrap())];
    start_refused(
        &data,
        &environment,
        &["could not use the systemd credential punctual-keys", "key 1: must be"],
    );
}

#[test]
fn a_key_file_elsewhere_is_rotated_where_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let (data, keys) = (folder.path().join("data"), folder.path().join("the-keys"));
    fs::write(&keys, format!("punctual keys 1\n# mine\n{}\n", generate("1"))).unwrap();
    fs::set_permissions(&keys, Permissions::from_mode(0o600)).unwrap();
    let start = || {
        let mut command = punctual();
        command.env("PUNCTUAL_DATA__KEY_FILE", &keys).stderr(Stdio::inherit());
        Server::start_as(&mut command, &data, &["--role", "api"])
    };
    let server = start();
    server.put_collection("c");
    put(&server, "j", &with_password("http://127.0.0.1:9/", "password"));
    told(&server, &["rotate"]);
    wait_until_sealed(&server);
    told(&server, &["retire", "1"]);
    let lines = fs::read_to_string(&keys).unwrap();
    assert!(lines.lines().any(|line| line.starts_with("2 ")) && !lines.contains("\n1 "), "{lines:?}");

    // A key that somebody has put into it is taken, instead of making another one.
    fs::write(&keys, format!("{lines}7 {}\n", "ab".repeat(32))).unwrap();
    assert_eq!(ids(&told(&server, &["rotate"])), [2, 7]);
    wait_until_sealed(&server);
    // One that is not as it was is left alone.
    fs::write(&keys, format!("punctual keys 1\n9 {}\n", "cd".repeat(32))).unwrap();
    refused(ask(&server, &["rotate"]), &["is not as it was when the server started: key 2 is missing"]);
    assert!(fs::read_to_string(&keys).unwrap().contains("9 cdcd"));
    fs::write(&keys, format!("{lines}7 {}\n", "ab".repeat(32))).unwrap();
    // Where it can't be written, the old key goes on.
    let folder_mode = fs::metadata(folder.path()).unwrap().permissions();
    if is_root() {
        // Root may write everywhere: a directory in the place of the new file is in its way.
        fs::create_dir_all(folder.path().join("the-keys.new/x")).unwrap();
    } else {
        fs::set_permissions(folder.path(), Permissions::from_mode(0o500)).unwrap();
    }
    refused(ask(&server, &["rotate"]), &["ould not write the key file", "The old key seals on"]);
    fs::set_permissions(folder.path(), folder_mode).unwrap();
    assert_eq!(ids(&told(&server, &["status"])), [2, 7]);
    server.stop();
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output().unwrap();
    text(id.stdout).trim() == "0"
}

#[test]
fn a_key_that_is_needed_and_missing_is_told_by_doctor() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("punctual.toml");
    fs::write(&config, "[inspector]\nlook_seconds = 1\n").unwrap();
    let data = folder.path().join("data");
    furnished(&data, "http://127.0.0.1:9/", 3).stop();
    let keys = data.join("keys");
    let first = fs::read_to_string(&keys).unwrap();
    told_by(&data, &["rotate"]);
    let both = fs::read_to_string(&keys).unwrap();
    let server = Server::start(&data, &["--config", config.to_str().unwrap()]);
    let problems = |expected: &str| {
        wait_for("the problem is told", || {
            let told = server.call("GET", "/doctor", None).body;
            told["problems"].to_string().contains(expected).then_some(())
        });
    };
    fs::write(&keys, &first).unwrap();
    problems("Key 2 is missing in the key file");
    fs::write(&keys, "nothing").unwrap();
    problems("The server would not start again: could not use the key file");
    fs::write(&keys, &both).unwrap();
    problems("[]");
    server.stop();

    fs::write(&keys, &first).unwrap();
    let data = data.to_str().unwrap();
    let doctor = run(&["doctor", "--data", data], "");
    let shown = text(doctor.stdout);
    assert_eq!(doctor.status.code(), Some(1), "{shown}");
    assert!(shown.contains("Key 2 is missing in the key file") && shown.contains("3 jobs"), "{shown}");
}

#[test]
fn keys_are_in_no_output_log_answer_or_other_file() {
    let folder = tempfile::tempdir().unwrap();
    let (data, log) = (folder.path().join("data"), folder.path().join("server.log"));
    let mut command = punctual();
    command.env("PUNCTUAL_LOG__LEVEL", "trace").stderr(File::create(&log).unwrap());
    let server = Server::start_as(&mut command, &data, &[]);
    server.put_collection("c");
    put(&server, "j", &with_password("http://127.0.0.1:9/", "password"));
    let mut said = vec![fs::read_to_string(data.join("keys")).unwrap()];
    let mut outputs = vec![ask(&server, &["rotate"])];
    said.push(fs::read_to_string(data.join("keys")).unwrap());
    wait_until_sealed(&server);
    outputs.push(ask(&server, &["retire", "2"]));
    outputs.push(ask(&server, &["retire", "1"]));
    outputs.push(ask(&server, &["status", "--output", "json"]));
    let audit = server.call("GET", "/audit?api-version=2026-11-01", None).body.to_string();
    server.stop();
    let is_key = |word: &&str| word.len() == 64;
    let keys: Vec<&str> = said.iter().flat_map(|file| file.split_whitespace()).filter(is_key).collect();
    assert_eq!(keys.len(), 3, "the first one twice");
    let mut places = vec![audit, fs::read_to_string(&log).unwrap()];
    places.extend(outputs.into_iter().flat_map(|output| [text(output.stdout), text(output.stderr)]));
    for place in &places {
        assert!(!keys.iter().any(|key| place.to_lowercase().contains(key)), "{place}");
    }
    let raw = |key: &str| -> Vec<u8> {
        (0..32).map(|at| u8::from_str_radix(&key[2 * at..2 * at + 2], 16).unwrap()).collect()
    };
    for entry in fs::read_dir(&data).unwrap() {
        let path = entry.unwrap().path();
        let bytes = fs::read(&path).unwrap();
        for key in &keys {
            let shows = |part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
            let mine = path.ends_with("keys") && *key == keys[2];
            assert_eq!(shows(key.as_bytes()), mine, "{}", path.display());
            assert!(!shows(&raw(key)), "{}", path.display());
        }
    }
}

#[test]
fn what_the_old_key_has_sealed_is_gone_from_the_files() {
    let folder = tempfile::tempdir().unwrap();
    let server = furnished(folder.path(), "http://127.0.0.1:9/", 100);
    let sealed = || -> Vec<Vec<u8>> {
        let file = Connection::open(folder.path().join("punctual.db")).unwrap();
        let mut statement = file.prepare("SELECT sealed FROM jobs WHERE sealed IS NOT NULL").unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    let old = sealed();
    assert_eq!(old.len(), 100);
    told(&server, &["rotate"]);
    wait_until_sealed(&server);
    told(&server, &["retire", "1"]);
    server.stop();
    let bytes: Vec<u8> = fs::read_dir(folder.path())
        .unwrap()
        .flat_map(|entry| fs::read(entry.unwrap().path()).unwrap())
        .collect();
    let count = |blobs: &[Vec<u8>]| {
        let parts: Vec<&[u8]> = blobs.iter().map(|blob| &blob[10..26]).collect();
        bytes.windows(16).filter(|part| parts.contains(part)).count()
    };
    assert_eq!((count(&sealed()), count(&old)), (100, 0));
}

#[test]
fn help_of_keys_is_golden() {
    let shown: String = [
        &["keys", "--help"][..],
        &["keys", "rotate", "--help"],
        &["keys", "retire", "--help"],
        &["keys", "generate", "--help"],
    ]
    .into_iter()
    .map(|arguments| stdout(arguments, ""))
    .collect();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/keys-help.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(path, &shown).unwrap();
    }
    assert_eq!(shown, fs::read_to_string(path).unwrap_or_default(), "UPDATE_GOLDEN=1 writes it anew");
}
