"""Brokers that fail: the history says what happened, retries happen, and what was not accepted is not sent."""

import itertools
import json

import pytest
import requests

from peers import ACCOUNT, Double, Punctual, free_port, to_queue, to_topic, until

from test_storage_queue import queue, sas, to_storage  # noqa: F401


@pytest.fixture(scope="module")
def ports():
    return free_port(), free_port()


@pytest.fixture(scope="module")
def server(tmp_path_factory, ports):
    """Fires at a double that is not always there."""
    amqp, rest = ports
    server = Punctual(
        tmp_path_factory.mktemp("punctual"),
        service_bus_amqp_endpoint=f"amqp://127.0.0.1:{amqp}",
        service_bus_rest_endpoint=f"http://127.0.0.1:{rest}",
    )
    yield server
    server.stop()


def counts(rest):
    return json.loads(requests.get(f"http://127.0.0.1:{rest}/counts").text)


def test_a_broker_that_is_down_for_a_while_gets_the_message_when_it_is_back(server, ports):
    amqp, rest = ports
    jobs = [
        server.job(to_queue("comes-back"), retries=20),
        server.job(to_queue("comes-back", transport="NetMessaging"), retries=20),
    ]
    for job in jobs:
        server.records(job, 2)
    double = Double(amqp=amqp, rest=rest)
    try:
        for job in jobs:
            until(lambda: server.history(job)[-1]["status"] == "completed", 20, "the message is sent")
            records = server.history(job)
            assert len(records) >= 3
            assert [record["retryCount"] for record in records] == list(range(len(records)))
            for record in records[:-1]:
                assert record["status"] == "failed"
                assert "ConnectFailure Unable to connect to the remote server" in record["message"]
        assert counts(rest)["waiting"]["comes-back"] == 2
    finally:
        double.stop()


def test_nothing_that_was_not_accepted_is_recorded_as_sent(punctual):
    """Takes a minute: that is how long an attempt may take."""
    never = [punctual.job(to_queue(name, transport=transport))
             for name, transport in [("never-settles", "AMQP"), ("never-settles", "NetMessaging"),
                                     ("no-credit", "AMQP")]]
    dropped = punctual.run(to_queue("drops"), records=3, retries=2)
    for record in dropped:
        assert record["status"] == "failed"
        assert "The connection was lost before the broker answered" in record["message"]
    [record] = punctual.run(to_queue("drops", transport="NetMessaging"))
    assert record["status"] == "failed" and " ReceiveFailure " in record["message"]
    [record] = punctual.run(to_queue("rejects"))
    assert "QuotaExceeded The broker says amqp:resource-limit-exceeded: The queue is full." in record["message"]
    for job in never:
        [record] = punctual.records(job, 1, seconds=70)
        assert record["status"] == "failed"
        assert record["message"].endswith(" Timeout The operation has timed out")


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
