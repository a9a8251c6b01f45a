//! Who may open a directory, and with which key.

use std::error::Error;

use punctual_store::KeyRing;
use punctual_store_sqlite::{OpenError, SqliteStore};

use crate::world::{Counting, open, options, ring};

#[test]
fn a_second_owner_is_told_who_has_the_directory() {
    let dir = tempfile::tempdir().unwrap();
    let first = open(dir.path());
    let error = SqliteStore::open(options(dir.path(), &ring())).unwrap_err().to_string();
    assert!(error.contains(&dir.path().display().to_string()), "{error}");
    assert!(error.contains(&format!("process {}", std::process::id())), "{error}");
    drop(first);
    open(dir.path());
}

#[test]
fn a_directory_is_owned_although_its_lock_file_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let first = open(dir.path());
    std::fs::remove_file(dir.path().join("punctual.lock")).unwrap();
    let error = SqliteStore::open(options(dir.path(), &ring())).unwrap_err();
    assert!(matches!(&error, OpenError::Owned { owner, .. } if owner == "another process"), "{error}");
    drop(first);
    open(dir.path());
}

#[test]
fn a_directory_is_made_with_all_above_it() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(&dir.path().join("a/b")));
    assert!(dir.path().join("a/b/punctual.db").exists());
}

#[test]
fn a_directory_that_is_a_file_is_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    std::fs::write(&path, "").unwrap();
    let error = SqliteStore::open(options(&path, &ring())).unwrap_err();
    assert!(matches!(&error, OpenError::Directory { .. }), "{error}");
    assert!(error.to_string().contains("file") && error.source().is_some());
}

#[test]
fn another_key_is_noticed_at_the_start() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(dir.path()));
    let random = Counting::default();
    punctual_model::RandomSource::random(&random);
    let other = KeyRing::generate(&random);
    let error = SqliteStore::open(options(dir.path(), &other)).unwrap_err();
    assert!(matches!(error, OpenError::WrongKey(_)), "{error}");
    open(dir.path());
}

#[test]
fn a_file_that_is_no_database_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("punctual.db"), "this is not a database, by far not one").unwrap();
    let error = SqliteStore::open(options(dir.path(), &ring())).unwrap_err();
    assert!(matches!(error, OpenError::Sqlite(_)), "{error}");
}

#[test]
fn closing_folds_the_log_into_the_data_file() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(dir.path()));
    let mut files: Vec<String> = std::fs::read_dir(dir.path())
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    assert_eq!(files, ["punctual.db", "punctual.lock"]);
}
