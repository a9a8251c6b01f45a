"""Job collections."""

from concurrent.futures import ThreadPoolExecutor

import connection
import pytest
from azure.mgmt.scheduler import models
from conftest import GROUP, lower

# How many collections the server puts on one page.
PAGE = 1000


def test_a_new_collection_is_answered_in_canonical_form(scheduler):
    quota = models.JobCollectionQuota(
        max_job_count=50, max_recurrence=models.JobMaxRecurrence(frequency="Minute", interval=1)
    )
    made = scheduler.put_collection("Jc", "standard", quota=quota, tags={"department": "marketing"})
    assert made.id == (
        f"/subscriptions/{scheduler.subscription}/resourceGroups/{GROUP}"
        "/providers/Microsoft.Scheduler/jobCollections/Jc"
    )
    assert (made.type, made.name) == ("Microsoft.Scheduler/jobCollections", "Jc")
    assert made.location == "West US"
    assert made.tags == {"department": "marketing"}
    assert lower(made.properties.sku.name) == "standard"
    assert lower(made.properties.state) == "enabled"
    assert made.properties.quota.max_job_count == 50
    assert lower(made.properties.quota.max_recurrence.frequency) == "minute"
    assert made.properties.quota.max_recurrence.interval == 1
    assert scheduler.get_collection("Jc").as_dict() == made.as_dict()


def test_quota_and_tags_that_were_not_sent_are_not_answered(scheduler):
    made = scheduler.put_collection(sku="Free")
    assert made.properties.quota is None
    assert made.tags is None


def test_put_replaces_and_leaves_the_jobs_alone(jobs):
    jobs.put("one")
    quota = models.JobCollectionQuota(max_job_count=7)
    jobs.put_collection(sku="P10Premium", quota=quota, tags={"a": "1"})
    changed = jobs.put_collection(sku="P20Premium", state="Suspended", tags={"b": "2"})
    assert changed.tags == {"b": "2"}
    assert lower(changed.properties.sku.name) == "p20premium"
    assert lower(changed.properties.state) == "suspended"
    assert changed.properties.quota is None
    assert jobs.names() == ["one"]


def test_patch_changes_only_what_it_mentions(scheduler):
    before = scheduler.put_collection(tags={"department": "marketing", "old": "yes"})
    patch = models.JobCollectionDefinition(tags={"department": "sales"})
    after = scheduler.client.job_collections.patch(GROUP, "Jc", patch)
    assert after.tags == {"department": "sales"}
    assert after.properties.as_dict() == before.properties.as_dict()
    assert after.location == before.location


def test_a_collection_that_is_read_and_put_back_is_the_same(scheduler):
    quota = models.JobCollectionQuota(
        max_job_count=9, max_recurrence=models.JobMaxRecurrence(frequency="Week", interval=2)
    )
    scheduler.put_collection(quota=quota, tags={"a": "1"}, state="Disabled")
    read = scheduler.get_collection()
    written = scheduler.client.job_collections.create_or_update(GROUP, "Jc", read)
    assert written.as_dict() == read.as_dict()


def test_lists_are_by_subscription_and_by_group_in_order(scheduler):
    for name in ["beta", "Alpha", "gamma"]:
        scheduler.put_collection(name)
    client = scheduler.client.job_collections
    assert [one.name for one in client.list_by_resource_group(GROUP)] == ["Alpha", "beta", "gamma"]
    assert [one.name for one in client.list_by_subscription()] == ["Alpha", "beta", "gamma"]
    assert list(client.list_by_resource_group("elsewhere")) == []


def test_disable_and_enable_finish_at_once_and_keep_what_the_user_disabled(jobs):
    recurrence = models.JobRecurrence(frequency="Day")
    jobs.put("on", recurrence=recurrence)
    jobs.put("off", recurrence=recurrence, state="Disabled")
    connection.disable(jobs.client, GROUP, "Jc").result()
    assert lower(jobs.get_collection().properties.state) == "disabled"
    held = jobs.get("on").properties
    assert lower(held.state) == "enabled"
    assert held.status.next_execution_time is None
    connection.enable(jobs.client, GROUP, "Jc").result()
    assert lower(jobs.get_collection().properties.state) == "enabled"
    assert jobs.get("on").properties.status.next_execution_time is not None
    assert lower(jobs.get("off").properties.state) == "disabled"


def test_delete_takes_the_jobs_along(jobs):
    jobs.put("one")
    connection.delete_collection(jobs.client, GROUP, "Jc").result()
    with pytest.raises(connection.NotFound):
        jobs.get_collection()
    jobs.put_collection()
    assert jobs.names() == []


def test_names_are_found_in_any_letter_case_and_keep_their_own(jobs):
    jobs.put("MyJob")
    client = jobs.client
    assert client.job_collections.get(GROUP.upper(), "JC").name == "Jc"
    assert client.jobs.get(GROUP.lower(), "jc", "MYJOB").name == "Jc/MyJob"
    jobs.put("myjob", state="Disabled")
    assert jobs.names() == ["MyJob"]
    assert lower(jobs.get("MyJob").properties.state) == "disabled"
    client.jobs.delete(GROUP, "jC", "mYjOB")
    assert jobs.names() == []


def test_pages_are_followed_to_the_end(scheduler):
    names = [f"jc{number:04}" for number in range(PAGE + 1)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: scheduler.put_collection(name, sku="P20Premium"), names))
    scheduler.answers.clear()
    assert [one.name for one in scheduler.client.job_collections.list_by_resource_group(GROUP)] == names
    assert len(scheduler.answers) == 2
