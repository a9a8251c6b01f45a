//! Where settings come from, and what is said about those that are wrong.

use jiff::SignedDuration;
use punctual_model::{Limits, MaxRecurrence, PlanLimits};
use punctual_recurrence::Frequency;

use super::*;
use crate::config::{Role, TlsMode};

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

fn from_environment(variables: &[(&str, &str)]) -> Result<Config, WrongUsage> {
    load(None, pairs(variables), Vec::new())
}

fn from_file(text: &str) -> Result<Config, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("punctual.toml");
    std::fs::write(&path, text).unwrap();
    let shown = format!("in {}", path.display());
    load(Some(&path), vec![], vec![]).map_err(|error| error.to_string().replace(&shown, "in FILE"))
}

#[test]
fn the_defaults_are_whole() {
    let config = from_environment(&[]).unwrap();
    assert_eq!(config.server.listen.to_string(), "127.0.0.1:8380");
    assert_eq!(config.server.role, Role::All);
    assert_eq!(config.tls.mode, TlsMode::Off);
}

#[test]
fn later_layers_win() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("punctual.toml");
    std::fs::write(&path, "[server]\nlisten = \"127.0.0.1:1\"\nrole = \"api\"\n").unwrap();
    let environment = pairs(&[("PUNCTUAL_SERVER__LISTEN", "127.0.0.1:2")]);
    let config = load(Some(&path), environment.clone(), Vec::new()).unwrap();
    assert_eq!((config.server.listen.port(), config.server.role), (2, Role::Api));
    let option =
        Override { option: "--listen", section: "server", key: "listen", value: "127.0.0.1:3".into() };
    let config = load(Some(&path), environment, vec![option]).unwrap();
    assert_eq!(config.server.listen.port(), 3);
}

#[test]
fn what_is_wrong_in_a_file_is_told_with_its_key() {
    let check = |text: &str, expected: &str| {
        assert_eq!(from_file(text).unwrap_err(), format!("{expected} (in FILE)"), "{text}");
    };
    let unknown = "there is no such setting; config.default.toml lists them all";
    check("[server]\nport = 1", &format!("server.port: {unknown}"));
    check("[sever]\nlisten = 1", &format!("sever: {unknown}"));
    check("listen = 1", &format!("listen: {unknown}"));
    check("server = 1", "server: must be a section with settings in it, not a whole number");
    check(
        "[server]\nlisten = 8380",
        "server.listen: must be a string such as \"127.0.0.1:8380\", not a whole number",
    );
    check(
        "[server]\nlisten = \"localhost\"",
        "server.listen: 'localhost' is not an address and port, such as 127.0.0.1:8380 or [::1]:8380",
    );
    check("[server]\nrole = \"king\"", "server.role: unknown role 'king'; use all, api or runner");
    check(
        "[server]\nhosts = [\"a.example\", \"https://b.example\"]",
        "server.hosts: 'https://b.example' is not a host name such as scheduler.example.com; leave out scheme and port",
    );
    check(
        "[server]\nhosts = [\"192.0.2.1\"]",
        "server.hosts: '192.0.2.1' is not a host name such as scheduler.example.com; an address needs none",
    );
    check(
        "[server]\npublic_url = \"scheduler.example.com\"",
        "server.public_url: 'scheduler.example.com' is not a URL such as https://scheduler.example.com",
    );
    check(
        "[server]\ntrusted_proxies = [\"proxy\"]",
        "server.trusted_proxies: 'proxy' is not a network such as 10.0.0.0/8",
    );
    check(
        "[server]\nmonitoring_listen = \":8381\"",
        "server.monitoring_listen: ':8381' is not an address and port, such as 127.0.0.1:8382",
    );
    check(
        "[auth]\nissuers = [\"x\"]",
        "auth.issuers: must be sections [[auth.issuers]], not a list of something else",
    );
    let issuer = "[[auth.issuers]]\naudience = \"a\"\nrules = []\nissuer = ";
    check(
        &format!("{issuer}\"http://login.example.com\""),
        "auth.issuers: issuer 'http://login.example.com' must begin with https://, unless it is on this machine, such as \
         https://login.example.com/realms/team",
    );
    check(
        &format!("{issuer}\"https://l\"\nallowance_seconds = 601"),
        "auth.issuers: allowance_seconds must be at most 600, not 601",
    );
    check(
        &format!("{issuer}\"https://l\"\nrole = 1"),
        "auth.issuers: unknown field `role`, expected one of `issuer`, `audience`, `allowance_seconds`, `ca_file`, `client_id`, \
         `client_secret_file`, `client_secret_env`, `scopes`, `label`, `rules`",
    );
    check("[[auth.issuers]]\nissuer = \"https://l\"\nrules = []", "auth.issuers: missing field `audience`");
    let rule = |role: &str, scope: &str| {
        let rule = format!(
            "[[auth.issuers.rules]]\nclaim = \"c\"\nvalue = \"v\"\nrole = \"{role}\"\nscope = \"{scope}\"\n"
        );
        format!("[[auth.issuers]]\nissuer = \"https://l\"\naudience = \"a\"\n{rule}")
    };
    check(
        &rule("king", "/"),
        "auth.issuers: unknown role 'king'; use reader, operator, contributor or owner",
    );
    check(
        &rule("reader", "x"),
        "auth.issuers: scope 'x' is no scope: use /, /subscriptions/{s}, /subscriptions/{s}/resourceGroups/{g} or the id of a \
         job collection",
    );
    let config = from_file(&rule("reader", "/subscriptions/s")).unwrap();
    assert_eq!((config.auth.issuers[0].allowance_seconds, config.auth.issuers[0].rules.len()), (60, 1));
    check("[tls]\nmode = \"on\"", "tls.mode: unknown mode 'on'; use off, self-signed or files");
    check(
        "[server]\nstop_grace_seconds = \"10\"",
        "server.stop_grace_seconds: must be a whole number such as 10, not a string",
    );
    check("[server]\nstop_grace_seconds = -1", "server.stop_grace_seconds: must be 0 or more, not -1");
    check(
        "[server]\nlisten.port = 1",
        "server.listen: must be a string such as \"127.0.0.1:8380\", not a section",
    );
    check(
        "[history]\nrecords_per_job_max = 9999999999",
        "history.records_per_job_max: too large: 9999999999",
    );
    check("[clock]\nspeed = \"fast\"", "clock.speed: must be a number such as 1.0, not a string");
    check("[clock]\nspeed = 0", "clock.speed: must be more than 0 and at most 1000000, not 0");
    check("[clock]\npatience_seconds = -1.5", "clock.patience_seconds: must be 0 or more, not -1.5");
    check("[inspector]\nenabled = 1", "inspector.enabled: must be true or false, not a whole number");
    check("[api]\nlocations = [1]", "api.locations: must be a list of strings, not a list of something else");
    check(
        "[actions]\negress_deny = [\"10.0.0.0/8\", \"x\"]",
        "actions.egress_deny: 'x' is not a network such as 10.0.0.0/8",
    );
    check(
        "[log]\nlevel = \"verbose\"",
        "log.level: unknown level 'verbose'; use error, warn, info, debug or trace",
    );
    check("[limits]\nreads_per_second = -1", "limits.reads_per_second: must be 0 or more, not -1");
    check("[limits]\nwrites_burst = 0", "limits.writes_burst: must be from 1 to 1000000000, not 0");
    check("[log]\nformat = \"xml\"", "log.format: unknown format 'xml'; use text or json");
}

