"""Brokers that fail: the history says what happened, retries happen, and what was not accepted is not sent."""

import itertools
import json
import time

import pytest
import requests

from peers import ACCOUNT, Azurite, Double, Punctual, free_port, to_queue, to_topic, until

from test_storage_queue import queue, sas, to_storage  # noqa: F401


# Half a minute for a peer to come back, and more.
PATIENT = {"retries": 20, "interval": "00:03:00"}


@pytest.fixture(scope="module")
def by_password(tmp_path_factory, certificate, double):
    """Fires at the double by user name and password."""
    server = Punctual(
        tmp_path_factory.mktemp("punctual"),
        service_bus_amqp_endpoint=f"amqps://localhost:{double.amqp}",
        service_bus_sasl="plain",
        ca_file=certificate / "ca.pem",
    )
    yield server
    server.stop()


def counts(rest):
    return json.loads(requests.get(f"http://127.0.0.1:{rest}/counts").text)


@pytest.mark.parametrize("sasl", ["cbs", "plain"])
def test_a_broker_that_is_down_for_a_while_gets_the_message_when_it_is_back(tmp_path, sasl):
    amqp, rest = free_port(), free_port()
    server = Punctual(
        tmp_path,
        service_bus_amqp_endpoint=f"amqp://127.0.0.1:{amqp}",
        service_bus_rest_endpoint=f"http://127.0.0.1:{rest}",
        service_bus_sasl=sasl,
    )
    double = None
    try:
        jobs = [
            server.job(to_queue("comes-back"), **PATIENT),
            server.job(to_queue("comes-back", transport="NetMessaging"), **PATIENT),
        ]
        for job in jobs:
            server.records(job, 2)
        double = Double(amqp=amqp, rest=rest)
        for job in jobs:
            until(lambda: server.history(job)[-1]["status"] == "completed", 60, "the message is sent")
            records = server.history(job)
            assert len(records) >= 3
            assert [record["retryCount"] for record in records] == list(range(len(records)))
            for record in records[:-1]:
                assert record["status"] == "failed"
                assert "ConnectFailure Unable to connect to the remote server" in record["message"]
        assert counts(rest)["waiting"]["comes-back"] == 2
        # Away and back again: the connections that were there are of no use any more.
        double.stop()
        jobs = [server.job(to_queue("comes-back"), **PATIENT) for _ in range(3)]
        for job in jobs:
            server.records(job, 1)
        double = Double(amqp=amqp, rest=rest)
        for job in jobs:
            until(lambda: server.history(job)[-1]["status"] == "completed", 60, "the message is sent")
        assert counts(rest)["waiting"]["comes-back"] == 3
    finally:
        if double:
            double.stop()
        server.stop()


def test_a_queue_service_that_is_down_for_a_while_gets_the_message_when_it_is_back(tmp_path):
    port = free_port()
    server = Punctual(tmp_path, storage_queue_endpoint=f"http://127.0.0.1:{port}/{{account}}")
    azurite = None
    try:
        job = server.job(to_storage("reports", sas()), **PATIENT)
        server.records(job, 2)
        azurite = Azurite(port)
        queue = azurite.service().create_queue("reports")
        until(lambda: server.history(job)[-1]["status"] == "completed", 60, "the message is sent")
        records = server.history(job)
        assert "ConnectFailure Unable to connect to the remote server" in records[0]["message"]
        assert [record["status"] for record in records] == ["failed"] * (len(records) - 1) + ["completed"]
        assert queue.get_queue_properties().approximate_message_count == 1
    finally:
        if azurite:
            azurite.stop()
        server.stop()


def test_nothing_that_was_not_accepted_is_recorded_as_sent(punctual, by_password):
    """Takes a minute: that is how long an attempt may take."""
    for server in (punctual, by_password):
        dropped = server.run(to_queue("drops"), records=3, retries=2)
        for record in dropped:
            assert record["status"] == "failed"
            assert "The connection was lost before the broker answered" in record["message"]
    begun = time.monotonic()
    never = [(server, server.job(to_queue(name, transport=transport)))
             for server, name, transport in [
                 (punctual, "never-settles", "AMQP"), (punctual, "never-settles", "NetMessaging"),
                 (punctual, "no-credit", "AMQP"), (by_password, "never-settles", "AMQP"),
                 (by_password, "no-credit", "AMQP")]]
    # Others on the same connection are not held up, and one that breaks connections has its own.
    for server in (punctual, by_password):
        assert " was lost " in server.run(to_queue("drops"))[0]["message"]
        [record] = server.run(to_queue("comes-back"))
        assert record["status"] == "completed", record
        [record] = server.run(to_queue("rejects"))
        assert "QuotaExceeded The broker says amqp:resource-limit-exceeded: The queue is full." in record["message"]
    [record] = punctual.run(to_queue("drops", transport="NetMessaging"))
    assert record["status"] == "failed" and " ReceiveFailure " in record["message"]
    [record] = punctual.run(to_queue("rejects", transport="NetMessaging"))
    assert record["status"] == "failed" and "'Forbidden'" in record["message"]
    assert time.monotonic() - begun < 50
    for server, job in never:
        [record] = server.records(job, 1, seconds=70)
        assert record["status"] == "failed"
        assert " Timeout The operation has timed out: " in record["message"]
        assert 55 < time.monotonic() - begun < 65


@pytest.mark.parametrize("action, reason", [
    (to_queue("comes-back", key="wrong key"), " UnauthorizedAccess "),
    (to_queue("nowhere"), " MessagingEntityNotFound "),
])
def test_what_is_refused_by_password_is_told_and_tried_again(by_password, action, reason):
    records = by_password.run(action, records=3, retries=2)
    assert [record["retryCount"] for record in records] == [0, 1, 2]
    for record in records:
        assert record["status"] == "failed" and reason in record["message"]


@pytest.fixture
def actions(queue):  # noqa: F811
    """One that works and one that fails, of each kind."""
    return {
        "Http": [
            {"type": "Http", "request": {"method": "GET", "uri": f"{queue.url.split('/' + ACCOUNT)[0]}/"
                                         f"{ACCOUNT}/{queue.queue_name}?comp=metadata&{sas()}"}},
            {"type": "Http", "request": {"method": "GET", "uri": "http://127.0.0.1:1/"}},
        ],
        "StorageQueue": [to_storage(queue.queue_name, sas()), to_storage("no-such-queue", sas())],
        "ServiceBusQueue": [to_queue("orders"), to_queue("nowhere")],
        "ServiceBusTopic": [to_topic("news", transport="NetMessaging"), to_topic("nowhere", transport="NetMessaging")],
    }


def test_an_error_action_of_every_kind_follows_an_action_of_every_kind(punctual, actions):
    jobs = {
        (main, error): punctual.job(actions[main][1], retries=1, error_action=actions[error][0])
        for main, error in itertools.product(actions, actions)
    }
    for (main, error), job in jobs.items():
        records = punctual.records(job, 3)
        seen = [(record["actionName"], record["status"]) for record in records]
        assert seen == [("MainAction", "failed")] * 2 + [("ErrorAction", "completed")], (main, error, records)
        assert records[0]["message"].startswith(f"{main} Action - ")
        assert records[2]["message"].startswith(f"{error} Action - ")
