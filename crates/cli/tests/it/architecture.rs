//! The picture in ARCHITECTURE.md is compared with what cargo knows, so that it can't lie.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Who may know whom: only what is named here.
fn allowed() -> BTreeMap<&'static str, BTreeSet<&'static str>> {
    [
        ("recurrence", vec![]),
        ("pfx", vec![]),
        ("model", vec!["recurrence"]),
        ("arm", vec!["model", "pfx", "recurrence"]),
        ("store", vec!["model", "recurrence"]),
        ("store-sqlite", vec!["model", "recurrence", "store"]),
        ("actions", vec!["model", "pfx"]),
        ("runner", vec!["model", "recurrence", "store"]),
        ("api", vec!["arm", "model", "store"]),
        // Measures; dev only.
        ("bench", vec![]),
        ("sim", vec!["model", "recurrence", "runner", "store", "store-sqlite"]),
        ("cli", vec!["actions", "api", "arm", "model", "recurrence", "runner", "store", "store-sqlite"]),
    ]
    .into_iter()
    .map(|(name, knows)| (name, knows.into_iter().collect()))
    .collect()
}

/// Crates that pure crates must not have, at any depth.
const IMPURE: [&str; 6] = ["tokio", "hyper", "axum", "rusqlite", "http", "rustls"];

fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--offline", "--no-deps"])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The name of a workspace member's folder.
fn folder(package: &Value) -> String {
    let manifest = Path::new(package["manifest_path"].as_str().unwrap());
    manifest.parent().unwrap().file_name().unwrap().to_string_lossy().into_owned()
}

#[test]
fn crates_know_only_whom_they_may() {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().unwrap();
    let folders: BTreeMap<&str, String> =
        packages.iter().map(|package| (package["name"].as_str().unwrap(), folder(package))).collect();
    let allowed = allowed();
    for package in packages {
        let name = folder(package);
        let Some(may_know) = allowed.get(name.as_str()) else {
            panic!("{name} is not in the picture: add it to ARCHITECTURE.md and here")
        };
        for dependency in package["dependencies"].as_array().unwrap() {
            // Tests may know more than what they test.
            if dependency["kind"] == "dev" {
                continue;
            }
            if let Some(known) = folders.get(dependency["name"].as_str().unwrap()) {
                assert!(may_know.contains(known.as_str()), "{name} must not depend on {known}");
            }
        }
    }
}

#[test]
fn pure_crates_have_no_runtime_no_http_no_sql() {
    let metadata = metadata();
    for package in metadata["packages"].as_array().unwrap() {
        let name = folder(package);
        if !["recurrence", "model", "arm", "pfx"].contains(&name.as_str()) {
            continue;
        }
        for dependency in package["dependencies"].as_array().unwrap() {
            let known = dependency["name"].as_str().unwrap();
            let pure = dependency["kind"] == "dev" || !IMPURE.contains(&known);
            assert!(pure, "{name} is pure and must not depend on {known}");
            let time_only = name != "recurrence" || dependency["kind"] == "dev" || known == "jiff";
            assert!(time_only, "recurrence depends on the time library only, not on {known}");
            let serde_free = name != "model" || !known.starts_with("serde");
            assert!(serde_free, "model has no serde");
        }
    }
}

#[test]
fn every_source_file_says_what_it_is_for() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut folders = vec![root.to_path_buf()];
    let mut checked = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && path.file_name().is_none_or(|name| name != "target") {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                assert!(text.starts_with("//!"), "{} has no module doc", path.display());
                checked += 1;
            }
        }
    }
    assert!(checked > 20);
}

#[test]
fn sql_text_lives_only_in_the_store_crates() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for name in allowed().keys().filter(|name| !name.starts_with("store-")) {
        let mut folders = vec![root.join(name).join("src")];
        while let Some(folder) = folders.pop() {
            let Ok(entries) = std::fs::read_dir(&folder) else { continue };
            for entry in entries {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let text = std::fs::read_to_string(&path).unwrap_or_default();
                for word in ["SELECT ", "INSERT INTO", "UPDATE SET", "DELETE FROM"] {
                    assert!(!text.contains(word), "{} has SQL text", path.display());
                }
            }
        }
    }
}
