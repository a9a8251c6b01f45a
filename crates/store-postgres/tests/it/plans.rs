//! How the planner runs the queries: every one has its form, and none scans a table that grows.
//!
//! A server logs the plan of everything that a part of the conformance suite does.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use punctual_model::{RecordStatus, Secret};
use punctual_store::conformance::world::{World, a_record, a_skip, at};
use punctual_store::conformance::{
    agenda, audit, callers, claims, edits, history, housekeeping, repair, resources, sessions, settlement,
    survey, views,
};
use punctual_store::{Archive, Callers, Resources, Roster, Seals, Store};
use punctual_store_postgres::PostgresStore;

use crate::server::{Database, Server};
use crate::world::{Counting, open, ring};

const EXPLAINED: &str = "session_preload_libraries = 'auto_explain'\nauto_explain.log_min_duration = 0\n\
                         autovacuum = off\nlog_min_messages = log";

/// Tables that grow with the jobs, and with what they do.
const GROWING: &[&str] = &[
    "agenda",
    "audit",
    "collections",
    "history",
    "jobs",
    "receipts",
    "reruns",
    "skips",
    "stats_hours",
    "stats_minutes",
];

/// Statements that have no plan.
const UTILITY: &[&str] = &["begin_read", "begin_write", "commit", "lock_audit", "lock_timeout", "rollback"];

/// Statements that only trouble, keys that were rotated, and very many sessions bring about.
const UNUSUAL: &[&str] =
    &["find_receipt", "leave_home", "recorded", "reseal_jobs", "session_count", "take_over"];

/// Statements that read all of a table, and why they may.
const WHOLE: &[(&str, &str)] = &[
    // How many jobs there are, once in a while: collections know, and there are far fewer of them.
    ("job_count_now", "collections"),
    // The first that is free: it ends there.
    ("next_due", "agenda"),
];

fn queries() -> BTreeMap<String, String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/queries");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let read = |path: std::path::PathBuf| {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        (name, std::fs::read_to_string(path).unwrap())
    };
    files.map(read).collect()
}

#[test]
fn every_query_begins_with_its_name_and_is_one_statement() {
    for (name, sql) in queries() {
        assert!(sql.starts_with(&format!("-- {name}: ")), "{name}");
        let statement = sql.lines().filter(|line| !line.starts_with("--"));
        assert!(!statement.into_iter().any(|line| line.contains(';')), "{name}");
    }
}

