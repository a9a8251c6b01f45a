//! The data directory: whose it is, who may read it, and what is refused because something of it was lost.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::command::{punctual, run};
use crate::server::Server;
use crate::small_disk::say;

fn stop(server: Server) {
    server.signal("-TERM");
    assert!(server.wait().success());
}

/// Data of a server that has been stopped: a collection, and a job with or without a secret.
fn data(secret: bool) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["--role", "api"]);
    server.put_collection("c");
    let authentication = json!({"type": "Basic", "username": "u", "password": "p"});
    let mut job = json!({"properties": {"startTime": "2027-06-01", "action":
        {"type": "Http", "request": {"method": "GET", "uri": "https://127.0.0.1/"}}}});
    if secret {
        job["properties"]["action"]["request"]["authentication"] = authentication;
    }
    assert_eq!(server.call("PUT", &Server::path("/c/jobs/j"), Some(&job)).status, 201);
    stop(server);
    folder
}

/// A start that must fail; what it says.
fn refused(data: &Path, more: &[&str]) -> String {
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()];
    let output = run(&[&arguments[..], more].concat(), "");
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(matches!(output.status.code(), Some(1 | 2)), "{error}");
    error
}

#[track_caller]
fn says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
}

/// A server starts on it, and has its job.
fn starts(data: &Path) {
    let server = Server::start(data, &["--role", "api"]);
    assert_eq!(server.call("GET", &Server::path("/c/jobs/j"), None).status, 200);
    stop(server);
}

/// What doctor says of the data, with its exit code.
fn doctor(data: &Path, more: &[&str]) -> (Option<i32>, String) {
    let output = run(&[&["doctor", "--data", data.to_str().unwrap()], more].concat(), "");
    (output.status.code(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

// Whose it is.

#[test]
fn a_second_process_is_refused_although_the_lock_file_is_gone_or_another() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["--role", "api"]);
    let lock = folder.path().join("punctual.lock");
    says(&refused(folder.path(), &[]), &[&format!("is in use by process {}", server.pid())]);
    fs::remove_file(&lock).unwrap();
    says(&refused(folder.path(), &[]), &["is in use by another process"]);
    assert!(!lock.exists(), "whoever is refused leaves nothing behind");
    fs::write(&lock, "").unwrap();
    says(&refused(folder.path(), &[]), &["is in use by another process"]);
    let (code, told) = doctor(folder.path(), &[]);
    assert_eq!(code, Some(2), "{told}");
    says(&told, &["is in use by another process"]);
    server.put_collection("c");
    stop(server);
    stop(Server::start(folder.path(), &["--role", "api"]));
}

#[test]
fn data_of_another_user_is_refused_and_can_be_looked_at_by_root() {
    if !rustix::process::geteuid().is_root() {
        say("SKIPPED: only root can give data to another user");
        return;
    }
    let folder = data(false);
    let check = |path: &Path| {
        chown(path, Some(12_345), None).unwrap();
        let told = refused(folder.path(), &[]);
        let who = format!("{} belongs to user 12345, and this process runs as user 0", path.display());
        says(&told, &[&who, "run it as user 12345", "chown --recursive"]);
        let (code, told) = doctor(folder.path(), &[]);
        assert_eq!(code, Some(1), "{told}");
        says(&told, &["belongs to user", "a server refuses that"]);
        chown(path, Some(0), None).unwrap();
    };
    check(folder.path());
    check(&folder.path().join("punctual.db"));
    check(&folder.path().join("keys"));

    // All of it belongs to somebody else: root may look, and leaves nothing of its own behind.
    chown(folder.path(), Some(12_345), None).unwrap();
    fs::remove_file(folder.path().join("punctual.lock")).unwrap();
    for name in names(folder.path()) {
        chown(folder.path().join(name), Some(12_345), None).unwrap();
    }
    let (code, told) = doctor(folder.path(), &[]);
    assert_eq!(code, Some(0), "{told}");
    for name in names(folder.path()) {
        assert_eq!(fs::metadata(folder.path().join(&name)).unwrap().uid(), 12_345, "{name}");
    }
}

// Who may read it.

#[test]
fn only_the_owner_may_read_it_whatever_the_umask() {
    for umask in ["000", "077", "277"] {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let mut command = Command::new("sh");
        command
            .args(["-c", &format!("umask {umask}; exec \"$0\" \"$@\"")])
            .arg(env!("CARGO_BIN_EXE_punctual"));
        let arguments = ["--role", "api", "--tls", "self-signed"];
        let _server = Server::start_as(command.stderr(Stdio::inherit()), &data, &arguments);
        assert_eq!(mode(&data), 0o700, "umask {umask}");
        let found = names(&data);
        let expected = [
            "keys",
            "punctual.db",
            "punctual.db-shm",
            "punctual.db-wal",
            "punctual.lock",
            "tls-cert.pem",
            "tls-key.pem",
        ];
        assert_eq!(found, expected, "umask {umask}");
        for name in found {
            assert_eq!(mode(&data.join(&name)), 0o600, "{name} with umask {umask}");
        }
    }
}

#[test]
fn modes_that_let_others_in_are_repaired_with_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["--role", "api", "--tls", "self-signed"]);
    // Its write-ahead log is left.
    server.signal("-KILL");
    server.wait();
    set_mode(folder.path(), 0o755);
    let found = names(folder.path());
    assert_eq!(found.len(), 7, "{found:?}");
    for name in &found {
        set_mode(&folder.path().join(name), 0o644);
    }
    let place = tempfile::tempdir().unwrap();
    let log = place.path().join("log");
    let mut command = punctual();
    let server =
        Server::start_as(command.stderr(File::create(&log).unwrap()), folder.path(), &["--role", "api"]);
    assert_eq!(mode(folder.path()), 0o700);
    for name in names(folder.path()) {
        assert_eq!(mode(&folder.path().join(&name)), 0o600, "{name}");
    }
    stop(server);
    let log = fs::read_to_string(&log).unwrap();
    let warnings: Vec<&str> = log.lines().filter(|line| line.contains("WARN")).collect();
    assert_eq!(warnings.len(), 8, "the directory and its files: {log}");
    assert!(warnings.iter().all(|line| line.contains("its permissions were changed")), "{log}");
    says(&log, &["keys was=644 is=600", "was=755 is=700"]);
}

