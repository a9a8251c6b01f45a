//! What `punctual copy` refuses, and what it never shows.

mod database;

use std::path::Path;

use crate::command::{punctual, stdout};

/// Runs a copy that is refused; returns its exit code and what it says.
fn refused(from: &str, to: &str) -> (Option<i32>, String) {
    let output = punctual().args(["copy", "--from", from, "--to", to]).output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

/// A data directory with a token in it.
fn data(dir: &Path) -> String {
    let data = dir.join("data").display().to_string();
    stdout(&["token", "create", "admin", "--role", "owner", "--scope", "/", "--data", &data], "");
    data
}

#[test]
fn what_can_not_be_copied_is_refused_without_its_password() {
    let dir = tempfile::tempdir().unwrap();
    let from = format!("sqlite:{}", data(dir.path()));
    let check = |from: &str, to: &str, code: i32, expected: &str| {
        let (found, said) = refused(from, to);
        assert!(said.contains(expected), "{said}");
        assert!(!said.contains("hush"), "{said}");
        assert_eq!(found, Some(code), "{said}");
    };
    check("mysql://me:hush@db/x", "sqlite:x", 2, "option --from: must be sqlite:DIR or postgres://");
    check(&from, "hush", 2, "option --to: must be sqlite:DIR or postgres://");
    check(&from, "postgres://me:hush@db/x?sslmode=hush", 2, "unknown sslmode");
    check(&from, &from, 2, "--from and --to are the same");
    check(
        &from,
        "postgres://me:hush@127.0.0.1:1/x",
        1,
        "could not connect to the database postgres://127.0.0.1:1/x",
    );
    check("sqlite:/nowhere", "postgres://me:hush@127.0.0.1:1/x", 2, "the key file /nowhere/keys is missing");
}

#[test]
fn a_data_directory_goes_to_another_one_if_nobody_runs_on_it() {
    let dir = tempfile::tempdir().unwrap();
    let data = data(dir.path());
    let (from, to) = (format!("sqlite:{data}"), format!("sqlite:{}", dir.path().join("new").display()));
    let shown = stdout(&["copy", "--from", &from, "--to", &to], "");
    assert!(
        shown.lines().any(|line| line.trim_start().starts_with("tokens") && line.contains(" 1 ")),
        "{shown}"
    );
    assert!(shown.contains("rows are the same on both sides"), "{shown}");
    let (code, said) = refused(&from, &to);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("there is data in"), "{said}");
    std::fs::copy(format!("{data}/keys"), dir.path().join("new/keys")).unwrap();
    let listed = |dir: &str| stdout(&["token", "list", "--data", dir, "--output", "json"], "");
    assert_eq!(listed(&dir.path().join("new").display().to_string()), listed(&data));

    let other = format!("sqlite:{}", dir.path().join("other").display());
    std::fs::write(format!("{data}/keys"), String::from("punctual keys 1\n1 ") + &"ab".repeat(32)).unwrap();
    let (code, said) = refused(&from, &other);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("has not the keys of sqlite:"), "{said}");
    assert!(!dir.path().join("other").exists(), "nothing was written");
}

#[test]
fn help_of_copy_is_golden() {
    let shown = stdout(&["copy", "--help"], "");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/copy-help.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, &shown).unwrap();
    }
    assert_eq!(shown, std::fs::read_to_string(path).unwrap());
}
