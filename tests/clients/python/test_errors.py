"""Errors arrive as the client's own exceptions, with code and message."""

from datetime import datetime, timezone

import connection
import pytest
from azure.mgmt.scheduler import models
from conftest import GROUP, get_request

START = datetime(2027, 1, 4, tzinfo=timezone.utc)


def refused(kind, status, code, call):
    """The message of the error that a call ends with."""
    with pytest.raises(kind) as caught:
        call()
    assert caught.value.status_code == status
    found, message = connection.code_and_message(caught.value)
    assert found == code
    return message


def test_a_missing_collection_is_not_found(scheduler):
    message = refused(connection.NotFound, 404, "ResourceNotFound", lambda: scheduler.get_collection("nothing"))
    assert message == (
        f"The Resource 'Microsoft.Scheduler/jobcollections/nothing' under resource group '{GROUP}' was not found."
    )


def test_a_missing_job_is_not_found(jobs):
    message = refused(connection.NotFound, 404, "NotFound", lambda: jobs.get("nothing"))
    assert message == "Job 'nothing' cannot be found."


@pytest.mark.parametrize(
    "call",
    [
        lambda jobs: jobs.put("one", collection="nothing"),
        lambda jobs: jobs.patch("one", collection="nothing", state="Disabled"),
        lambda jobs: jobs.get("one", collection="nothing"),
        lambda jobs: jobs.list("nothing"),
        lambda jobs: jobs.client.jobs.run(GROUP, "nothing", "one"),
        lambda jobs: jobs.client.jobs.delete(GROUP, "nothing", "one"),
        lambda jobs: list(jobs.client.jobs.list_job_history(GROUP, "nothing", "one")),
        lambda jobs: connection.enable(jobs.client, GROUP, "nothing").result(),
        lambda jobs: connection.delete_collection(jobs.client, GROUP, "nothing").result(),
    ],
)
def test_everything_under_a_missing_collection_is_not_found(jobs, call):
    refused(connection.NotFound, 404, "ResourceNotFound", lambda: call(jobs))


def test_deleting_a_missing_job_is_not_found(jobs):
    refused(connection.NotFound, 404, "NotFound", lambda: jobs.client.jobs.delete(GROUP, "Jc", "nothing"))


def test_a_full_collection_refuses_another_job(scheduler):
    scheduler.put_collection(quota=models.JobCollectionQuota(max_job_count=1))
    scheduler.put("one")
    scheduler.put("one")
    message = refused(connection.Conflict, 409, "Conflict", lambda: scheduler.put("two"))
    assert "reached its quota of '1'" in message


def test_a_job_that_recurs_too_fast_is_refused(scheduler):
    scheduler.put_collection(sku="Free")
    recurrence = models.JobRecurrence(frequency="Minute", interval=30)
    refused(connection.Conflict, 409, "Conflict", lambda: scheduler.put("one", recurrence=recurrence))


def test_a_second_free_collection_is_refused(scheduler):
    scheduler.put_collection("first", sku="Free")
    message = refused(
        connection.Conflict, 409, "Conflict", lambda: scheduler.put_collection("second", sku="Free")
    )
    assert "already has a free job collection" in message


def test_authentication_on_free_is_refused(scheduler):
    scheduler.put_collection(sku="Free")
    action = get_request(authentication=models.BasicAuthentication(username="u", password="p"))
    refused(connection.Conflict, 409, "Conflict", lambda: scheduler.put("one", action=action))


def test_moving_a_collection_is_refused(scheduler):
    scheduler.put_collection(location="West US")
    refused(
        connection.Conflict,
        409,
        "InvalidResourceLocation",
        lambda: scheduler.put_collection(location="East US"),
    )


def test_running_in_a_disabled_collection_is_refused(jobs):
    jobs.put("one")
    connection.disable(jobs.client, GROUP, "Jc").result()
    message = refused(
        connection.Conflict, 409, "Conflict", lambda: jobs.client.jobs.run(GROUP, "Jc", "one")
    )
    assert message == "The job collection 'Jc' is not enabled."


def test_all_problems_of_a_job_are_told_at_once(jobs):
    action = get_request(uri="ftp://example.com", method="BREW")
    action.retry_policy = models.RetryPolicy(retry_type="Fixed", retry_count=99)
    schedule = models.JobRecurrenceSchedule(month_days=[1], minutes=[75])
    recurrence = models.JobRecurrence(frequency="Week", interval=79, schedule=schedule)
    message = refused(
        connection.BadRequest, 400, "BadRequest", lambda: jobs.put("one", action=action, recurrence=recurrence)
    )
    for path in [
        "properties.action.request.uri",
        "properties.action.request.method",
        "properties.action.retryPolicy.retryCount",
        "properties.recurrence.interval",
        "properties.recurrence.schedule",
        "Cannot set days of month with recurrence unit 'Week'.",
    ]:
        assert path in message


def test_a_password_that_is_missing_is_told_in_the_known_words(jobs):
    action = get_request(authentication=models.BasicAuthentication(username="u"))
    message = refused(connection.BadRequest, 400, "BadRequest", lambda: jobs.put("one", action=action))
    assert "'Username' and 'Password' are required for 'Basic' type of Authentication." in message


def test_an_unknown_filter_is_refused(jobs):
    refused(connection.BadRequest, 400, "BadRequest", lambda: jobs.list(filter="state ne Enabled"))


def test_a_bad_collection_is_refused_with_all_its_problems(scheduler):
    quota = models.JobCollectionQuota(
        max_job_count=51, max_recurrence=models.JobMaxRecurrence(frequency="Minute", interval=1001)
    )
    message = refused(connection.BadRequest, 400, "BadRequest", lambda: scheduler.put_collection(quota=quota))
    assert "cannot be set higher then '50' ('51' was provided)" in message
    assert "maxRecurrence.interval" in message


def test_an_unknown_region_is_refused_with_the_list(scheduler):
    message = refused(
        connection.BadRequest,
        400,
        "LocationNotAvailableForResourceType",
        lambda: scheduler.put_collection(location="Atlantis"),
    )
    assert "West US" in message