#[test]
fn a_directory_that_is_shared_with_others_is_not_closed_to_them() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("theirs")).unwrap();
    set_mode(folder.path(), 0o1777);
    let told = refused(folder.path(), &[]);
    says(&told, &["others can use", "other directories in it", "chmod 700", "choose another directory"]);
    assert_eq!(mode(folder.path()), 0o1777);
    assert_eq!(names(folder.path()), ["theirs"]);
    set_mode(folder.path(), 0o755);
    for _ in 0..2 {
        stop(Server::start(folder.path(), &["--role", "api"]));
        assert_eq!(mode(folder.path()), 0o755, "nobody can write there, and the files are closed");
    }
}

#[test]
fn a_key_file_elsewhere_that_others_can_read_or_that_is_another_one_is_refused() {
    let folder = data(true);
    let elsewhere = tempfile::tempdir().unwrap();
    let keys = elsewhere.path().join("the-keys");
    fs::rename(folder.path().join("keys"), &keys).unwrap();
    let config = elsewhere.path().join("punctual.toml");
    fs::write(&config, format!("[data]\nkey_file = \"{}\"\n", keys.display())).unwrap();
    let named = ["--config", config.to_str().unwrap()];
    let server = Server::start(folder.path(), &named);
    assert_eq!(server.call("GET", &Server::path("/c/jobs/j"), None).status, 200);
    stop(server);
    assert_eq!(doctor(folder.path(), &["--key-file", keys.to_str().unwrap()]).0, Some(0));
    set_mode(&keys, 0o644);
    says(&refused(folder.path(), &named), &["can be read by others", "chmod 600"]);
    set_mode(&keys, 0o600);

    let other = data(false);
    fs::copy(other.path().join("keys"), folder.path().join("keys")).unwrap();
    says(&refused(folder.path(), &[]), &["the keys do not belong to this data directory"]);
    let (code, told) = doctor(folder.path(), &[]);
    assert_eq!(code, Some(1), "{told}");
    says(&told, &["Problem: The key file", "is not the one that the secrets were sealed with"]);
    assert!(!told.contains("Delete the job"), "{told}");
}