#[test]
fn what_is_wrong_in_the_environment_is_told_with_its_key_and_its_variable() {
    let check = |name: &str, text: &str, expected: &str| {
        let error = from_environment(&[(name, text)]).unwrap_err().to_string();
        assert_eq!(error, format!("{expected} (environment variable {name})"));
    };
    let unknown = "there is no such setting; config.default.toml lists them all";
    check("PUNCTUAL_SERVER__LISTN", "x", &format!("server.listn: {unknown}"));
    check("PUNCTUAL_SERVER__LISTEN__PORT", "x", &format!("server.listen.port: {unknown}"));
    check("PUNCTUAL_AUTH__ISSUERS", "x", "auth.issuers: must be in a file, as sections [[auth.issuers]]");
    check("PUNCTUAL_CLOCK__SPEED", "fast", "clock.speed: must be a number such as 1.0");
    check("PUNCTUAL_RUNNER__SLOTS", "1.5", "runner.slots: must be a whole number such as 16384");
    check("PUNCTUAL_INSPECTOR__ENABLED", "yes", "inspector.enabled: must be true or false");
    check("PUNCTUAL_SERVER__ROLE", "king", "server.role: unknown role 'king'; use all, api or runner");
    check(
        "PUNCTUAL_LOG__LEVEL",
        "info,punctual_api=verbose",
        "log.level: unknown level 'verbose' in 'punctual_api=verbose'; use error, warn, info, debug or trace",
    );
}

#[test]
fn every_problem_of_every_layer_is_told_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("punctual.toml");
    std::fs::write(&path, "[server]\nlisten = \"x\"\nport = 1\n[history]\nretention_days = true\n").unwrap();
    let environment = pairs(&[("PUNCTUAL_LOG__LEVEL", "verbose")]);
    let option = Override { option: "--clock-speed", section: "clock", key: "speed", value: "0".into() };
    let error = load(Some(&path), environment, vec![option]).unwrap_err().to_string();
    let lines: Vec<&str> = error.lines().collect();
    assert_eq!(lines[0], "the settings have 5 problems:");
    let beginnings = [
        "  history.retention_days: must be a whole number such as 60, not true or false (in ",
        "  server.listen: 'x' is not an address and port",
        "  server.port: there is no such setting",
        "  log.level: unknown level 'verbose'",
        "  clock.speed: must be more than 0 and at most 1000000, not 0 (option --clock-speed)",
    ];
    assert_eq!(lines.len(), 1 + beginnings.len(), "{error}");
    for (line, beginning) in lines[1..].iter().zip(beginnings) {
        assert!(line.starts_with(beginning), "{line}");
    }
}

