//! `punctual demo`: a past that was really made, and nothing that is left behind.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;

use crate::command::punctual;
use crate::server::Server;

/// A demo with its temporary folders here.
fn start(folder: &Path) -> Server {
    let mut command = punctual();
    command.env("TMPDIR", folder).stderr(Stdio::inherit());
    Server::start_demo(&mut command, &["--weeks", "1", "--listen", "127.0.0.1:0"])
}

fn path(below: &str) -> String {
    format!("/subscriptions/acme/resourceGroups/{below}?api-version=2026-11-01")
}

fn jobs(server: &Server, group: &str, collection: &str) -> Vec<Value> {
    let path = path(&format!("{group}/providers/Microsoft.Scheduler/jobCollections/{collection}/jobs"));
    let answer = server.call("GET", &path, None);
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.body["value"].as_array().unwrap().clone()
}

fn folders(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn a_demo_has_a_past_goes_on_in_real_time_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = start(folder.path());
    let line = server.wait_for_line("A demo: ");
    assert!(line.contains(" jobs with a week of history, "), "{line}");
    server.wait_for_line("The web page is at http://127.0.0.1:");
    assert_eq!(folders(folder.path()).len(), 1);

    let status = |job: &Value| job["properties"]["status"].clone();
    let named = |jobs: &[Value], name: &str| {
        let found = jobs.iter().find(|job| job["name"].as_str().unwrap().ends_with(name));
        found.unwrap_or_else(|| panic!("no {name}")).clone()
    };
    let monitoring = jobs(&server, "platform", "monitoring");
    let probe = status(&named(&monitoring, "/probe-europe"));
    assert!(probe["executionCount"].as_i64().unwrap() > 400, "{probe}");
    assert_eq!(probe["failureCount"], 0, "{probe}");
    let asia = status(&named(&monitoring, "/probe-asia"));
    assert!(asia["failureCount"].as_i64().unwrap() > 5, "{asia}");
    let next: jiff::Timestamp = probe["nextExecutionTime"].as_str().unwrap().parse().unwrap();
    let real: jiff::Timestamp =
        server.call("GET", "/me?api-version=2026-11-01", None).body["clock"]["realTime"]
            .as_str()
            .unwrap()
            .parse()
            .unwrap();
    let ahead = next.duration_since(real).as_mins();
    assert!((-1..=15).contains(&ahead), "the next run is at {next}, and it is {real}");

    // What happened in the past happened on time, by the clock of that past.
    let below = "platform/providers/Microsoft.Scheduler/jobCollections/monitoring/jobs/probe-europe/history";
    let history = server.call("GET", &format!("{}&$top=100", path(below)), None).body;
    let records = history["value"].as_array().unwrap();
    assert_eq!(records.len(), 100);
    let minutes = |record: &Value| {
        let at =
            |name: &str| record["properties"][name].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
        at("startTime").duration_since(at("expectedExecutionTime")).as_mins()
    };
    let late = records.iter().filter(|record| minutes(record) > 0).count();
    assert!(late <= 2, "{late} of 100 were late; only a stop makes some so");

    let sale = named(&jobs(&server, "shop", "storefront"), "/begin-sale");
    assert_eq!(sale["properties"]["state"], "completed", "{sale}");
    let rates = named(&jobs(&server, "finance", "billing"), "/exchange-rates");
    assert!(status(&rates)["faultedCount"].as_i64().unwrap() > 0, "{rates}");

    server.signal("-INT");
    assert!(server.wait().success());
    assert_eq!(folders(folder.path()), Vec::<PathBuf>::new());
}

#[test]
fn a_demo_that_is_ended_while_it_makes_its_past_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = punctual();
    command.env("TMPDIR", folder.path()).args(["demo", "--weeks", "8", "--listen", "127.0.0.1:0"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::inherit()).spawn().unwrap();
    // The store is there: it has begun.
    let begun = || folders(folder.path()).first().is_some_and(|demo| demo.join("punctual.db").exists());
    crate::scheduler::wait_for("the demo to begin", || begun().then_some(()));
    let sent = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(sent.unwrap().success());
    assert!(child.wait().unwrap().success());
    assert_eq!(folders(folder.path()), Vec::<PathBuf>::new());
}