// What was lost.

#[test]
fn a_missing_key_file_is_found_and_none_is_made_where_secrets_were_sealed_with_it() {
    let folder = data(true);
    let (keys, away) = (folder.path().join("keys"), folder.path().join("away"));
    fs::rename(&keys, &away).unwrap();
    for _ in 0..2 {
        let told = refused(folder.path(), &[]);
        says(
            &told,
            &["keys is missing, and 1 job has secrets", "put it back from a backup", "data.key_file"],
        );
        assert_eq!(names(folder.path()), ["away", "punctual.db", "punctual.lock"], "none is made");
    }
    let (code, told) = doctor(folder.path(), &[]);
    assert_eq!(code, Some(1), "{told}");
    assert!(told.starts_with("There is 1 problem.\n"), "{told}");
    says(&told, &["Problem: The key file", "is missing, and 1 job has secrets", "--key-file"]);
    assert!(!told.contains("Delete the job"), "{told}");
    fs::rename(&away, &keys).unwrap();
    assert_eq!(doctor(folder.path(), &[]).0, Some(0));
    starts(folder.path());
}

#[test]
fn a_missing_key_file_is_made_anew_where_nothing_was_sealed_with_it() {
    let folder = data(false);
    fs::remove_file(folder.path().join("keys")).unwrap();
    assert_eq!(doctor(folder.path(), &[]).0, Some(0));
    starts(folder.path());
    assert!(folder.path().join("keys").exists());
    starts(folder.path());
}

#[test]
fn a_running_server_tells_that_its_files_were_removed() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("punctual.toml");
    fs::write(&config, "[inspector]\nlook_seconds = 1\n").unwrap();
    let server = Server::start(folder.path(), &["--config", config.to_str().unwrap()]);
    let wait_for = |count: usize| -> Value {
        crate::scheduler::wait_for("the problems are told", || {
            let told = server.call("GET", "/doctor", None).body;
            (told["problems"].as_array().unwrap().len() == count && told["scan"]["passCount"] != 0)
                .then_some(told)
        })
    };
    assert_eq!(wait_for(0)["status"], "healthy");
    fs::rename(folder.path().join("keys"), folder.path().join("away")).unwrap();
    let told = wait_for(1);
    assert_eq!(told["status"], "trouble");
    says(told["problems"][0].as_str().unwrap(), &["The key file", "was removed while the server runs"]);
    fs::remove_file(folder.path().join("punctual.db")).unwrap();
    says(wait_for(2)["problems"][0].as_str().unwrap(), &["punctual.db was removed or replaced"]);
    fs::rename(folder.path().join("away"), folder.path().join("keys")).unwrap();
    wait_for(1);
}

