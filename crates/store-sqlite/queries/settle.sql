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
    state = ?16,
    execution_count = ?17,
    failure_count = ?18,
    faulted_count = ?19,
    last_started_at = ?20,
    revision = ?21,
    trace_count = trace_count + ?22
WHERE job = ?1
    AND revision = ?23
