//! An acknowledged write survives kill -9.
//!
//! The test starts itself again as a child that writes and prints what was acknowledged, kills it in
//! the middle, and looks whether all of that is there.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use punctual_model::{CollectionKey, JobId, RecordStatus};
use punctual_store::Settled;
use punctual_store::conformance::world::{World, at, settlement};
use punctual_store_sqlite::{SqliteStore, Synchronous};

use crate::world::{open, options, ring};

const CHILD: &str = "PUNCTUAL_TEST_CRASH_DIR";
const ACKS: usize = 400;

#[test]
#[expect(clippy::disallowed_methods, reason = "the child is told its directory by the environment")]
fn acknowledged_writes_survive_a_kill() {
    if let Ok(dir) = std::env::var(CHILD) {
        child(Path::new(&dir));
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::acknowledged_writes_survive_a_kill", "--nocapture"])
        .env(CHILD, dir.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let acks: Vec<String> =
        lines.map(Result::unwrap).filter(|line| line.starts_with("ack ")).take(ACKS).collect();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(acks.len(), ACKS);
    tokio::runtime::Runtime::new().unwrap().block_on(check(dir.path(), &acks));
}

/// Writes for ever, from several tasks at once.
fn child(dir: &Path) {
    let mut options = options(dir, &ring());
    options.synchronous = Synchronous::Full;
    let world = World::new(Arc::new(SqliteStore::open(options).unwrap()));
    tokio::runtime::Runtime::new().unwrap().block_on(async move {
        let collection = world.collection("c").await;
        let mut tasks = tokio::task::JoinSet::new();
        for task in 0..4 {
            let (world, collection) = (world.clone(), collection.clone());
            tasks.spawn(async move {
                for number in 0.. {
                    let name = format!("job-{task}-{number}");
                    let job = world.job(&collection, &name, at(0)).await;
                    acknowledge(&format!("ack job {name}"));
                    for claim in world.claim(at(0), 1).await {
                        // Another task may delete the job meanwhile.
                        let settled = world.settle(settlement(&claim, RecordStatus::Completed, None)).await;
                        if matches!(settled, Settled::Recorded) {
                            acknowledge(&format!("ack run {}", claim.job.id.0));
                        }
                    }
                    if number % 5 == 0 {
                        world.store.delete_job(&job.key, None).await.unwrap();
                        acknowledge(&format!("ack gone {name}"));
                    }
                }
            });
        }
        tasks.join_all().await;
    });
}

fn acknowledge(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").unwrap();
    out.flush().unwrap();
}

async fn check(dir: &Path, acks: &[String]) {
    let world = World::new(Arc::new(open(dir)));
    let key = CollectionKey::new("Sub", "Group", "c");
    let of_kind =
        |kind: &str| -> Vec<&str> { acks.iter().filter_map(|ack| ack.strip_prefix(kind)).collect() };
    let gone = of_kind("ack gone ");
    let mut there = std::collections::HashSet::new();
    for name in of_kind("ack job ") {
        let job = world.find(&key.job(name)).await;
        if gone.contains(&name) {
            assert_eq!(job, None, "{name} was deleted");
        } else if name.rsplit('-').next().unwrap().parse::<u32>().unwrap() % 5 != 0 {
            there.insert(job.unwrap_or_else(|| panic!("{name} was acknowledged")).id);
        }
    }
    for id in of_kind("ack run ") {
        let id = JobId(id.parse().unwrap());
        if there.contains(&id) {
            assert_eq!(world.history(id).await.len(), 1, "the run of {id:?} was acknowledged");
        }
    }
    assert!(there.len() > ACKS / 10);
}
