//! A full disk, filled while a server runs and before it starts: it says so, loses nothing, and goes on by itself.

use std::collections::HashSet;
use std::fs::File;
use std::path::PathBuf;
use std::process::Output;

use serde_json::{Value, json};

use crate::command::{punctual, run};
use crate::receiver::Receiver;
use crate::scheduler::{START, Scheduler, wait_for};
use crate::server::Server;
use crate::small_disk::{SmallDisk, say};

/// A server on a small disk, with its log beside.
struct World {
    disk: SmallDisk,
    scheduler: Scheduler,
    log: PathBuf,
}

impl World {
    /// On a clock by which a job of every minute fires every half second and which waits for nobody.
    fn start() -> Self {
        let disk = SmallDisk::new();
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let config = folder.path().join("punctual.toml");
        std::fs::write(
            &config,
            "[server]\nstop_grace_seconds = 1\n[inspector]\nlook_seconds = 1\ntolerance_seconds = 1\n",
        )
        .unwrap();
        let arguments = ["--clock-start", START, "--clock-speed", "120", "--clock-patience", "0", "--config"];
        let arguments = [&arguments[..], &[config.to_str().unwrap()]].concat();
        let server =
            Server::start_as(punctual().stderr(File::create(&log).unwrap()), &disk.data(), &arguments);
        server.put_collection("c");
        Self { disk, scheduler: Scheduler { server, receiver: Receiver::start(), folder }, log }
    }

    fn server(&self) -> &Server {
        &self.scheduler.server
    }

    fn wait_for_ready(&self, status: u16) -> Value {
        wait_for(&format!("/readyz answers {status}"), || {
            let answer = self.server().call("GET", "/readyz", None);
            (answer.status == status).then_some(answer.body)
        })
    }

    /// Waits until the schedule's clock has gone on by so many minutes.
    fn wait_minutes(&self, count: i64) {
        let now = || -> jiff::Timestamp {
            self.server().call("GET", "/doctor", None).body["time"].as_str().unwrap().parse().unwrap()
        };
        let until = now() + jiff::SignedDuration::from_mins(count);
        wait_for("time goes on", || (now() >= until).then_some(()));
    }

    fn hit_count(&self) -> usize {
        self.scheduler.receiver.hits().len()
    }

    fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }
}

fn doctor(server: &Server) -> Output {
    run(&["doctor", "--url", &format!("http://{}", server.address)], "")
}

#[test]
fn a_disk_that_fills_is_told_stops_firing_and_recovers_by_itself() {
    let world = World::start();
    let scheduler = &world.scheduler;
    scheduler.put("j", &scheduler.minutely("/ok"));
    scheduler.wait_for_executions("j", 2);

    world.disk.fill(Some(world.server()));
    let refused = world.wait_for_ready(507);
    assert_eq!(refused["error"]["code"], "InsufficientStorage");
    // There may be space left in the write-ahead log; what fits is written.
    let mut large = scheduler.minutely("/ok");
    large["action"]["request"]["method"] = json!("POST");
    large["action"]["request"]["body"] = json!("x".repeat(8_000));
    large["state"] = json!("disabled");
    let answers = (0..).map(|number| {
        scheduler.call("PUT", &format!("/jobs/large{number}"), Some(&json!({"properties": large})))
    });
    let answer = answers.into_iter().find(|answer| answer.status != 201).unwrap();
    assert_eq!((answer.status, answer.body["error"]["code"].as_str()), (507, Some("InsufficientStorage")));
    let message = answer.body["error"]["message"].as_str().unwrap();
    assert!(message.contains("disk is full") && message.contains("nothing was changed"), "{message}");
    assert_eq!(scheduler.call("GET", "/jobs/j", None).status, 200, "what can be read is");
    assert_eq!(world.server().call("GET", "/healthz", None).status, 200);

    // What was under way ends; then nothing is fired any more, though much is due.
    world.wait_minutes(2);
    let fired = world.hit_count();
    world.wait_minutes(10);
    assert_eq!(world.hit_count(), fired, "nothing is fired whose outcome can't be kept");
    // That it is overdue by now is no finding of its own.
    wait_for("doctor tells the problem and no finding", || {
        let told = doctor(world.server());
        let text = String::from_utf8(told.stdout).unwrap();
        let problem = "Problem: Nothing can be written in the data directory: no space is left on the disk.";
        let only = text.starts_with("There is 1 problem.\n") && text.contains(problem);
        (told.status.code() == Some(1) && only).then_some(())
    });

    let job = json!({"properties": scheduler.minutely("/ok")});
    world.disk.free(Some(world.server()));
    world.wait_for_ready(200);
    assert_eq!(scheduler.call("PUT", "/jobs/k", Some(&job)).status, 201);
    wait_for("it fires again", || (world.hit_count() > fired + 3).then_some(()));
    for name in ["j", "k"] {
        scheduler.patch(name, &json!({"state": "disabled"}));
    }
    wait_for("every request is recorded", || {
        let records = ["j", "k"].map(|name| scheduler.history(name, "").len());
        (records.iter().sum::<usize>() == world.hit_count()).then_some(())
    });
    wait_for("doctor is content", || (doctor(world.server()).status.code() == Some(0)).then_some(()));
    let tags: HashSet<String> =
        scheduler.receiver.hits().iter().map(|hit| format!("{} {}", hit.job(), hit.tag())).collect();
    assert_eq!(tags.len(), world.hit_count(), "nothing was fired twice");

    let log = world.log();
    let count = |text: &str| log.lines().filter(|line| line.contains(text)).count();
    assert_eq!(count("the data directory can't be written; what is due waits"), 1, "{log}");
    assert_eq!(count("the data directory can be written again"), 1, "{log}");
    assert_eq!((count("ERROR"), count("WARN")), (1, 0), "not a line for each write: {log}");
}

