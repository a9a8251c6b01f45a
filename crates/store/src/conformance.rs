//! The suite that defines a store.
//!
//! Each case is a function that takes an empty store; its name is the claim that it checks. A store's
//! tests run all of them by one macro, each as a test of its own:
//!
//! ```ignore
//! async fn make() -> (std::sync::Arc<MyStore>, impl Sized) {
//!     (std::sync::Arc::new(MyStore::new()), ())
//! }
//! punctual_store::conformance!(crate::make);
//! ```
//!
//! What `make` returns besides the store is kept until the case is over: a directory, a schema. It may also return an
//! `Option` of both: none if the store needs something that is not there, and the case is skipped.

#![expect(clippy::unwrap_used, reason = "these are tests: one that can't set up should stop")]

pub mod agenda;
pub mod audit;
pub mod callers;
pub mod claims;
pub mod concurrency;
pub mod edits;
pub mod history;
pub mod housekeeping;
pub mod repair;
pub mod resources;
pub mod sessions;
pub mod settlement;
pub mod shared;
pub mod survey;
pub mod views;
pub mod world;

/// What makes a store, or says that there is none.
pub trait Made {
    /// What was made.
    type Parts;

    /// What was made, if it could be.
    fn made(self) -> Option<Self::Parts>;
}

impl<S, K> Made for (S, K) {
    type Parts = Self;

    fn made(self) -> Option<Self> {
        Some(self)
    }
}

impl<S, T, K> Made for (S, T, K) {
    type Parts = Self;

    fn made(self) -> Option<Self> {
        Some(self)
    }
}

impl<M: Made> Made for Option<M> {
    type Parts = M::Parts;

    fn made(self) -> Option<M::Parts> {
        self.and_then(M::made)
    }
}

/// Makes a test of each case that needs two handles on one store, as two nodes have them. The function makes both; the
/// first has the older lease.
///
/// ```ignore
/// async fn make_two() -> (Arc<dyn Store>, Arc<dyn Store>, impl Sized) { ... }
/// punctual_store::conformance_of_two!(crate::make_two);
/// ```
#[macro_export]
macro_rules! conformance_of_two {
    ($make:path) => {
        $crate::conformance_of_two! { $make,
            what_one_node_has_claimed_no_other_gets
            what_is_held_is_what_this_node_holds
            an_edit_on_one_node_holds_on_the_other
            a_node_that_leaves_leaves_nothing_claimed
            nodes_have_ranks_by_lease_and_each_knows_how_many_fire
        }
    };
    ($make:path, $($case:ident)+) => {
        mod shared {
            $(#[tokio::test]
            async fn $case() {
                let made = $crate::conformance::Made::made($make().await);
                let Some((one, other, _kept)) = made else { return };
                $crate::conformance::shared::$case(one, other).await;
            })+
        }
    };
}

/// Makes a test of each case for the store that a function makes.
#[macro_export]
macro_rules! conformance {
    ($make:path) => {
        $crate::conformance_of_jobs! { $make }
        $crate::conformance_cases! { $make, audit:
            a_change_is_noted_with_it
            entries_read_back_in_pages
            what_was_sealed_is_verified_in_parts
            what_is_old_goes_and_the_rest_still_fits
        }
        $crate::conformance_cases! { $make, callers:
            a_token_reads_back
            tokens_are_listed_by_name
            a_name_is_given_once_in_any_case
            a_secret_is_given_once
            a_replaced_token_keeps_its_name
            a_deleted_token_is_gone
            uses_are_noted_and_never_go_back
            changes_of_tokens_are_told
            of_two_server_secrets_the_first_is_kept
            there_are_only_so_many_tokens
        }
        $crate::conformance_cases! { $make, sessions:
            a_session_is_found_by_the_hash_of_its_secret
            sessions_are_listed_by_id_in_pages
            a_session_that_has_ended_is_unknown
            all_sessions_of_a_caller_end_at_once
            of_too_many_sessions_of_a_caller_the_one_used_longest_ago_ends
            uses_of_sessions_are_noted_and_never_go_back
            what_expired_or_was_not_used_is_removed_in_bounded_steps
            the_beginning_and_the_end_of_a_session_are_noted_with_it
            there_are_only_so_many_sessions
        }
    };
}

