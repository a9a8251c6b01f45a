//! Checks how the planner runs the queries: every query file has its form, and none scans a table that grows.

use rusqlite::Connection;

use crate::{query, schema};

fn plan(sql: &str) -> String {
    let mut conn = Connection::open_in_memory().unwrap();
    schema::migrate(&mut conn).unwrap();
    let mut statement = conn.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let count = statement.parameter_count();
    let nothing: Vec<Option<i64>> = vec![None; count];
    let rows =
        statement.query_map(rusqlite::params_from_iter(nothing), |row| row.get::<_, String>(3)).unwrap();
    rows.map(Result::unwrap).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_query_begins_with_its_name_and_is_one_statement() {
    for (name, sql) in query::ALL {
        assert!(sql.starts_with(&format!("-- {name}: ")), "{name}");
        assert!(!sql.contains(';'), "{name}");
    }
}

#[test]
fn hot_queries_use_their_indexes() {
    let check = |sql: &str, expected: &str| {
        let plan = plan(sql);
        assert!(plan.contains(expected), "expected {expected} in:\n{plan}");
        assert!(!plan.contains("TEMP B-TREE"), "{plan}");
    };
    check(query::due, "SEARCH agenda USING COVERING INDEX agenda_by_due (due_at>?)");
    check(query::due_together, "SEARCH agenda USING COVERING INDEX agenda_by_due (due_at=? AND job>?)");
    check(query::due_count, "SEARCH a USING COVERING INDEX agenda_by_due (due_at>? AND due_at<?)");
    check(query::prune_reruns, "SEARCH reruns USING COVERING INDEX reruns_by_run (run_at<?)");
    check(query::settle, "SEARCH agenda USING INTEGER PRIMARY KEY (rowid=?)");
    check(query::entry, "SEARCH agenda USING INTEGER PRIMARY KEY (rowid=?)");
    check(query::job, "SEARCH j USING INDEX jobs_by_name (collection=? AND name_folded=?)");
    check(query::find_job, "SEARCH j USING INDEX jobs_by_name (collection=? AND name_folded=?)");
    check(query::jobs, "SEARCH j USING INDEX jobs_by_name (collection=? AND name_folded>?)");
    check(query::job_standing, "SEARCH j USING INDEX jobs_by_name (collection=? AND name_folded=?)");
    check(query::job_by_id, "SEARCH j USING INTEGER PRIMARY KEY (rowid=?)");
    check(query::collection_count, "COVERING INDEX collections_by_plan (subscription_folded=? AND sku=?)");
    check(
        query::collections,
        "USING INDEX collections_by_name (subscription_folded=? AND (group_folded,name_folded)>(?,?))",
    );
    check(query::history, "SEARCH history USING INDEX history_by_start (job=? AND started_at<?)");
    check(query::records_between, "history_by_attempt (job=? AND nominal_at>? AND nominal_at<?)");
    check(query::skips, "SEARCH skips USING INDEX skips_by_job (job=? AND first_at>? AND first_at<?)");
    check(query::capped_since, "SEARCH h USING COVERING INDEX history_by_start (job=?)");
    check(query::prune_history, "SEARCH history USING COVERING INDEX history_by_end (ended_at<?)");
    check(query::prune_skips, "SEARCH skips USING COVERING INDEX skips_by_decision (decided_at<?)");
    check(query::prune_job, "SEARCH history USING COVERING INDEX history_by_start (job=?)");
    check(query::marks, "SEARCH agenda USING INTEGER PRIMARY KEY (rowid>?)");
    check(query::started_after, "COVERING INDEX history_by_attempt (job=? AND nominal_at>?)");
    check(query::tried_at, "history_by_attempt (job=? AND nominal_at=? AND cause=? AND step=?");
    check(query::withdraw_skips, "SEARCH skips USING INDEX skips_by_job (job=? AND first_at<?)");
    check(query::survey, "SEARCH j USING INTEGER PRIMARY KEY (rowid>?)");
    check(query::survey_orphans, "SEARCH a USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)");
    check(query::survey_traces, "SEARCH history USING INDEX history_by_start (job=? AND started_at<?)");
    check(query::faulted, "SEARCH a USING COVERING INDEX agenda_by_fault (ended_at>?)");
    check(query::faulted_count, "SEARCH agenda USING COVERING INDEX agenda_by_fault (ended_at>?)");
    check(query::session, "SEARCH sessions USING INDEX sessions_by_hash (hash=?)");
    check(query::sessions, "SEARCH sessions USING PRIMARY KEY (id>?)");
    check(query::ended, "SEARCH agenda USING INDEX agenda_by_end (ended_at<?)");
    check(query::next_job_key, "SEARCH jobs USING INDEX jobs_by_key (<expr>>?)");
    check(query::job_of_key, "INDEX jobs_by_key (<expr>=?)");
    check(query::job_count_of_key, "INDEX jobs_by_key (<expr>=?)");
    check(query::stored_specs, "SEARCH jobs USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)");
    check(query::search_by_name, "SEARCH j USING INDEX jobs_by_folded (name_folded>?)");
    check(query::search_by_due, "SEARCH a USING INDEX agenda_by_due (due_at>?)");
    check(query::search_resting, "SEARCH a USING INDEX agenda_resting (job>?)");
    check(query::search_scope, "SEARCH c USING COVERING INDEX collections_by_name (subscription_folded=?)");
    check(query::search_scope, "SEARCH j USING INDEX jobs_by_name (collection=?)");
    check(
        query::stats_minute,
        "SEARCH stats_minutes USING PRIMARY KEY (collection=? AND begins_at=? AND writer=?)",
    );
    check(query::stats_minutes_between, "PRIMARY KEY (collection=? AND begins_at>? AND begins_at<?)");
    check(query::stats_hours_between, "PRIMARY KEY (collection=? AND begins_at>? AND begins_at<?)");
    check(query::old_stats_minutes, "COVERING INDEX stats_minutes_by_time (begins_at<?)");
    check(query::old_stats_hours, "COVERING INDEX stats_hours_by_time (begins_at<?)");
    check(query::recent_records, "SEARCH history USING INDEX history_by_attempt (job=?)");
    check(query::recent_skips, "SEARCH skips USING INDEX skips_by_job (job=?)");
    check(query::reseal_job, "SEARCH jobs USING INTEGER PRIMARY KEY (rowid=?)");
}

#[test]
fn nothing_but_small_tables_is_scanned() {
    for (name, sql) in query::ALL {
        // Names are put in; what is copied is read wholly, in pages.
        if name.starts_with("copy_") {
            continue;
        }
        // The last runs once, at a start without a key file.
        if ["begin", "commit", "rollback", "sealed_count"].contains(name) {
            continue;
        }
        let scans: Vec<String> = plan(sql)
            .lines()
            .filter(|line| line.starts_with("SCAN"))
            .filter(|line| !line.contains("CONSTANT ROW"))
            .map(str::to_owned)
            .collect();
        let allowed = [
            "SCAN graves",
            // A row at its end.
            "SCAN audit_pieces",
            "SCAN sqlite_schema",
            "SCAN sqlite_sequence",
            "SEARCH schema_version",
            "SCAN (subquery-1)",
            "SCAN found",
            // One row for each kind of secret, and for each key.
            "SCAN server_secrets",
            "SCAN keys",
            // There are at most ten thousand.
            "SCAN tokens USING INDEX tokens_by_name",
            "SCAN sessions",
            "SCAN sessions USING COVERING INDEX sessions_by_caller",
            "SCAN sessions USING COVERING INDEX sessions_by_hash",
            "SCAN tokens USING COVERING INDEX tokens_by_hash",
            "SCAN tokens USING COVERING INDEX tokens_by_name",
        ];
        assert!(scans.iter().all(|scan| allowed.contains(&scan.as_str())), "{name}: {scans:?}");
    }
}