#[test]
fn a_server_stops_on_a_full_disk_and_has_all_its_data_when_it_starts_again() {
    let world = World::start();
    let scheduler = &world.scheduler;
    scheduler.put("j", &scheduler.minutely("/ok"));
    scheduler.wait_for_executions("j", 2);
    world.disk.fill(Some(world.server()));
    world.wait_for_ready(507);
    let World { disk, scheduler: Scheduler { server, receiver, folder }, log } = world;
    server.signal("-TERM");
    assert!(server.wait().success(), "{}", std::fs::read_to_string(&log).unwrap());

    disk.free(None);
    let server = Server::start(&disk.data(), &["--clock-start", "2027-02-01", "--clock-speed", "120"]);
    let scheduler = Scheduler { server, receiver, folder };
    let executed = scheduler.counters("j")[0];
    assert!(executed >= 2);
    scheduler.wait_for_executions("j", executed + 2);
}

fn refused(disk: &SmallDisk, parts: &[&str]) {
    let data = disk.data();
    let mut command = disk.command();
    let output = command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(&data).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{error}");
    for part in parts {
        assert!(error.contains(part), "{part} is not in {error}");
    }
    assert!(!error.contains("I/O error"), "{error}");
}

#[test]
fn a_start_on_a_full_disk_is_refused_with_the_reason() {
    let disk = SmallDisk::new();
    let server = Server::start(&disk.data(), &["--role", "api"]);
    server.put_collection("c");
    server.signal("-TERM");
    assert!(server.wait().success());
    disk.fill(None);
    let data = disk.data();
    let parts = ["could not write in the data directory", "no space is left on the disk", "free some space"];
    refused(&disk, &parts);
    let mut looked = disk.command();
    let looked = looked.args(["doctor", "--data"]).arg(&data).output().unwrap();
    let told = String::from_utf8([looked.stdout, looked.stderr].concat()).unwrap();
    assert_eq!(looked.status.code(), Some(1), "{told}");
    assert!(told.contains("no space is left on the disk"), "{told}");
    disk.free(None);
    let server = Server::start(&data, &["--role", "api"]);
    assert_eq!(server.call("GET", &Server::path("/c"), None).status, 200);
}

#[test]
fn a_first_start_on_a_full_disk_leaves_nothing_in_the_way_of_the_next() {
    let disk = SmallDisk::new();
    disk.fill(None);
    refused(&disk, &["no space is left on the disk"]);
    disk.free(None);
    let server = Server::start(&disk.data(), &["--role", "api"]);
    server.put_collection("c");
}

#[test]
fn a_start_on_a_disk_that_is_almost_full_serves_and_does_not_fire_before_there_is_space() {
    let disk = SmallDisk::new();
    if !disk.mounted {
        say("SKIPPED: a disk that is almost full needs a small file system, and none could be mounted");
        return;
    }
    let server = Server::start(&disk.data(), &["--role", "api"]);
    server.put_collection("c");
    let receiver = Receiver::start();
    let job = json!({"properties": {"action": {"type": "Http", "request": {"method": "GET", "uri": receiver.url("/ok")}}}});
    assert_eq!(server.call("PUT", &Server::path("/c/jobs/j"), Some(&job)).status, 201);
    server.signal("-TERM");
    assert!(server.wait().success());
    disk.fill(None);
    disk.leave(256 * 1024);
    let server = Server::start(&disk.data(), &[]);
    assert_eq!(server.call("GET", "/readyz", None).status, 507);
    assert_eq!(server.call("GET", &Server::path("/c/jobs/j"), None).status, 200);
    assert_eq!(receiver.hits().len(), 0);
    disk.free(None);
    wait_for("it fires", || (receiver.hits().len() == 1).then_some(()));
    assert_eq!(server.call("GET", "/readyz", None).status, 200);
}

#[test]
fn a_start_on_a_read_only_file_system_is_refused_with_the_reason() {
    let disk = SmallDisk::new();
    if !disk.mounted {
        say("SKIPPED: no file system could be mounted, so none is read-only");
        return;
    }
    let server = Server::start(&disk.data(), &["--role", "api"]);
    server.signal("-TERM");
    assert!(server.wait().success());
    disk.remount("ro");
    let parts =
        ["could not write in the data directory", "the file system is read-only", "mount it for writing"];
    refused(&disk, &parts);
    let looked = run(&["doctor", "--data", disk.data().to_str().unwrap()], "");
    let told = String::from_utf8([looked.stdout, looked.stderr].concat()).unwrap();
    assert_eq!(looked.status.code(), Some(1), "{told}");
    assert!(told.contains("the file system is read-only"), "{told}");
    disk.remount("rw");
    Server::start(&disk.data(), &["--role", "api"]);
}
