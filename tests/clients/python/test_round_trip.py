"""What is read and put back must not change: every action, authentication, schedule and duration."""

import base64
import subprocess
from datetime import datetime, timedelta, timezone

import pytest
from azure.mgmt.scheduler import models
from conftest import get_request, lower

START = datetime(2026, 11, 16, 9, 30, tzinfo=timezone.utc)
SECRET = "Tr0ub4dor-and-3"


def check_kept(jobs, name):
    """Reads a job, puts it back, reads it again."""
    read = jobs.get(name)
    jobs.put_back(read)
    assert jobs.get(name).as_dict() == read.as_dict()
    return read.properties


@pytest.mark.parametrize("interval", [timedelta(seconds=15), timedelta(minutes=1), timedelta(hours=23, seconds=59), timedelta(days=2)])
def test_retry_interval_survives_reading_and_writing(jobs, interval):
    action = get_request()
    action.retry_policy = models.RetryPolicy(retry_type="Fixed", retry_interval=interval, retry_count=3)
    made = jobs.put("one", action=action, start_time=START)
    assert made.properties.action.retry_policy.retry_interval == interval
    kept = check_kept(jobs, "one").action.retry_policy
    assert (lower(kept.retry_type), kept.retry_interval, kept.retry_count) == ("fixed", interval, 3)


@pytest.mark.parametrize("interval", [timedelta(seconds=45), timedelta(hours=1), timedelta(days=2)])
def test_retry_interval_is_the_same_in_a_list(jobs, interval):
    action = get_request()
    action.retry_policy = models.RetryPolicy(retry_type="Fixed", retry_interval=interval)
    jobs.put("one", action=action, start_time=START)
    listed = jobs.list()[0]
    assert listed.properties.action.retry_policy.retry_interval == interval
    jobs.put_back(listed)
    assert jobs.get("one").properties.action.retry_policy.retry_interval == interval


def test_a_retry_policy_of_none_stays_bare(jobs):
    action = get_request()
    action.retry_policy = models.RetryPolicy(retry_type="None")
    jobs.put("one", action=action, start_time=START)
    policy = check_kept(jobs, "one").action.retry_policy
    assert lower(policy.retry_type) == "none"
    assert policy.retry_interval is None


def occurrences(*pairs):
    return [
        models.JobRecurrenceScheduleMonthlyOccurrence(day=day, occurrence=occurrence)
        for day, occurrence in pairs
    ]


def test_monthly_occurrences_survive_reading_and_writing(jobs):
    schedule = models.JobRecurrenceSchedule(
        hours=[5], minutes=[0], monthly_occurrences=occurrences(("Monday", 1), ("Friday", -1))
    )
    made = jobs.put("one", start_time=START, recurrence=models.JobRecurrence(frequency="Month", schedule=schedule))
    assert made.properties.status.next_execution_time == datetime(2026, 11, 27, 5, tzinfo=timezone.utc)
    for read in [check_kept(jobs, "one"), jobs.list()[0].properties]:
        found = read.recurrence.schedule.monthly_occurrences
        assert [(lower(one.day), one.occurrence) for one in found] == [("monday", 1), ("friday", -1)]


SCHEDULES = {
    "hours and minutes": ("Day", {"hours": [5, 17], "minutes": [0, 30]}, datetime(2026, 11, 16, 17, 0)),
    "minutes of every hour": ("Hour", {"minutes": [15, 45]}, datetime(2026, 11, 16, 9, 45)),
    "weekdays": ("Week", {"week_days": ["Monday", "Wednesday"], "hours": [8], "minutes": [0]}, datetime(2026, 11, 18, 8, 0)),
    "days of the month": ("Month", {"month_days": [1, -1], "hours": [0], "minutes": [0]}, datetime(2026, 11, 30)),
    "every such weekday": ("Month", {"monthly_occurrences": occurrences(("Tuesday", None)), "hours": [1], "minutes": [0]}, datetime(2026, 11, 17, 1, 0)),
}


@pytest.mark.parametrize("frequency, schedule, expected", SCHEDULES.values(), ids=SCHEDULES)
def test_schedules_survive_and_say_when_the_job_runs(jobs, frequency, schedule, expected):
    recurrence = models.JobRecurrence(frequency=frequency, schedule=models.JobRecurrenceSchedule(**schedule))
    made = jobs.put("one", start_time=START, recurrence=recurrence)
    assert made.properties.status.next_execution_time == expected.replace(tzinfo=timezone.utc)
    kept = check_kept(jobs, "one").recurrence.schedule
    for name, values in schedule.items():
        read = getattr(kept, name)
        if name == "week_days":
            assert [lower(day) for day in read] == [day.lower() for day in values]
        elif name != "monthly_occurrences":
            assert read == values


def test_http_requests_survive_as_they_were_sent(jobs):
    request = dict(
        uri="http://example.com/a%2db?q=1",
        method="pOsT",
        headers={"ConTent-tYPe": "application/xml", "X-Empty": ""},
        body="<a>ü 漢 \u2028</a>",
    )
    jobs.put("one", action=get_request(**request), start_time=START)
    kept = check_kept(jobs, "one").action
    assert lower(kept.type) == "http"
    for name, value in request.items():
        assert getattr(kept.request, name) == value


def storage_queue():
    message = models.StorageQueueMessage(
        storage_account="account", queue_name="queue1", sas_token=SECRET, message="some message!"
    )
    return dict(type="StorageQueue", queue_message=message)


