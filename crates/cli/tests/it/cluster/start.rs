//! Starts on a database: what is made, what is refused, and what is never shown.

use std::fs::{self, File};
use std::process::Stdio;

use serde_json::json;

use super::{Cluster, put};
use crate::command::punctual;
use crate::server::Server;

/// What a start says that is refused.
fn refused(cluster: &Cluster, name: &str, change: impl FnOnce(&mut std::process::Command)) -> String {
    let mut command = cluster.command(name);
    command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(cluster.data(name));
    change(&mut command);
    let output = command.stderr(Stdio::piped()).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_first_start_makes_keys_and_a_second_node_without_them_is_told_what_to_do() {
    let Some(cluster) = Cluster::new() else { return };
    let mut command = cluster.command("a");
    command.env_remove("PUNCTUAL_DATA__KEY_FILE");
    let a = Server::start_as(&mut command, &cluster.data("a"), &[]);
    assert!(cluster.data("a").join("keys").exists() && !cluster.data("a").join("keys.new").exists());
    let told = refused(&cluster, "b", |command| {
        command.env_remove("PUNCTUAL_DATA__KEY_FILE");
    });
    assert!(told.contains("Copy the keys of another node here") && told.contains("b/keys"), "{told}");
    assert!(!cluster.data("b").join("keys").exists() && !cluster.data("b").join("keys.new").exists());
    let told = refused(&cluster, "b", |_| {});
    assert!(told.contains("the keys are not those of this database"), "{told}");
    fs::copy(cluster.data("a").join("keys"), cluster.data("b").join("keys")).unwrap();
    let mut command = cluster.command("b");
    command.env_remove("PUNCTUAL_DATA__KEY_FILE");
    let b = Server::start_as(&mut command, &cluster.data("b"), &[]);
    a.put_collection("c");
    assert_eq!(b.call("GET", &Server::path("/c"), None).status, 200);
}

#[test]
fn what_can_not_be_used_is_named_without_the_password() {
    let wrong = |arguments: &[&str], environment: &[(&str, &str)]| {
        let mut command = punctual();
        command.args(["serve", "--listen", "127.0.0.1:0"]).args(arguments).envs(environment.iter().copied());
        let output = command.output().unwrap();
        assert!(!output.status.success());
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8(text).unwrap();
        assert!(!text.contains("s3cr3t"), "{text}");
        text
    };
    let told = wrong(&["--store", "mysql://u:s3cr3t@h/d"], &[]);
    assert!(told.contains("store.url: ") && told.contains("must begin with postgres://"), "{told}");
    let told = wrong(
        &["--store", "postgres://u:s3cr3t@h/d?sslmode=maybe"],
        &[("PUNCTUAL_CLUSTER__TAKEOVER_SECONDS", "2"), ("PUNCTUAL_STORE__API_CONNECTIONS", "1")],
    );
    for part in
        ["the settings have 3 problems", "unknown sslmode", "cluster.takeover_seconds: must be from 3 to 600"]
    {
        assert!(told.contains(part), "{told}");
    }
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    let told = wrong(&["--store", "postgres://u:s3cr3t@127.0.0.1:1/d", "--data", data], &[]);
    assert!(told.contains("could not connect to the database postgres://127.0.0.1:1/d"), "{told}");
    let file = folder.path().join("config.toml");
    fs::write(&file, "[store]\nurl = \"postgres://u:s3cr3t@h/d\n").unwrap();
    let told = wrong(&["--config", file.to_str().unwrap()], &[]);
    assert!(told.contains("line 2: "), "{told}");
    let help = punctual().args(["serve", "--help"]).env("PUNCTUAL_STORE", "postgres://u:s3cr3t@h/d").output();
    assert!(!String::from_utf8(help.unwrap().stdout).unwrap().contains("s3cr3t"));
}

#[test]
fn neither_the_password_nor_what_is_written_is_in_the_log() {
    let Some(cluster) = Cluster::new() else { return };
    let log = cluster.folder.path().join("log");
    let mut command = cluster.command("a");
    let url = cluster.database.url.replace("punctual@", "punctual:s3cr3t-password@");
    command.env("PUNCTUAL_STORE", url).env("PUNCTUAL_LOG__LEVEL", "trace,tokio_postgres=trace");
    command.stderr(File::create(&log).unwrap());
    let a = Server::start_as(&mut command, &cluster.data("a"), &[]);
    a.put_collection("c");
    let action = json!({"type": "Http", "request": {"method": "POST", "uri": cluster.receiver.url("/ok"),
        "body": "b0dy-0f-the-job", "headers": {"Authorization": "cr3d3ntial"}}});
    put(&a, "j", &json!({ "action": action }));
    cluster.receiver.wait_for("j", 1);
    let said = a.stop().join("\n");
    let text = format!("{said}\n{}", fs::read_to_string(&log).unwrap());
    assert!(text.contains("punctual_runner"), "the log is a talkative one");
    for secret in ["s3cr3t-password", "b0dy-0f-the-job", "cr3d3ntial"] {
        assert!(!text.contains(secret), "{secret}");
    }
}

#[test]
fn a_virtual_clock_is_for_one_node() {
    let Some(cluster) = Cluster::new() else { return };
    let clock = ["--clock-start", "2027-01-01T00:00:00Z"];
    let a = cluster.node("a");
    let told = refused(&cluster, "b", |command| {
        command.args(clock);
    });
    assert!(
        told.contains("a virtual clock is for one node, and another node fires on this database"),
        "{told}"
    );
    let api = cluster.node_with("c", &["--role", "api"]);
    api.stop();
    a.stop();
    let b = cluster.node_with("b", &clock);
    let told = refused(&cluster, "a", |_| {});
    assert!(told.contains("the node that fires on this database has one"), "{told}");
    b.stop();
}
