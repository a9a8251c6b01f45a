//! ARCHITECTURE.md is the one place that says which crate knows which: its table and its picture are compared
//! with what cargo knows, and the files that it names with those that there are.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn text() -> String {
    std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap()
}

/// What is in backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The table of crates: each with those that it knows.
fn table(text: &str) -> BTreeMap<String, BTreeSet<String>> {
    let lines = text.lines().skip_while(|line| *line != "| crate | purpose | knows |").skip(2);
    lines
        .take_while(|line| line.starts_with('|'))
        .map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split('|').collect();
            let [name, _purpose, knows] = cells[..] else { panic!("three cells: {line}") };
            let name = quoted(name).next().unwrap_or_else(|| panic!("a name: {line}"));
            (name.to_owned(), quoted(knows).map(str::to_owned).collect())
        })
        .collect()
}

/// A line of the picture.
struct Layer {
    crates: Vec<String>,
    label: String,
}

fn layers(text: &str) -> Vec<Layer> {
    let lines = text.lines().filter_map(|line| line.trim().strip_prefix('│')?.strip_suffix('│'));
    lines
        .map(|line| {
            let (crates, label) =
                line.split_once('│').unwrap_or_else(|| panic!("crates and a label: {line}"));
            let crates = crates.split_whitespace().map(str::to_owned).collect();
            Layer { crates, label: label.trim().to_owned() }
        })
        .collect()
}

/// Crates that pure crates must not have, at any depth.
const IMPURE: [&str; 6] = ["tokio", "hyper", "axum", "rusqlite", "http", "rustls"];

fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--offline", "--no-deps"])
        .current_dir(root())
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

/// The crates of this workspace, each with those of them that it depends on. Tests may know more than what they
/// test.
fn cargo(metadata: &Value) -> BTreeMap<String, BTreeSet<String>> {
    let packages = metadata["packages"].as_array().unwrap();
    let folders: BTreeMap<&str, String> =
        packages.iter().map(|package| (package["name"].as_str().unwrap(), folder(package))).collect();
    let known = |package: &Value| -> BTreeSet<String> {
        let dependencies = package["dependencies"].as_array().unwrap().iter();
        let used = dependencies.filter(|dependency| dependency["kind"] != "dev");
        used.filter_map(|dependency| folders.get(dependency["name"].as_str().unwrap()).cloned()).collect()
    };
    packages.iter().map(|package| (folder(package), known(package))).collect()
}

#[test]
fn the_table_says_which_crate_knows_which() {
    let (said, done) = (table(&text()), cargo(&metadata()));
    assert_eq!(
        said.keys().collect::<Vec<_>>(),
        done.keys().collect::<Vec<_>>(),
        "the crates of ARCHITECTURE.md"
    );
    for (name, knows) in &done {
        assert_eq!(&said[name], knows, "what {name} knows, by ARCHITECTURE.md and by its Cargo.toml");
    }
}

#[test]
fn a_crate_knows_only_crates_of_lower_layers() {
    let text = text();
    let (table, layers) = (table(&text), layers(&text));
    let depth = |name: &String| layers.iter().position(|layer| layer.crates.contains(name));
    let shown = layers.iter().map(|layer| layer.crates.len()).sum::<usize>();
    assert_eq!(shown, table.len(), "each crate is in the picture once");
    for (name, knows) in &table {
        let own = depth(name).unwrap_or_else(|| panic!("{name} is not in the picture"));
        for known in knows {
            assert!(depth(known) > Some(own), "{name} knows {known}, which is not below it in the picture");
        }
    }
}

#[test]
fn pure_crates_have_no_runtime_no_http_no_sql() {
    let metadata = metadata();
    let pure: Vec<String> = layers(&text())
        .into_iter()
        .filter(|layer| layer.label.starts_with("pure"))
        .flat_map(|layer| layer.crates)
        .collect();
    assert!(pure.len() >= 4, "{pure:?}");
    for package in metadata["packages"].as_array().unwrap() {
        let name = folder(package);
        if !pure.contains(&name) {
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
fn every_file_that_is_named_exists() {
    let (root, text) = (root(), text());
    let links = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let files = quoted(&text).filter(|name| name.starts_with("crates/") || name.starts_with("docs/"));
    let named: Vec<&str> = links.chain(files).collect();
    assert!(named.len() > 5, "{named:?}");
    for name in named {
        assert!(root.join(name).exists(), "ARCHITECTURE.md names {name}, which does not exist");
    }
    let short = quoted(&text).find(|name| name.ends_with(".rs") && !name.starts_with("crates/"));
    assert_eq!(short, None, "files are named from the root, so that they are found and checked");
}

#[test]
fn the_lists_for_newcomers_name_at_most_five_files_that_exist() {
    let text = std::fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    let (_, lists) = text.split_once("## Where to begin").unwrap();
    let lists = lists.split("\n## ").next().unwrap();
    let lists = lists.split("\n**").skip(1);
    let mut count = 0;
    for list in lists {
        let steps: Vec<&str> =
            list.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit())).collect();
        assert!(!steps.is_empty(), "{list}");
        assert!(!steps.iter().any(|step| step.starts_with('6')), "at most five files: {list}");
        for step in steps {
            let file = quoted(step).next().unwrap();
            assert!(root().join(file).exists(), "CONTRIBUTING.md names {file}, which does not exist");
        }
        count += 1;
    }
    assert_eq!(count, 5, "a store method, an endpoint, a setting, a kind of action, a metric");
}

#[test]
fn every_hop_of_a_walk_is_a_function_of_its_file() {
    let text = text();
    let mut count = 0;
    for line in text.lines() {
        let Some((number, hop)) = line.split_once(". ") else { continue };
        if number.parse::<u32>().is_err() || !hop.starts_with('`') {
            continue;
        }
        let [file, function] = quoted(hop).take(2).collect::<Vec<_>>()[..] else {
            panic!("two names: {line}")
        };
        let source = std::fs::read_to_string(root().join(file)).unwrap();
        let called = ["(", "<"].iter().any(|next| source.contains(&format!("fn {function}{next}")));
        assert!(called, "{file} has no function {function}");
        count += 1;
    }
    assert!(count > 20, "{count}");
}

#[test]
fn every_source_file_says_what_it_is_for() {
    let mut folders = vec![root().join("crates")];
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
    // The bench asks databases what they do by themselves.
    for name in table(&text()).keys().filter(|name| !name.starts_with("store-") && *name != "bench") {
        let mut folders = vec![root().join("crates").join(name).join("src")];
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

#[test]
fn every_crate_of_the_binary_has_line_numbers_in_its_backtraces() {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let table = table(&text());
    let (mut product, mut more) = (BTreeSet::new(), vec!["cli".to_owned()]);
    while let Some(name) = more.pop() {
        more.extend(table[&name].iter().cloned());
        product.insert(name);
    }
    for name in product {
        let package = if name == "cli" { "punctual".to_owned() } else { format!("punctual-{name}") };
        let profile = format!("[profile.release.package.{package}]\ndebug = \"line-tables-only\"\n");
        assert!(manifest.contains(&profile), "{name} has no profile in Cargo.toml");
    }
}
