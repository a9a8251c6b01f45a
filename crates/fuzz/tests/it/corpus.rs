//! Every input that was kept holds.

use std::fs;
use std::path::PathBuf;

use punctual_fuzz::TARGETS;

/// The inputs that are kept for a target, in the order of their names.
pub(crate) fn inputs(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut inputs: Vec<_> = entries
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(&path).unwrap()))
        .collect();
    inputs.sort();
    inputs
}

#[test]
fn every_input_that_was_kept_holds() {
    for target in TARGETS {
        let inputs = inputs(target.name);
        assert!(inputs.len() >= 3, "{} has hardly any inputs", target.name);
        for (name, bytes) in &inputs {
            let outcome = std::panic::catch_unwind(|| (target.run)(bytes));
            assert!(outcome.is_ok(), "fuzz/corpus/{}/{name} does not hold", target.name);
        }
    }
}

#[test]
fn there_is_a_program_for_every_target_and_none_more() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    let programs: Vec<&str> = manifest
        .lines()
        .filter_map(|line| line.strip_prefix("path = \"src/")?.strip_suffix(".rs\""))
        .collect();
    let targets: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
    assert_eq!(programs, targets);
    for target in targets {
        let source = fs::read_to_string(folder.join(format!("src/{target}.rs"))).unwrap();
        assert!(source.contains(&format!("punctual_fuzz::run(\"{target}\", bytes)")), "{target}");
    }
}