/// Runs cases, each on an empty schema.
macro_rules! run {
    ($server:ident, $kind:ty: $($subject:ident::$case:ident)+) => {$({
        let database = Database::on(&$server).await;
        let store: Arc<$kind> = Arc::new(open(&database).await);
        $subject::$case(store).await;
    })+};
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_that_grows_is_scanned() {
    let Some(server) = Server::start(EXPLAINED, &[]) else { return };
    run! { server, dyn Store:
        resources::a_written_job_reads_back_with_its_secrets
        resources::names_match_in_any_case_and_keep_theirs
        resources::collections_are_listed_by_group_and_name
        resources::jobs_are_listed_by_name_and_state
        resources::a_group_reads_back
        resources::subscriptions_are_those_that_have_a_group
        resources::registration_is_remembered
        resources::deleting_a_group_takes_its_collections
        resources::deleting_a_job_takes_all_that_is_its
        edits::a_full_collection_takes_edits_only
        edits::a_collection_is_written_with_its_jobs
        edits::a_decision_inside_the_transaction_is_never_stale
        agenda::full_targets_starve_nobody
        agenda::what_is_due_is_counted_by_time_and_scope
        claims::a_delete_takes_back_a_claim_not_begun
        claims::a_released_claim_can_be_claimed_again
        settlement::each_settlement_has_its_own_answer
        history::pages_have_no_gap_and_no_duplicate
        history::records_between_are_ordered_by_occurrence
        history::skips_touch_the_range
        history::a_rerun_is_linked_to_what_it_repeats
        housekeeping::what_was_pruned_is_known
        housekeeping::purge_deletes_what_has_ended
        repair::what_was_done_in_the_future_is_found
        repair::a_repair_is_written_with_its_skips
        survey::every_collection_is_told_once_in_pages
        survey::every_job_is_told_once_in_pages
        survey::faulted_jobs_are_told_latest_first
        survey::a_page_ends_where_its_records_do
        survey::unclaimed_entries_come_earliest_first
        survey::record_facts_have_no_gap_and_no_duplicate
        views::a_search_finds_what_its_filter_says
        views::pages_of_a_search_are_complete_while_jobs_change
        views::a_search_looks_at_no_more_than_it_may
        views::recent_outcomes_are_the_latest
        views::statistics_count_what_was_settled
    }
    run! { server, dyn punctual_store::Callers:
        callers::a_replaced_token_keeps_its_name
        callers::a_deleted_token_is_gone
        callers::uses_are_noted_and_never_go_back
        callers::of_two_server_secrets_the_first_is_kept
    }
    run! { server, dyn punctual_store::Sessions:
        sessions::sessions_are_listed_by_id_in_pages
        sessions::all_sessions_of_a_caller_end_at_once
        sessions::a_session_that_has_ended_is_unknown
        sessions::uses_of_sessions_are_noted_and_never_go_back
        sessions::what_expired_or_was_not_used_is_removed_in_bounded_steps
    }
    run! { server, PostgresStore:
        audit::what_was_sealed_is_verified_in_parts
        audit::what_is_old_goes_and_the_rest_still_fits
        audit::entries_read_back_in_pages
    }
    kept_house(&server).await;
    rotated(&server).await;
    let plans = plans(&server.log());
    let mut unseen: BTreeSet<String> = queries().into_keys().collect();
    // Those that copy have names put in, and read tables wholly.
    unseen.retain(|name| {
        !name.starts_with("copy_") && !plans.contains_key(name) && !UTILITY.contains(&name.as_str())
    });
    assert!(unseen.iter().all(|name| UNUSUAL.contains(&name.as_str())), "without a plan: {unseen:?}");
    for (name, plan) in &plans {
        check(name, plan);
    }
    let hot = |name: &str, lines: &[&str]| {
        let plan = plans[name].join("\n");
        for line in lines {
            assert!(plan.contains(line), "expected {line} in the plan of {name}:\n{plan}");
        }
    };
    hot(
        "claim",
        &["Index Scan using agenda_by_due on agenda", "LockRows", "Index Scan using agenda_pkey on agenda"],
    );
    hot(
        "settle",
        &["Function Scan on u", "Nested Loop", "Index Scan using agenda_pkey on agenda a", "hashed SubPlan"],
    );
    hot(
        "update_standings",
        &["Function Scan on u", "Nested Loop", "Index Scan using agenda_pkey on agenda a"],
    );
    hot("jobs", &["Index Scan using jobs_by_name on jobs j"]);
    hot("history", &["Index Scan using history_by_start on history"]);
    for name in ["jobs", "history", "records_between", "collections", "claim"] {
        assert!(!plans[name].iter().any(|line| line.contains("Sort")), "{name}: {:#?}", plans[name]);
    }
}

/// A node that renews its lease, and sweeps what a deleted job has left.
async fn kept_house(server: &Server) {
    let database = Database::on(server).await;
    let store = Arc::new(open(&database).await);
    let world = World::new(Arc::clone(&store) as Arc<dyn Store>);
    let collection = world.collection("c").await;
    let job = world.job(&collection, "j", at(0)).await;
    world
        .record(&job.key, vec![a_record(&job, at(0), RecordStatus::Completed)], vec![a_skip(&job, 1, 2, 3)])
        .await;
    store.delete_job(&job.key, None).await.unwrap();
    assert_eq!(store.prune(at(-9), 100).await.unwrap(), 2, "the record and the skip of the deleted job");
    assert_eq!(store.nodes().await.unwrap().len(), 1);
    let mut standing = store.standing();
    standing.borrow_and_update();
    standing.changed().await.unwrap();
    store.leave().await.unwrap();
}

/// A key that is rotated and retired, and a node that is drained.
async fn rotated(server: &Server) {
    let database = Database::on(server).await;
    let store = Arc::new(open(&database).await);
    store.keep_server_secret("signing key", &Secret::new("s")).await.unwrap();
    store.seal_with(&ring().rotated(&Counting), None).await.unwrap();
    while !store.reseal(100).await.unwrap().done {}
    store.retire_key(1, None).await.unwrap();
    assert!(store.drain("node", true, None).await.unwrap());
    assert!(store.server_version().await.unwrap().starts_with("PostgreSQL "));
}

/// The last plan of each query, line by line.
fn plans(log: &str) -> BTreeMap<String, Vec<String>> {
    let mut plans: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut current: Option<Vec<String>> = None;
    let mut name = None;
    let mut finish = |name: &mut Option<String>, plan: &mut Option<Vec<String>>| {
        if let (Some(name), Some(plan)) = (name.take(), plan.take()) {
            plans.insert(name, plan);
        }
    };
    for line in log.lines() {
        match line.strip_prefix('\t') {
            Some(line) => {
                if let Some(text) = line.strip_prefix("Query Text: -- ") {
                    name = text.split(':').next().map(str::to_owned);
                }
                if let Some(plan) = &mut current {
                    plan.push(line.to_owned());
                }
            }
            None => {
                finish(&mut name, &mut current);
                current = line.ends_with(" plan:").then(Vec::new);
            }
        }
    }
    finish(&mut name, &mut current);
    plans
}

/// No plan scans a table that grows, by its rows or by a whole index.
fn check(name: &str, plan: &[String]) {
    for (place, line) in plan.iter().enumerate() {
        let Some((kind, rest)) = line.split_once(" on ").filter(|(kind, _)| kind.contains("Scan")) else {
            continue;
        };
        let table = rest.split_whitespace().next().unwrap();
        if !GROWING.contains(&table) || WHOLE.contains(&(name, table)) {
            continue;
        }
        assert!(!kind.contains("Seq Scan"), "{name}:\n{}", plan.join("\n"));
        let depth = |line: &str| line.len() - line.trim_start().len();
        let mut own = plan[place + 1..].iter().take_while(|next| depth(next) > depth(line));
        let condition = own.any(|next| next.contains("Index Cond") || next.contains("TID Cond"));
        assert!(condition, "{name} reads a whole index:\n{}", plan.join("\n"));
    }
}
