//! `punctual preview`.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::command::{run, stdout};

const DAILY: &str = r#"{"frequency": "Day", "schedule": {"hours": [2], "minutes": [30]},
    "timeZone": "Europe/Berlin", "count": 4}"#;

#[test]
fn the_table_shows_description_runs_distances_notes_and_the_end() {
    let shown = stdout(&["preview", "--now", "2026-03-28T00:00:00Z"], DAILY);
    let expected = "\
Every day, at 02:30 Europe/Berlin; the first time at once; 4 times

 #  time (Europe/Berlin)            from now       note
 1  Sat 2026-03-28 01:00:00 +01:00  now
 2  Sat 2026-03-28 02:30:00 +01:00  in 1 h 30 min
 3  Sun 2026-03-29 03:30:00 +02:00  in 1 d 1 h     02:30 does not exist: moved past the gap
 4  Mon 2026-03-30 02:30:00 +02:00  in 2 d

then it has run 4 times and ends
";
    assert_eq!(shown, expected);
}

#[test]
fn times_are_shown_in_the_zone_asked_for() {
    let shown =
        stdout(&["preview", "--now", "2026-03-28", "--zone", "America/New_York", "--count", "2"], DAILY);
    assert!(shown.contains("Fri 2026-03-27 20:00:00 -04:00"), "{shown}");
    assert!(shown.ends_with("and so on\n"), "{shown}");
}

#[test]
fn json_has_the_same_runs_with_their_notes() {
    let shown = stdout(&["preview", "--now", "2026-10-24", "--output", "json"], DAILY);
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown["occurrences"][2]["at"], "2026-10-25T00:30:00Z");
    assert_eq!(shown["occurrences"][2]["notes"], json!(["the clocks show this time twice: the first"]));
    assert_eq!(shown["end"], "count");
}

#[test]
fn a_resource_its_properties_and_a_bare_recurrence_are_the_same_job() {
    let recurrence = json!({"frequency": "Week", "interval": 2, "schedule": {"weekDays": ["Monday"]}});
    let properties = json!({"recurrence": recurrence, "state": "enabled"});
    let resource = json!({"id": "/subscriptions/s", "name": "c/j", "properties": properties});
    let show = |job: &Value| stdout(&["preview", "--now", "2026-11-15T12:00:00Z"], &job.to_string());
    let shown = show(&recurrence);
    assert!(
        shown.starts_with("Every second week on Monday, at 12:00 UTC; the first time at once\n"),
        "{shown}"
    );
    assert_eq!(show(&properties), shown);
    assert_eq!(show(&resource), shown);
}

#[test]
fn a_job_is_read_from_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("job.json");
    std::fs::write(&path, DAILY).unwrap();
    let path = path.to_str().unwrap();
    assert!(stdout(&["preview", path], "").starts_with("Every day"));
    let missing = run(&["preview", "no-such-file.json"], "");
    assert_eq!(missing.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&missing.stderr).contains("no-such-file.json"));
}

#[test]
fn a_rule_that_never_matches_is_said_to() {
    let job = r#"{"startTime": "2026-01-01", "recurrence":
        {"frequency": "month", "schedule": {"months": [2], "monthDays": [31]}}}"#;
    let shown = stdout(&["preview", "--now", "2026-01-01"], job);
    let reason =
        "no instant up to the year 9999 fits the schedule (none of the chosen days exists in February)";
    assert!(shown.ends_with(&format!("It never runs: {reason}\n")), "{shown}");
    let at_once = job.replace(r#""startTime": "2026-01-01", "#, "");
    let shown = stdout(&["preview", "--now", "2026-01-01"], &at_once);
    assert!(shown.ends_with(&format!("and never again: {reason}\n")), "{shown}");
    let shown = stdout(&["preview", "--now", "2026-01-01", "--output", "json"], job);
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown["neverMatches"], "none of the chosen days exists in February");
    let ended = job.replace(r#""month","#, r#""month", "endTime": "2026-06-01","#);
    let shown = stdout(&["preview", "--now", "2026-01-01"], &ended);
    assert!(shown.ends_with(&format!("It never runs: {reason}\n")), "{shown}");
}

