"""Jobs: their life, their lists, their history."""

from datetime import datetime, timedelta, timezone

import connection
import pytest
from azure.mgmt.scheduler import models
from conftest import GROUP, get_request, lower

START = datetime(2027, 1, 4, 9, 30, tzinfo=timezone.utc)


def test_a_new_job_is_answered_with_its_status(jobs):
    recurrence = models.JobRecurrence(frequency="Week", interval=2, count=10, end_time=START + timedelta(days=365))
    made = jobs.put("one", start_time=START, recurrence=recurrence, state="Enabled")
    assert made.id.endswith("/jobCollections/Jc/jobs/one")
    assert (made.type, made.name) == ("Microsoft.Scheduler/jobCollections/jobs", "Jc/one")
    properties = made.properties
    assert properties.start_time == START
    assert lower(properties.recurrence.frequency) == "week"
    assert (properties.recurrence.interval, properties.recurrence.count) == (2, 10)
    assert properties.recurrence.end_time == START + timedelta(days=365)
    assert lower(properties.state) == "enabled"
    assert properties.status.next_execution_time == START
    assert (properties.status.execution_count, properties.status.failure_count) == (0, 0)
    assert properties.status.faulted_count == 0
    assert jobs.get("one").as_dict() == made.as_dict()


def test_a_disabled_job_that_never_ran_has_no_status(jobs):
    assert jobs.put("one", state="Disabled").properties.status is None


def test_put_replaces_the_whole_definition(jobs):
    jobs.put("one", start_time=START, recurrence=models.JobRecurrence(frequency="Day", count=3))
    replaced = jobs.put("one", action=get_request(method="delete"), start_time=START).properties
    assert replaced.recurrence is None
    assert replaced.action.request.method == "delete"


def test_patch_merges_deeply(jobs):
    jobs.put(
        "one",
        action=get_request(method="POST", body="hello", headers={"X-One": "1"}),
        start_time=START,
        recurrence=models.JobRecurrence(frequency="Week", count=5),
    )
    later = START + timedelta(days=1)
    patched = jobs.patch(
        "one", start_time=later, recurrence=models.JobRecurrence(frequency="Day", interval=3)
    ).properties
    assert patched.start_time == later
    assert (lower(patched.recurrence.frequency), patched.recurrence.interval) == ("day", 3)
    assert patched.recurrence.count == 5
    assert patched.action.request.body == "hello"
    assert patched.action.request.headers == {"X-One": "1"}
    assert patched.status.next_execution_time == later


def test_patch_of_the_state_suspends_and_resumes(jobs):
    jobs.put("one", recurrence=models.JobRecurrence(frequency="Hour"))
    assert lower(jobs.patch("one", state="Disabled").properties.state) == "disabled"
    assert lower(jobs.patch("one", state="Enabled").properties.state) == "enabled"


def test_delete_removes_the_job(jobs):
    jobs.put("one")
    jobs.client.jobs.delete(GROUP, "Jc", "one")
    with pytest.raises(connection.NotFound):
        jobs.get("one")


def test_run_is_answered_at_once_and_changes_neither_schedule_nor_state(jobs):
    before = jobs.put("one", start_time=START, recurrence=models.JobRecurrence(frequency="Day"))
    assert jobs.client.jobs.run(GROUP, "Jc", "one") is None
    after = jobs.get("one").properties
    assert after.status.next_execution_time == before.properties.status.next_execution_time
    assert lower(after.state) == "enabled"


def test_lists_are_in_order_and_take_top_skip_and_filter(jobs):
    for name in ["delta", "Bravo", "alpha", "Charlie"]:
        jobs.put(name, state="Disabled" if name in ("alpha", "delta") else "Enabled", start_time=START)
    assert jobs.names() == ["alpha", "Bravo", "Charlie", "delta"]
    assert jobs.names(top=2) == ["alpha", "Bravo"]
    assert jobs.names(top=2, skip=1) == ["Bravo", "Charlie"]
    assert jobs.names(skip=3) == ["delta"]
    assert jobs.names(filter="state eq Disabled") == ["alpha", "delta"]
    assert jobs.names(filter="state eq 'enabled'") == ["Bravo", "Charlie"]
    assert jobs.names(filter="state eq Disabled", top=1, skip=1) == ["delta"]
    assert jobs.names(filter="state eq Completed") == []


def test_history_is_listed_with_top_skip_and_filter(jobs):
    jobs.put("one", start_time=START)
    history = jobs.client.jobs.list_job_history
    assert list(history(GROUP, "Jc", "one")) == []
    assert list(history(GROUP, "Jc", "one", top=5, skip=2, filter="status eq Failed")) == []