#[test]
fn the_default_limits_are_those_of_the_original_service() {
    assert_eq!(from_environment(&[]).unwrap().plans.limits(), Limits::default());
}

#[test]
fn limits_of_plans_are_settings_and_wrong_ones_are_told_with_their_key() {
    let file = "[plans]\nstart_ahead_months = 36\n[plans.free]\njobs = 10000\nrecurrence = \"minute/5\"\n\
                collections = 3\nretry_interval_seconds = 1\nauthentication = true\n";
    let limits = from_file(file).unwrap().plans.limits();
    let expected = PlanLimits {
        job_count_max: 10_000,
        recurrence_max: MaxRecurrence { frequency: Frequency::Minute, interval: 5 },
        collection_count_max: 3,
        retry_interval_min: SignedDuration::from_secs(1),
        authentication: true,
    };
    assert_eq!((limits.free, limits.start_ahead_months_max), (expected, 36));
    assert_eq!(limits.standard, Limits::default().standard);
    let config = from_environment(&[("PUNCTUAL_PLANS__STANDARD__JOBS", "200")]).unwrap();
    assert_eq!(config.plans.limits().standard.job_count_max, 200);
    let check = |text: &str, expected: &str| {
        assert_eq!(from_file(text).unwrap_err(), format!("{expected} (in FILE)"), "{text}");
    };
    check("[plans.standard]\njobs = 10001", "plans.standard.jobs: must be from 1 to 10000, not 10001");
    check("[plans.standard]\njobs = 0", "plans.standard.jobs: must be from 1 to 10000, not 0");
    check("[plans.free]\ncollections = -1", "plans.free.collections: must be from 1 to 200000, not -1");
    check(
        "[plans.free]\nrecurrence = \"hourly\"",
        "plans.free.recurrence: 'hourly' is not a unit and an interval, such as minute/1 or day/2",
    );
    check(
        "[plans.free]\nrecurrence = \"day/549\"",
        "plans.free.recurrence: the interval of 'day/549' must be from 1 to 548",
    );
    check(
        "[plans.free]\nretry_interval_seconds = 0",
        "plans.free.retry_interval_seconds: must be from 1 to 47347200, not 0",
    );
    check("[plans]\nstart_ahead_months = 1201", "plans.start_ahead_months: must be from 1 to 1200, not 1201");
    check(
        "[plans.gold]\njobs = 5",
        "plans.gold: there is no such setting; config.default.toml lists them all",
    );
}

#[test]
fn lists_are_written_with_commas() {
    let config = from_environment(&[("PUNCTUAL_API__LOCATIONS", "West US, Mars")]).unwrap();
    assert_eq!(config.api.locations, ["West US", "Mars"]);
}

/// Every setting with its path, below a table.
fn settings(above: &[String], table: &Table) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for (name, value) in table {
        let path = [above, std::slice::from_ref(name)].concat();
        match value {
            Value::Table(inner) => found.extend(settings(&path, inner)),
            _ => found.push(path),
        }
    }
    found
}

#[test]
fn a_setting_with_any_value_is_read_or_named() {
    let long = format!("\"{}\"", "x".repeat(10_000));
    let deep = format!("{}{}", "[".repeat(60), "]".repeat(60));
    let values = [
        "0",
        "-1",
        "1",
        "9223372036854775807",
        "-9223372036854775808",
        "0.0",
        "-0.5",
        "1e308",
        "inf",
        "-inf",
        "nan",
        "true",
        "\"\"",
        "\"\\u0000\"",
        "\"x\"",
        "\"minute/0\"",
        "\"year/9223372036854775807\"",
        "\"9999-12-31T23:59:59Z\"",
        "\"0.0.0.0:0\"",
        "\"https://[\"",
        "\"{account}\"",
        "[]",
        "[\"\"]",
        "[\"0.0.0.0/33\"]",
        "[1]",
        "{}",
        "{ x = 1 }",
        "2026-11-15T12:00:00Z",
        long.as_str(),
        deep.as_str(),
    ];
    let defaults: Table = DEFAULTS.parse().unwrap();
    let settings = settings(&[], &defaults);
    assert!(settings.len() > 50, "{settings:?}");
    for path in &settings {
        let path = path.join(".");
        for value in values {
            if let Err(error) = from_file(&format!("{path} = {value}")) {
                assert!(error.contains(&path), "{path} = {value}: {error}");
            }
        }
    }
}
