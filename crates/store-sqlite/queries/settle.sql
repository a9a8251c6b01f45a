-- settle: the primary key, one row or none
UPDATE agenda
SET due_at = ?2,
    target = ?3,
    nominal_at = ?4,
    cause = ?5,
    step = ?6,
    attempt = ?7,
    ordinal = ?8,
    floor_at = ?9,
    past_at = ?10,
    started_count = ?11,
    drop_count = ?12,
    last_failed = ?13,
    ended_at = ?14,
    runs = ?15,
    ahead = ?16,
    state = ?17,
    execution_count = ?18,
    failure_count = ?19,
    faulted_count = ?20,
    last_started_at = ?21,
    revision = ?22,
    trace_count = trace_count + ?23
WHERE job = ?1
    AND revision = ?24