/// Makes a test of each case that concerns jobs, for a store that has no tokens.
#[macro_export]
macro_rules! conformance_of_jobs {
    ($make:path) => {
        $crate::conformance_cases! { $make, resources:
            a_written_collection_reads_back
            a_written_job_reads_back_with_its_secrets
            what_is_missing_is_none
            names_match_in_any_case_and_keep_theirs
            collections_are_listed_by_group_and_name
            jobs_are_listed_by_name_and_state
            a_collection_makes_its_group
            a_group_reads_back
            subscriptions_are_those_that_have_a_group
            registration_is_remembered
            deleting_a_job_takes_all_that_is_its
            deleting_a_collection_takes_its_jobs
            deleting_a_group_takes_its_collections
            ids_are_never_used_again
        }
        $crate::conformance_cases! { $make, edits:
            a_stale_collection_is_refused
            a_stale_job_is_refused
            a_job_made_anew_is_another_job
            a_collection_made_anew_is_another_collection
            a_job_needs_its_collection
            a_full_collection_takes_edits_only
            the_plan_limits_the_collections_of_a_subscription
            a_collection_is_written_with_its_jobs
            a_job_that_was_not_seen_stops_the_whole_collection
            one_stale_job_stops_the_whole_collection
            a_decision_inside_the_transaction_is_never_stale
            a_declined_edit_writes_nothing
            skips_of_an_edit_are_kept
        }
        $crate::conformance_cases! { $make, concurrency:
            parallel_puts_never_exceed_the_quota
            parallel_collections_never_exceed_the_plan
            of_parallel_creations_one_wins
            no_update_is_lost
            no_settlement_is_lost_among_edits
            a_collection_whose_jobs_always_fire_is_switched_at_once
            parallel_claims_share_no_job
            a_disabled_job_is_not_begun_after_the_answer
        }
        $crate::conformance_cases! { $make, agenda:
            claims_come_earliest_first
            nothing_is_claimed_before_its_time
            a_claim_has_what_firing_needs
            full_targets_starve_nobody
            entries_of_full_targets_stay
            many_entries_of_full_targets_are_passed_quickly
            next_due_is_the_earliest_free_entry
            changes_follow_writes
            what_moves_no_entry_wakes_nobody
            a_moved_entry_is_found_at_its_new_time_only
            what_is_due_is_counted_by_time_and_scope
        }
        $crate::conformance_cases! { $make, claims:
            a_claimed_job_is_not_claimed_again
            an_edit_takes_back_a_claim_not_begun
            an_edit_leaves_what_is_in_flight
            a_collection_edit_takes_back_claims_of_its_jobs
            a_delete_takes_back_a_claim_not_begun
            a_released_claim_can_be_claimed_again
            in_flight_are_the_begun
            an_unknown_fence_holds_nothing
            a_claim_that_nobody_waits_for_is_given_back
        }
        $crate::conformance_cases! { $make, settlement:
            a_settlement_is_recorded
            a_settlement_writes_no_definition
            a_settlement_makes_edits_stale
            a_second_settlement_is_lost
            a_settlement_after_an_edit_is_decided_again
            a_settlement_of_a_deleted_job_leaves_nothing
            each_settlement_has_its_own_answer
            an_attempt_is_recorded_once
            a_job_without_a_next_entry_rests
        }
        $crate::conformance_cases! { $make, history:
            records_are_listed_newest_first
            records_are_filtered_by_status
            pages_have_no_gap_and_no_duplicate
            records_between_are_ordered_by_occurrence
            skips_touch_the_range
            a_rerun_is_linked_to_what_it_repeats
            a_skip_that_reaches_into_the_range_is_found_behind_many_others
            history_outlives_edits
            sequences_grow
        }
        $crate::conformance_cases! { $make, housekeeping:
            prune_goes_in_bounded_steps
            prune_to_keeps_the_newest
            what_was_pruned_is_known
            purge_deletes_what_has_ended
            purge_leaves_what_has_an_entry
        }
        $crate::conformance_cases! { $make, repair:
            what_was_done_in_the_future_is_found
            what_is_planned_for_the_future_is_not_found
            pages_of_jobs_that_are_ahead_have_no_gap
            a_page_ends_where_its_jobs_have_many_starts
            a_repair_is_written_with_its_skips
            a_repaired_job_is_claimed_at_its_new_time_only
            a_repair_takes_back_a_claim_not_begun
            what_is_in_flight_is_not_repaired
            a_repair_of_what_was_written_meanwhile_is_refused
            each_repair_has_its_own_answer
        }
        $crate::conformance_cases! { $make, survey:
            every_job_is_told_once_in_pages
            every_collection_is_told_once_in_pages
            jobs_are_counted_as_they_come_and_go
            faulted_jobs_are_told_latest_first
            a_page_ends_where_its_records_do
            evidence_is_what_was_written
            a_switched_off_collection_is_told
            what_is_claimed_is_told_as_claimed
            a_whole_history_counts_to_the_counters
            a_pruned_history_proves_nothing
            record_facts_have_no_gap_and_no_duplicate
            unclaimed_entries_come_earliest_first
            held_are_the_claims
        }
        $crate::conformance_cases! { $make, views:
            a_search_finds_what_its_filter_says
            pages_of_a_search_are_complete_while_jobs_change
            a_search_looks_at_no_more_than_it_may
            recent_outcomes_are_the_latest
            statistics_count_what_was_settled
            a_settlement_that_is_not_taken_counts_nothing
        }
    };
}

/// The cases of one subject as tests; used by [`conformance!`](crate::conformance).
#[doc(hidden)]
#[macro_export]
macro_rules! conformance_cases {
    ($make:path, $subject:ident: $($case:ident)+) => {
        mod $subject {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
                async fn $case() {
                    let made = $crate::conformance::Made::made($make().await);
                    let Some((store, _kept)) = made else { return };
                    $crate::conformance::$subject::$case(store).await;
                }
            )+
        }
    };
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_case_is_run_by_the_macro() {
        let list = include_str!("conformance.rs");
        let listed = |name: &str| list.lines().any(|line| line.trim() == name);
        for file in [
            include_str!("conformance/agenda.rs"),
            include_str!("conformance/audit.rs"),
            include_str!("conformance/callers.rs"),
            include_str!("conformance/claims.rs"),
            include_str!("conformance/concurrency.rs"),
            include_str!("conformance/edits.rs"),
            include_str!("conformance/history.rs"),
            include_str!("conformance/housekeeping.rs"),
            include_str!("conformance/repair.rs"),
            include_str!("conformance/resources.rs"),
            include_str!("conformance/sessions.rs"),
            include_str!("conformance/settlement.rs"),
            include_str!("conformance/shared.rs"),
            include_str!("conformance/survey.rs"),
            include_str!("conformance/views.rs"),
        ] {
            for case in file.lines().filter_map(|line| line.strip_prefix("pub async fn ")) {
                let name = case.split(['(', '<']).next().unwrap();
                assert!(listed(name), "{name} is not in the list");
            }
        }
    }
}
