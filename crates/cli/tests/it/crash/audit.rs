//! Wherever the server is killed, a change and its entry in the audit log are both there, or neither.
//!
//! Several callers write at once, each step of a thing only after the one before it was acknowledged, until one is not
//! answered. Afterwards the log must have an entry for each step that was acknowledged, and what there is must be what the
//! steps with an entry make: whether the last one has one tells whether it was carried out.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use punctual_sim::rng::Rng;
use serde_json::{Value, json};

use super::{number, pause};
use crate::command::stdout;
use crate::raw;
use crate::server::Server;

/// How many callers write at once.
const CALLERS: usize = 6;

/// The longest that a server lives.
const LIFE_MILLIS_MAX: i64 = 400;

/// What is written: each by the same four steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Collection,
    Job,
}

/// Something that one caller writes.
#[derive(Debug)]
struct Thing {
    kind: Kind,
    /// The path of a job begins with its collection.
    path: String,
    /// The ids of the requests that were acknowledged, in order.
    acknowledged: Vec<String>,
    /// Whether one more was sent, and not answered.
    unanswered: bool,
}

/// Put, patch, put, delete.
const STEPS: [&str; 4] = ["PUT", "PATCH", "PUT", "DELETE"];

impl Thing {
    fn body(&self, step: usize) -> Option<Value> {
        match self.kind {
            _ if STEPS[step] == "DELETE" => None,
            Kind::Collection => Some(json!({"location": "West US", "properties":
                {"sku": {"name": "P20Premium"}, "quota": {"maxJobCount": 10 + step}}})),
            Kind::Job => {
                let request = json!({"method": "GET", "uri": format!("http://127.0.0.1:1/{step}")});
                let action = json!({"type": "Http", "request": request});
                let recurrence = json!({"frequency": "day"});
                Some(json!({"properties": {"action": action, "recurrence": recurrence, "state": "disabled"}}))
            }
        }
    }

    /// Takes one step after another. False if there was no answer.
    fn live(&mut self, address: &str, token: &str) -> bool {
        for (step, method) in STEPS.into_iter().enumerate() {
            let body = self.body(step).as_ref().map(Value::to_string).unwrap_or_default();
            let authorization = format!("Authorization: Bearer {token}\r\n");
            let request = raw::request(method, address, &Server::path(&self.path), &authorization, &body);
            let Some(answer) = raw::try_exchange(address, request.as_bytes()) else {
                self.unanswered = true;
                return false;
            };
            assert!(answer.status < 300, "{method} {}: {}", self.path, answer.text);
            let id = answer.head.lines().find_map(|line| line.strip_prefix("x-ms-request-id: ")).unwrap();
            self.acknowledged.push(id.to_owned());
        }
        true
    }

    /// Which step was the last to be carried out, by what there is: none if nothing is there.
    fn last_step(&self, shown: &Value) -> Option<usize> {
        let properties = &shown["properties"];
        match self.kind {
            Kind::Collection => {
                let count = properties["quota"]["maxJobCount"].as_u64()?;
                usize::try_from(count - 10).ok()
            }
            Kind::Job => properties["action"]["request"]["uri"].as_str()?.rsplit('/').next()?.parse().ok(),
        }
    }
}

