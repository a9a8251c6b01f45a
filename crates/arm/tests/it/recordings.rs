//! Recorded exchanges with the original service, where the answer follows from the request alone.
//!
//! The recordings are not ours, so they are not here: `PUNCTUAL_RECORDINGS` names the directory that has
//! them (`*.jsonl`, a line for each exchange). Without it this test says so and passes.

use std::collections::HashMap;
use std::path::PathBuf;

use jiff::Timestamp;
use punctual_arm::{ApiVersion, CollectionContext, Dialect, JobContext, Locations, Query, collection, job};
use punctual_model::{Collection, CollectionKey, CredentialHeaders, Job, JobKey, JobState, Limits};
use serde_json::Value;

use crate::world::a_job;

#[test]
fn recorded_writes_are_answered_as_they_were() {
    let Some(directory) = directory() else {
        eprintln!("SKIPPED: PUNCTUAL_RECORDINGS names no directory with recorded exchanges");
        return;
    };
    let mut compared = 0;
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            let mut world = World::default();
            for line in std::fs::read_to_string(&path).unwrap().lines() {
                compared += usize::from(
                    world.replay(&serde_json::from_str(line).unwrap(), &path.display().to_string()),
                );
            }
        }
    }
    eprintln!("{compared} recorded writes compared");
    assert!(compared > 0, "there are no recordings in the directory");
}

#[expect(clippy::disallowed_methods, reason = "where the recordings are is a matter of the machine")]
fn directory() -> Option<PathBuf> {
    std::env::var("PUNCTUAL_RECORDINGS").ok().map(PathBuf::from)
}

#[derive(Default)]
struct World {
    collections: HashMap<CollectionKey, Collection>,
    jobs: HashMap<JobKey, Job>,
}

impl World {
    /// Replays a write; whether there was something to compare.
    fn replay(&mut self, exchange: &Value, file: &str) -> bool {
        let (path, query) = exchange["path"].as_str().unwrap().split_once('?').unwrap();
        let method = exchange["method"].as_str().unwrap();
        if !matches!(method, "PUT" | "PATCH") {
            return false;
        }
        let now: Timestamp = exchange["at"].as_str().unwrap().parse().unwrap();
        let version = ApiVersion::read(Query::decode(query).get("api-version")).unwrap();
        let body = exchange["body"].to_string();
        let segments: Vec<_> = path.split('/').skip(1).collect();
        let answer = match segments[..] {
            [_, subscription, _, group, _, _, _, name] => {
                let key = CollectionKey::new(subscription, group, name);
                let locations = Locations::default();
                let context =
                    CollectionContext { version, locations: &locations, limits: Limits::default(), now };
                let old = self.collections.get(&key);
                let new = match (method, old) {
                    ("PATCH", Some(old)) => collection::read_patch(body.as_bytes(), old, &context),
                    _ => collection::read_put(body.as_bytes(), &key, old, &context),
                };
                let new = new.unwrap();
                let answer = collection::answer(&new, version).to_value();
                self.collections.insert(key, new);
                answer
            }
            [_, subscription, _, group, _, _, _, collection, _, name] => {
                let key = CollectionKey::new(subscription, group, collection).job(name);
                let sku = self.collections[&key.collection].sku;
                let context = JobContext {
                    version,
                    sku,
                    limits: Limits::default(),
                    now,
                    put_at: now,
                    credential_headers: CredentialHeaders::default(),
                };
                let old = self.jobs.get(&key).map(|job| &*job.spec);
                let spec = match (method, old) {
                    ("PATCH", Some(old)) => job::read_patch(body.as_bytes(), &key, old, &context),
                    _ => job::read_put(body.as_bytes(), &key, old, &context),
                };
                let job = Job { key: key.clone(), ..a_job(spec.unwrap()) };
                let next_at =
                    job.spec.timetable(now).unwrap().first().filter(|_| job.state == JobState::Enabled);
                let answer = job::answer(&job, next_at, version, Dialect::default()).to_value();
                self.jobs.insert(key, job);
                answer
            }
            _ => return false,
        };
        let mut recorded = exchange["response"].clone();
        let mut answer = answer;
        if recorded["properties"]["startTime"].is_null() {
            // At once is 20 seconds later in the original service.
            for one in [&mut recorded, &mut answer] {
                if let Some(status) = one["properties"].get_mut("status").and_then(Value::as_object_mut) {
                    status.remove("nextExecutionTime");
                }
            }
        }
        assert_eq!(answer, recorded, "{file}: {method} {path}");
        true
    }
}
