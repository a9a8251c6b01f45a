//! docs/reference/log-events.md lists every event of the log, and the access log has what it says.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::command::punctual;
use crate::raw;
use crate::server::Server;

/// The levels, loudest first.
const LEVELS: [&str; 5] = ["error", "warn", "info", "debug", "trace"];

/// An event, as it is found in the source: the crate and level that log it, its name, and its fields.
type Event = (String, usize, String);

/// The source of a crate, without its tests.
fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") && !path.ends_with("tests.rs") {
            found.push(path);
        }
    }
}

/// What is between a parenthesis that is open and the one that closes it. Texts may contain parentheses.
fn arguments(text: &str) -> &str {
    let (mut depth, mut quoted, mut escaped) = (1, false, false);
    for (at, letter) in text.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => {
                depth -= 1;
                if depth == 0 {
                    return &text[..at];
                }
            }
            _ => {}
        }
    }
    panic!("no end of {}", &text[..text.len().min(80)])
}

/// Splits arguments at the commas that are in no text and in no parentheses.
fn split(arguments: &str) -> Vec<&str> {
    let (mut depth, mut quoted, mut escaped, mut from) = (0, false, false, 0);
    let mut parts = Vec::new();
    for (at, letter) in arguments.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '(' | '[' | '{' if !quoted => depth += 1,
            ')' | ']' | '}' if !quoted => depth -= 1,
            ',' if !quoted && depth == 0 => {
                parts.push(arguments[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(arguments[from..].trim());
    parts.retain(|part| !part.is_empty());
    parts
}

/// The text of a literal, in one line.
fn text(literal: &str) -> Option<String> {
    let text = literal.strip_prefix('"')?.strip_suffix('"')?;
    let lines: Vec<&str> = text.split("\\\n").map(str::trim_start).collect();
    Some(lines.concat().replace("\\\"", "\""))
}

/// The name of a field: `error` of `error = %Chain(&trouble)`, `?reason` and `job.id`.
fn field(part: &str) -> Option<String> {
    let name = part.split('=').next()?.trim().trim_start_matches(['%', '?']);
    let plain =
        !name.is_empty() && name.chars().all(|letter| letter.is_alphanumeric() || "_.".contains(letter));
    plain.then(|| name.to_owned())
}

/// The events in a source file. Calls by macros of our own pass the level first, and log the fields of their definition.
fn events(crate_name: &str, source: &str, found: &mut BTreeMap<Event, Vec<String>>) {
    let source = source.split("#[cfg(test)]\nmod tests {").next().unwrap();
    for (level, name) in LEVELS.iter().enumerate() {
        for rest in source.split(&format!("tracing::{name}!(")).skip(1) {
            let parts = split(arguments(rest));
            let parts: Vec<&str> = parts.into_iter().filter(|part| !part.starts_with("target:")).collect();
            // A text with values in it comes before them.
            let said =
                parts.iter().find_map(|part| text(part)).unwrap_or_else(|| panic!("{parts:?} say nothing"));
            let fields = parts.iter().filter_map(|part| field(part)).collect();
            found.insert((crate_name.to_owned(), level, said), fields);
        }
        for rest in source.split(&format!("line!({name}, ")).skip(1) {
            let parts = split(arguments(rest));
            let said = parts.iter().find_map(|part| text(part)).unwrap();
            let definition = source.split_once("tracing::$level!(").unwrap().1;
            let fields = split(arguments(definition)).iter().filter_map(|part| field(part)).collect();
            found.insert((crate_name.to_owned(), level, said), fields);
        }
    }
}

fn reference() -> String {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = BTreeMap::new();
    // What the server runs on.
    for name in ["actions", "api", "cli", "edit", "runner", "store", "store-postgres", "store-sqlite"] {
        let mut files = Vec::new();
        sources(&crates.join(name).join("src"), &mut files);
        for file in files {
            events(name, &std::fs::read_to_string(file).unwrap(), &mut found);
        }
    }
    let mut page = String::from(
        "# Events of the log\n\nEvery line that the server logs is one of these events. The text of an event is its name: it is \
         the `message` of a JSON\nline (`log.format = \"json\"`), the same each time, and what changes is in its fields. `{…}` in \
         a name stands for a value. Fields\nthat are there only sometimes are listed, too. A crate is the beginning of \
         the line's `target`, with `punctual_` before it (`cli` is\n`punctual`), for filters such as \
         `log.level = \"info,punctual_runner=debug\"`.\n\nNo field has a secret, a URL, a header or a body. `job` is the number of a job, \
         `tag` the execution tag and `request` the id of a\nrequest: that which a target sees of an attempt, or that of the API's \
         answer, which the audit log has, too.\n\nThis page is made from the source by a test.\n",
    );
    let mut place = (String::new(), usize::MAX);
    for ((name, level, said), fields) in found {
        if place.0 != name {
            write!(page, "\n## {name}\n").unwrap();
        }
        if place != (name.clone(), level) {
            write!(page, "\n### {}\n\n", LEVELS[level]).unwrap();
        }
        place = (name, level);
        let fields: Vec<String> = fields.iter().map(|field| format!("`{field}`")).collect();
        let fields = if fields.is_empty() { String::new() } else { format!(": {}", fields.join(", ")) };
        writeln!(page, "- {said}{fields}").unwrap();
    }
    page
}

#[test]
fn the_reference_lists_every_event() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/log-events.md");
    let reference = reference();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &reference).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    let missing: Vec<&str> = reference.lines().filter(|line| !written.contains(*line)).collect();
    assert!(
        written == reference,
        "docs/reference/log-events.md lacks {missing:#?}; UPDATE_GOLDEN=1 writes it anew"
    );
}

#[test]
fn the_source_is_read_as_it_is_written() {
    let mut found = BTreeMap::new();
    let source = "tracing::warn!(job = id.0, %error, ?reason, \"it (really) \\\n    failed, twice\"); tracing::info!(\"plain {count}\");";
    events("x", source, &mut found);
    let event = |level, said: &str| ("x".to_owned(), level, said.to_owned());
    assert_eq!(found[&event(1, "it (really) failed, twice")], ["job", "error", "reason"]);
    assert_eq!(found[&event(2, "plain {count}")], Vec::<String>::new());
}

#[test]
fn requests_are_logged_only_if_that_is_set_and_without_what_a_caller_wrote() {
    for on in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let mut command = punctual();
        command.env("PUNCTUAL_LOG__ACCESS", on.to_string()).env("PUNCTUAL_LOG__FORMAT", "json");
        command.stderr(std::fs::File::create(&log).unwrap());
        let server = Server::start_as(&mut command, &folder.path().join("data"), &["--role", "api"]);
        server.put_collection("c");
        let address = &server.address;
        for path in ["/doctor?secret=hunter2", "/hunter2"] {
            raw::exchange(address, raw::request("GET", address, path, "", "").as_bytes());
        }
        let odd = raw::request("HUNTER2", address, "/doctor", "", "");
        raw::exchange(address, odd.as_bytes());
        server.stop();
        let log = std::fs::read_to_string(log).unwrap();
        assert!(!log.to_lowercase().contains("hunter2"), "{log}");
        let lines: Vec<serde_json::Value> = log
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
            .filter(|line| line["fields"]["message"] == "a request was answered")
            .map(|mut line| line["fields"].take())
            .collect();
        assert_eq!(lines.len(), if on { 4 } else { 0 }, "{log}");
        let Some([put, doctor, nothing, odd]) = lines.get(..4) else { continue };
        assert_eq!((put["operation"].as_str(), put["status"].as_u64()), (Some("putCollection"), Some(201)));
        let scope = "/subscriptions/s1/resourceGroups/g1/providers/Microsoft.Scheduler/jobCollections/c";
        assert_eq!((put["scope"].as_str(), put["method"].as_str()), (Some(scope), Some("PUT")));
        assert_eq!(
            (doctor["operation"].as_str(), doctor["source"].as_str()),
            (Some("doctor"), Some("127.0.0.1"))
        );
        assert!(doctor["request"].as_str().unwrap().len() == 36 && doctor["took_ms"].as_f64() > Some(0.0));
        assert_eq!((nothing["status"].as_u64(), nothing.get("operation")), (Some(404), None));
        assert_eq!((odd["status"].as_u64(), odd.get("method")), (Some(405), None));
    }
}
