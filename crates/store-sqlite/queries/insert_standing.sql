-- insert_standing: one row
INSERT INTO agenda (
    job,
    due_at,
    target,
    nominal_at,
    cause,
    step,
    attempt,
    ordinal,
    floor_at,
    past_at,
    started_count,
    drop_count,
    last_failed,
    ended_at,
    runs,
    ahead,
    state,
    execution_count,
    failure_count,
    faulted_count,
    last_started_at,
    revision,
    generation,
    put_at,
    trace_count
)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25)