def bus(**more):
    return dict(
        namespace="namespace",
        transport_type="NetMessaging",
        message="some message!",
        authentication=models.ServiceBusAuthentication(
            sas_key=SECRET, sas_key_name="RootManageSharedAccessKey", type="SharedAccessKey"
        ),
        brokered_message_properties=models.ServiceBusBrokeredMessageProperties(
            content_type="text/plain",
            correlation_id="c",
            force_persistence=True,
            label="l",
            message_id="m",
            partition_key="p",
            reply_to="r",
            reply_to_session_id="rs",
            scheduled_enqueue_time_utc=datetime(2027, 1, 1, tzinfo=timezone.utc),
            session_id="s",
            time_to_live=timedelta(hours=2),
            to="t",
            via_partition_key="v",
        ),
        custom_message_properties={"Key": "value"},
        **more,
    )


def service_bus_queue():
    message = models.ServiceBusQueueMessage(**bus(queue_name="queue1"))
    return dict(type="ServiceBusQueue", service_bus_queue_message=message)


def service_bus_topic():
    message = models.ServiceBusTopicMessage(**bus(topic_path="topic/1"))
    return dict(type="ServiceBusTopic", service_bus_topic_message=message)


def https():
    return dict(type="Https", request=models.HttpRequest(uri="https://example.com/", method="PUT", body="x"))


KINDS = [https, storage_queue, service_bus_queue, service_bus_topic]


def without_secrets(action):
    plain = action.as_dict()
    for message in [plain.get("queue_message"), plain.get("service_bus_queue_message"), plain.get("service_bus_topic_message")]:
        if message:
            message.pop("sas_token", None)
            message.get("authentication", {}).pop("sas_key", None)
    return plain


def in_lower_case(value):
    if isinstance(value, dict):
        return {key: in_lower_case(one) for key, one in value.items()}
    return value.lower() if isinstance(value, str) else value


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_action_is_kept_but_for_its_secret(jobs, kind):
    action = models.JobAction(**kind())
    made = jobs.put("one", action=action, start_time=START)
    expected = in_lower_case(without_secrets(action))
    assert in_lower_case(made.properties.action.as_dict()) == expected
    assert in_lower_case(jobs.get("one").properties.action.as_dict()) == expected
    assert in_lower_case(jobs.list()[0].properties.action.as_dict()) == expected
    assert not any(SECRET in answer for answer in jobs.answers)


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_error_action_is_kept_but_for_its_secret(jobs, kind):
    action = get_request()
    action.error_action = models.JobErrorAction(**kind())
    expected = in_lower_case(without_secrets(action.error_action))
    made = jobs.put("one", action=action, start_time=START)
    assert in_lower_case(made.properties.action.error_action.as_dict()) == expected
    assert not any(SECRET in answer for answer in jobs.answers)


def test_basic_authentication_keeps_its_password_to_itself(jobs):
    authentication = models.BasicAuthentication(username="user", password=SECRET)
    made = jobs.put("one", action=get_request(authentication=authentication), start_time=START)
    shown = made.properties.action.request.authentication
    assert isinstance(shown, models.BasicAuthentication)
    assert (shown.username, shown.password) == ("user", None)
    # A password that is not mentioned stays, so that what was read can be patched back.
    patched = jobs.patch("one", action=made.properties.action)
    assert patched.properties.action.request.authentication.username == "user"
    assert not any(SECRET in answer for answer in jobs.answers)


def test_oauth_keeps_its_secret_to_itself(jobs):
    authentication = models.OAuthAuthentication(
        secret=SECRET, tenant="contoso.com", audience="https://management.core.windows.net/", client_id="id"
    )
    made = jobs.put("one", action=get_request(authentication=authentication), start_time=START)
    shown = made.properties.action.request.authentication
    assert isinstance(shown, models.OAuthAuthentication)
    assert (shown.tenant, shown.audience, shown.client_id, shown.secret) == (
        "contoso.com",
        "https://management.core.windows.net/",
        "id",
        None,
    )
    assert not any(SECRET in answer for answer in jobs.answers)


@pytest.fixture(scope="module")
def pfx(tmp_path_factory):
    """A certificate of our own as a PFX file, with its thumbprint and expiry as openssl says them."""
    folder = tmp_path_factory.mktemp("pfx")

    def openssl(*arguments):
        return subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout

    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", "cert.pem",
            "-days", "30", "-subj", "/C=US/ST=Some-State/O=Punctual/CN=client")
    openssl("pkcs12", "-export", "-inkey", "key.pem", "-in", "cert.pem", "-out", "client.pfx",
            "-passout", f"pass:{SECRET}")
    thumbprint = openssl("x509", "-in", "cert.pem", "-noout", "-fingerprint", "-sha1")
    ends = openssl("x509", "-in", "cert.pem", "-noout", "-enddate", "-dateopt", "iso_8601")
    content = base64.b64encode((folder / "client.pfx").read_bytes()).decode()
    return content, thumbprint.strip().split("=")[1].replace(":", ""), ends.strip().split("=")[1]


def test_a_client_certificate_is_opened_and_described(jobs, pfx):
    content, thumbprint, ends = pfx
    authentication = models.ClientCertAuthentication(pfx=content, password=SECRET)
    made = jobs.put("one", action=get_request(authentication=authentication), start_time=START)
    shown = made.properties.action.request.authentication
    assert isinstance(shown, models.ClientCertAuthentication)
    assert (shown.pfx, shown.password) == (None, None)
    assert shown.certificate_thumbprint == thumbprint
    assert shown.certificate_subject_name == "CN=client, O=Punctual, S=Some-State, C=US"
    assert shown.certificate_expiration_date == datetime.fromisoformat(ends)
    assert not any(SECRET in answer or content[:40] in answer for answer in jobs.answers)
