//! `punctual copy` up and down, killed on the way.

use std::path::Path;
use std::process::{Child, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::command::{punctual, stdout};
use crate::postgres::Database;

/// Enough that a copy can be killed in the middle.
const RECORDS: u64 = 150_000;

/// A data directory with a token, entries of the audit log, and a history that takes a while.
fn fill(dir: &Path) -> String {
    let data = dir.join("data").display().to_string();
    stdout(&["token", "create", "admin", "--role", "owner", "--scope", "/", "--data", &data], "");
    let conn = rusqlite::Connection::open(dir.join("data/punctual.db")).unwrap();
    let records = format!(
        "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < {RECORDS})
         INSERT INTO history (sequence, job, generation, nominal_at, cause, step, attempt, ordinal, started_at, ended_at, status,
             kind, message)
         SELECT x, x % 100, 1, x, 0, 0, 0, 1, x, x + 1, 0, 0, 'message ' || x FROM n;
         UPDATE counters SET sequence = {RECORDS};"
    );
    conn.execute_batch(&records).unwrap();
    data
}

fn start(from: &str, to: &str, key_file: &str) -> Child {
    punctual()
        .args(["copy", "--from", from, "--to", to, "--key-file", key_file, "--output", "json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// What a copy that must succeed answers.
fn answer(output: &Output) -> Value {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("Don't start a server on") && said.contains("need the same keys"), "{said}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn table<'a>(answer: &'a Value, name: &str) -> &'a Value {
    answer["tables"].as_array().unwrap().iter().find(|table| table["name"] == name).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_that_is_killed_goes_on_up_and_down() {
    let Some(database) = Database::new().await else { return };
    let dir = tempfile::tempdir().unwrap();
    let data = fill(dir.path());
    let (from, keys) = (format!("sqlite:{data}"), format!("{data}/keys"));
    let client = database.client().await;

    // Killed three times when some rows have arrived, and once more by whoever is asked first.
    let mut killed_at = Vec::new();
    for quarter in 1..=3 {
        let mut child = start(&from, &database.url, &keys);
        let enough = i64::try_from(RECORDS / 4 * quarter).unwrap();
        loop {
            let there = client.query_one("SELECT to_regclass('history') IS NOT NULL", &[]).await.unwrap();
            if there.get::<_, bool>(0) {
                let count = client.query_one("SELECT count(*) FROM history", &[]).await.unwrap();
                if count.get::<_, i64>(0) >= enough {
                    break;
                }
            }
            assert_eq!(child.try_wait().unwrap(), None, "it ended before it was killed");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let count = client.query_one("SELECT count(*) FROM history", &[]).await.unwrap();
        killed_at.push(count.get::<_, i64>(0));
    }
    assert!(killed_at.is_sorted(), "{killed_at:?}");
    let up = answer(&start(&from, &database.url, &keys).wait_with_output().unwrap());
    assert_eq!(up["resumed"], true);
    assert_eq!(table(&up, "history")["rowCount"], RECORDS);

    // Down, killed once.
    let back = dir.path().join("back");
    let to = format!("sqlite:{}", back.display());
    let mut child = start(&database.url, &to, &keys);
    while std::fs::metadata(back.join("punctual.db.copy")).map_or(0, |file| file.len()) < 2_000_000 {
        assert_eq!(child.try_wait().unwrap(), None, "it ended before it was killed");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!back.join("punctual.db").exists(), "no server takes it for its data");
    let down = answer(&start(&database.url, &to, &keys).wait_with_output().unwrap());
    assert_eq!(down["resumed"], true);
    assert_eq!(down["tables"], up["tables"], "the same rows have the same digests everywhere");

    // It is what it was.
    std::fs::copy(&keys, back.join("keys")).unwrap();
    let back = back.display().to_string();
    for arguments in [&["token", "list", "--output", "json"][..], &["audit", "verify"]] {
        let told = |data: &str| stdout(&[arguments, &["--data", data]].concat(), "");
        assert_eq!(told(&back), told(&data), "{arguments:?}");
    }
}