/// Starts a server, lets callers write, and kills it.
fn live_and_die(data: &Path, token: &str, life: u64, time: Duration) -> Vec<Thing> {
    let server = Server::start(data, &["--role", "api"]);
    let collection = format!("/life{life}");
    let body = json!({"location": "West US", "properties": {"sku": {"name": "P20Premium"}}});
    let made = server.call_as(Some(token), "PUT", &Server::path(&collection), Some(&body));
    assert_eq!(made.status, 201, "{}", made.body);
    std::thread::scope(|scope| {
        let callers: Vec<_> = (0..CALLERS)
            .map(|caller| {
                let (address, collection) = (&server.address, &collection);
                scope.spawn(move || {
                    let mut things = Vec::new();
                    for number in 0.. {
                        let (kind, path) = match number % 3 {
                            0 => (Kind::Collection, format!("{collection}-{caller}-{number}")),
                            _ => (Kind::Job, format!("{collection}/jobs/{caller}-{number}")),
                        };
                        let mut thing = Thing { kind, path, acknowledged: Vec::new(), unanswered: false };
                        let answered = thing.live(address, token);
                        things.push(thing);
                        if !answered {
                            break;
                        }
                    }
                    things
                })
            })
            .collect();
        pause(time);
        server.signal("-KILL");
        callers.into_iter().flat_map(|caller| caller.join().unwrap()).collect()
    })
}

/// The ids of requests that were carried out, by what they changed, in order.
fn entries(data: &Path) -> HashMap<String, Vec<String>> {
    let exported = stdout(&["audit", "export", "--data", data.to_str().unwrap()], "");
    let mut entries: Vec<Value> = exported.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    entries.sort_by_key(|entry| entry["number"].as_i64());
    let mut found: HashMap<String, Vec<String>> = HashMap::new();
    for entry in entries.iter().filter(|entry| entry["outcome"] == "done") {
        let scope = entry["scope"].as_str().unwrap().to_lowercase();
        found.entry(scope).or_default().push(entry["requestId"].as_str().unwrap().to_owned());
    }
    found
}

#[test]
fn a_change_and_its_audit_entry_are_both_there_or_neither() {
    let kills = number("PUNCTUAL_CRASH_KILLS", 8);
    let seed = number("PUNCTUAL_CRASH_SEED", 0x5eed_2028);
    println!("{kills} kills, PUNCTUAL_CRASH_SEED={seed}");
    let mut rng = Rng::new(seed);
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let create =
        ["token", "create", "root", "--role", "owner", "--scope", "/", "--data", data.to_str().unwrap()];
    let token = stdout(&create, "").trim_end().to_owned();
    let mut things = Vec::new();
    for life in 0..kills {
        let time = Duration::from_millis(rng.between(5, LIFE_MILLIS_MAX).unsigned_abs());
        things.extend(live_and_die(&data, &token, life, time));
    }
    let entries = entries(&data);
    let verified = stdout(&["audit", "verify", "--data", data.to_str().unwrap()], "");
    assert!(verified.contains("nothing was changed"), "{verified}");
    let server = Server::start(&data, &["--role", "api"]);
    let (mut acknowledged, mut carried_out) = (0, 0);
    for thing in &things {
        let path = Server::path(&thing.path);
        let scope = path.split('?').next().unwrap().to_lowercase();
        let noted = entries.get(&scope).map_or(&[][..], Vec::as_slice);
        let (begin, rest) = noted
            .split_at_checked(thing.acknowledged.len())
            .unwrap_or_else(|| panic!("{thing:?} was acknowledged, and has only these entries: {noted:?}"));
        assert_eq!(begin, thing.acknowledged, "{scope}");
        assert!(rest.len() <= usize::from(thing.unanswered), "{thing:?} has more entries: {noted:?}");
        // Those that came to their end are gone, and most of all.
        let expected = noted.len().checked_sub(1).filter(|last| STEPS[*last] != "DELETE");
        let shown = server.call_as(Some(&token), "GET", &path, None);
        assert_eq!(thing.last_step(&shown.body), expected, "{thing:?} with {noted:?} is {}", shown.body);
        assert_eq!(shown.status == 404, expected.is_none(), "{thing:?}: {}", shown.body);
        acknowledged += thing.acknowledged.len();
        carried_out += rest.len();
    }
    server.stop();
    println!(
        "{acknowledged} changes were acknowledged, {carried_out} carried out without an answer, {} entries",
        entries.values().map(Vec::len).sum::<usize>()
    );
    assert!(acknowledged > 0);
}