#[test]
fn a_database_that_was_removed_or_emptied_is_not_replaced() {
    /// Data of a server that was killed, so that its write-ahead log is there.
    fn killed() -> TempDir {
        let folder = data(false);
        let server = Server::start(folder.path(), &["--role", "api"]);
        server.put_collection("d");
        server.signal("-KILL");
        server.wait();
        assert!(fs::metadata(folder.path().join("punctual.db-wal")).unwrap().len() > 0);
        folder
    }
    let check = |folder: TempDir, lose: &dyn Fn(&Path), parts: &[&str]| {
        lose(folder.path());
        let before = names(folder.path());
        says(&refused(folder.path(), &[]), &[parts, &["restore punctual.db from a backup"]].concat());
        assert_eq!(names(folder.path()), before, "nothing is made");
        let (code, told) = doctor(folder.path(), &[]);
        assert_eq!(code, Some(1), "{told}");
        says(&told, parts);
    };
    let remove = |name: &'static str| move |dir: &Path| fs::remove_file(dir.join(name)).unwrap();
    let empty = |dir: &Path| fs::write(dir.join("punctual.db"), "").unwrap();
    check(data(false), &remove("punctual.db"), &["punctual.db is missing, though keys is there"]);
    check(data(false), &empty, &["punctual.db is empty, though keys is there"]);
    let without_keys = |dir: &Path| {
        remove("keys")(dir);
        remove("punctual.db")(dir);
    };
    check(killed(), &without_keys, &["punctual.db is missing, though punctual.db-wal is there"]);
    let emptied_without_keys = |dir: &Path| {
        remove("keys")(dir);
        empty(dir);
    };
    check(killed(), &emptied_without_keys, &["punctual.db is empty, though punctual.db-wal is there"]);
    let another = |dir: &Path| {
        remove("punctual.db")(dir);
        let conn = rusqlite::Connection::open(dir.join("punctual.db")).unwrap();
        conn.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t (a); DROP TABLE t").unwrap();
        drop(conn);
        set_mode(&dir.join("punctual.db"), 0o600);
    };
    check(data(false), &another, &["punctual.db has no data, though keys is there"]);
}

#[test]
fn a_first_start_goes_on_wherever_the_last_one_was_killed() {
    let sql = |dir: &Path, sql: &str| {
        rusqlite::Connection::open(dir.join("punctual.db")).unwrap().execute_batch(sql).unwrap();
    };
    let check = |what: &str, leave: &dyn Fn(&Path)| {
        let folder = tempfile::tempdir().unwrap();
        leave(folder.path());
        let server = Server::start(folder.path(), &["--role", "api"]);
        server.put_collection("c");
        stop(server);
        assert_eq!(names(folder.path()), ["keys", "punctual.db", "punctual.lock"], "{what}");
        assert_eq!(doctor(folder.path(), &[]).0, Some(0), "{what}");
        stop(Server::start(folder.path(), &["--role", "api"]));
    };
    let lock = |dir: &Path| fs::write(dir.join("punctual.lock"), "").unwrap();
    let schema = |dir: &Path| {
        let made = data(false);
        fs::copy(made.path().join("punctual.db"), dir.join("punctual.db")).unwrap();
        sql(dir, "DELETE FROM counters; DELETE FROM jobs; DELETE FROM collections; DELETE FROM agenda");
    };
    check("behind the lock", &lock);
    check("behind the data file", &|dir| {
        lock(dir);
        fs::write(dir.join("punctual.db"), "").unwrap();
    });
    check("behind the switch to a write-ahead log", &|dir| sql(dir, "PRAGMA journal_mode = WAL"));
    check("behind the schema", &schema);
    check("in the middle of the keys", &|dir| {
        schema(dir);
        fs::write(dir.join("keys.new"), "punctual ke").unwrap();
    });
    check("behind the keys", &|dir| {
        schema(dir);
        fs::copy(data(false).path().join("keys"), dir.join("keys.new")).unwrap();
    });

    // Before the keys got their name: by then the store has something that only they open.
    let folder = data(true);
    fs::rename(folder.path().join("keys"), folder.path().join("keys.new")).unwrap();
    starts(folder.path());
    assert_eq!(names(folder.path()), ["keys", "punctual.db", "punctual.lock"]);
    assert_eq!(doctor(folder.path(), &[]).0, Some(0));
}

#[test]
fn a_first_start_that_is_killed_at_any_time_can_be_repeated() {
    for step in 0..20 {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        Server::start_and_kill(&data, &["--role", "api"], Duration::from_millis(step * 5));
        let server = Server::start(&data, &["--role", "api"]);
        server.put_collection("c");
        stop(server);
        assert_eq!(doctor(&data, &[]).0, Some(0), "killed after {} ms", step * 5);
    }
}
