//! The statements of `queries/`, by name. There is no other SQL in this crate but `migrations/`.

macro_rules! queries {
    ($($name:ident)+) => {
        $(pub(crate) const $name: &str = include_str!(concat!("../queries/", stringify!($name), ".sql"));)+

        /// All of them, with their names.
        #[cfg(test)]
        pub(crate) const ALL: &[(&str, &str)] = &[$((stringify!($name), $name)),+];
    };
}

mod text {
    #![expect(non_upper_case_globals, reason = "a query is named like its file")]

    queries! {
        begin
        capped_since
        collection
        collection_count
        collection_ids
        collections
        collections_of_group
        commit
        count_trace
        counters
        crowded
        delete_collection
        delete_grave
        delete_group
        delete_job
        delete_standing
        due
        due_together
        ended
        entry
        faulted
        faulted_count
        find_job
        grave
        group
        groups
        has_counters
        history
        insert_collection
        insert_counters
        insert_grave
        insert_group
        insert_job
        insert_record
        insert_skip
        insert_standing
        job
        job_by_id
        job_count_now
        job_count_of
        job_ids
        job_standing
        jobs
        key_check
        last_job
        marks
        prune_history
        prune_job
        prune_skips
        pruned_before
        quick_check
        record_count
        records_between
        register
        rollback
        save_counters
        schema_version
        sealed_count
        set_capped
        set_key_check
        set_pruned_before
        set_schema_version
        set_trace_count
        settle
        skips
        started_after
        survey
        survey_collection
        survey_collections
        survey_orphans
        survey_record
        survey_traces
        sweep_skips
        tried_at
        try_write
        unregister
        unregistered
        update_collection
        update_group
        update_job
        update_standing
        withdraw_skips
    }
}

pub(crate) use text::*;