#[test]
fn a_document_can_ask_for_100000_runs_at_most() {
    let job = json!({"count": 100_001, "properties": {"recurrence": {"frequency": "Minute"}}});
    let refused = run(&["preview"], &job.to_string());
    assert_eq!(refused.status.code(), Some(2));
    let message = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(message.contains("count: must be at most 100000, not 100001"), "{message}");
}

#[test]
fn one_time_jobs_run_once() {
    let check = |job: &str, expected: &str| {
        let shown = stdout(&["preview", "--now", "2026-11-15T12:00:00Z"], job);
        assert!(shown.starts_with(expected), "{shown}");
        assert!(shown.ends_with("then it ends\n"), "{shown}");
    };
    check(r#"{"startTime": "2026-12-24T18:00Z"}"#, "Once, at 2026-12-24 18:00 UTC\n");
    check(r#"{"startTime": "2020-12-24T18:00Z"}"#, "Once, at once\n");
    check(r#"{"properties": {}}"#, "Once, at once\n");
}

#[test]
fn bad_input_names_every_problem_and_exits_with_2() {
    let check = |job: &str, expected: &[&str]| {
        let output = run(&["preview"], job);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{job}: {error}");
        assert!(output.stdout.is_empty(), "{job}");
        assert!(error.starts_with("error: "), "{error}");
        for part in expected {
            assert!(error.contains(part), "{job}: {error} has no {part}");
        }
    };
    check(r#"{"frequency": "fortnight"}"#, &["frequency: 'fortnight' is not one of"]);
    check(
        r#"{"frequency": "day", "schedule": {"hours": [25]}}"#,
        &["schedule.hours[0]: must be from 0 to 23, not 25"],
    );
    check(r#"{"frequency": "day", "interval": 0}"#, &["interval: must be from 1 to 548"]);
    check(r#"{"frequency": "day", "count": -1}"#, &["count: must be from 1 to 2147483647, not -1"]);
    check(r#"{"frequency": "month", "schedule": {"monthDays": [0]}}"#, &["schedule.monthDays[0]"]);
    check(
        r#"{"frequency": "month", "schedule": {"monthlyOccurrences": [{"day": "Friday", "occurrence": 6}]}}"#,
        &["schedule.monthlyOccurrences[0].occurrence: must be from 1 to 5"],
    );
    check(
        r#"{"frequency": "month", "schedule": {"weekDays": ["Monday"]}}"#,
        &["schedule.weekDays: Cannot set days of week with recurrence unit 'Month'."],
    );
    check(
        r#"{"properties": {"recurrance": {"frequency": "day"}}}"#,
        &["properties.recurrance: unknown member, did you mean recurrence?"],
    );
    check(r#"{"frequency": "day", "hours": [1]}"#, &["hours: unknown member, did you mean schedule.hours?"]);
    check(r#"{"startTime": "tomorrow"}"#, &["startTime: ", "is not a date or time such as"]);
    check(r#"{"properties": {"startTime": "2012-13-45T00:00Z"}}"#, &["properties.startTime"]);
    check("{\"frequency\"", &["the input is no JSON"]);
    check("42", &["must be an object"]);
    check("{}", &["must have properties"]);
    check(
        r#"{"frequency": "week", "interval": 0, "count": 0, "timeZone": "Mars/Base", "schedule": {"minutes": [60], "monthDays": [1]}}"#,
        &["5 problems", "interval", "count", "timeZone", "schedule.minutes[0]", "schedule.monthDays"],
    );
}

#[test]
fn wrong_arguments_exit_with_2() {
    let check =
        |arguments: &[&str]| assert_eq!(run(arguments, DAILY).status.code(), Some(2), "{arguments:?}");
    check(&["preview", "--count", "0"]);
    check(&["preview", "--now", "noon"]);
    check(&["preview", "--zone", "Mars/Base"]);
    check(&["preview", "--jsonl", "--output", "json"]);
    check(&["forecast"]);
}

#[test]
fn a_batch_answers_line_by_line_in_order() {
    let lines = [
        r#"{"now": "2026-11-15T12:00:00Z", "count": 2, "properties": {"recurrence": {"frequency": "Day"}}}"#,
        "not JSON",
        r#"{"now": "2026-11-15T12:00:00Z", "count": 2, "properties": {"recurrence": {"frequency": "Second"}}}"#,
        r#"{"now": "2026-11-15T12:00:00Z", "count": 3, "properties": {"startTime": "2026-11-16T00:00:00.25Z"}}"#,
        "",
        r#"{"now": "2026-11-15T12:00:00Z", "count": 1000000, "properties": {}}"#,
    ];
    let answers = stdout(&["preview", "--jsonl"], &(lines.join("\n") + "\n"));
    let answers: Vec<Value> = answers.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), lines.len());
    assert_eq!(answers[0], json!({"occurrences": ["2026-11-15T12:00:00Z", "2026-11-16T12:00:00Z"]}));
    let error = |index: usize| answers[index]["error"]["message"].as_str().unwrap();
    assert_eq!(answers[1]["error"]["code"], "BadRequest");
    assert!(error(1).contains("no JSON"));
    assert!(error(2).contains("properties.recurrence.frequency"));
    assert_eq!(answers[3], json!({"occurrences": ["2026-11-16T00:00:00.25Z"]}));
    assert!(error(4).contains("no JSON"));
    assert!(error(5).contains("count: must be at most"));
}

#[test]
fn a_batch_answers_each_line_while_the_writer_waits() {
    use std::io::{BufRead, BufReader, Write};
    use std::process::Stdio;
    let mut child = crate::command::punctual()
        .args(["preview", "--jsonl"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
    for day in 10..20 {
        writeln!(input, r#"{{"now": "2026-11-{day}", "count": 1, "properties": {{}}}}"#).unwrap();
        let answer = output.next().unwrap().unwrap();
        assert_eq!(answer, format!(r#"{{"occurrences": ["2026-11-{day}T00:00:00Z"]}}"#));
    }
    drop(input);
    assert!(child.wait().unwrap().success());
}

/// A long batch must not be kept: the answer to the first line comes long before the last is read, and
/// a line without end is refused without being held.
#[test]
fn an_endless_line_is_refused_and_passed_over() {
    let mut input = String::from(r#"{"now": ""#);
    input.push_str(&"9".repeat(3 << 20));
    let job = r#"{"now": "2026-11-15", "count": 1, "properties": {}}"#;
    writeln!(input, "\"}}\n{job}").unwrap();
    let answers = stdout(&["preview", "--jsonl"], &input);
    let answers: Vec<&str> = answers.lines().collect();
    assert!(answers[0].contains("the line is longer than"), "{answers:?}");
    assert_eq!(answers[1..], [r#"{"occurrences": ["2026-11-15T00:00:00Z"]}"#]);
}

#[test]
fn golden_vectors_are_answered_by_the_batch_form() {
    let vectors = concat!(
        include_str!("../../../recurrence/vectors/recurrence_utc.jsonl"),
        include_str!("../../../recurrence/vectors/recurrence_zones.jsonl"),
        include_str!("../../../recurrence/vectors/documented_schedules.jsonl"),
    );
    let answers = stdout(&["preview", "--jsonl"], vectors);
    assert_eq!(answers.lines().count(), vectors.lines().count());
    // The vectors were made before Morocco went back to UTC for good, on 2026-09-20.
    let morocco = jiff::tz::TimeZone::get("Africa/Casablanca").unwrap();
    let outdated = morocco.to_offset("2026-09-27T12:00:00Z".parse().unwrap()).seconds() == 0;
    for (case, answer) in vectors.lines().zip(answers.lines()) {
        if outdated && case.contains("Africa/Casablanca") && case.contains("2026-09-27") {
            continue;
        }
        let expected: Value = serde_json::from_str::<Value>(case).unwrap()["occurrences"].clone();
        let answer: Value = serde_json::from_str(answer).unwrap();
        assert_eq!(answer["occurrences"], expected, "{case}");
    }
}

#[test]
fn help_is_golden() {
    let shown = stdout(&["preview", "--help"], "");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/preview-help.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, &shown).unwrap();
    }
    let golden = std::fs::read_to_string(path).unwrap_or_default();
    assert_eq!(shown, golden, "UPDATE_GOLDEN=1 writes it anew");
}
