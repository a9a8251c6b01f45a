"""What docs/guide/queues.md and README.md show is run as it is, but for where the peers are."""

import os
import pathlib
import re
import subprocess
import sys

import pytest
from azure.storage.queue import QueueServiceClient

from peers import ACCOUNT, ACCOUNT_KEY, ROOT, Double, Punctual

from test_storage_queue import sas

RUNS = "# runs by scripts/test-queues\n"
GUIDE = (ROOT / "docs" / "guide" / "queues.md").read_text()
README = (ROOT / "README.md").read_text()


def blocks(heading, text):
    """The blocks to run: those before all sections, then those of one."""
    sections = re.split(r"^##+ ", text, flags=re.MULTILINE)
    [section] = [section for section in sections if section.startswith(heading)]
    shown = re.findall(r"```sh\n(.*?)```", sections[0] + section, flags=re.DOTALL)
    return [block.removeprefix(RUNS) for block in shown if block.startswith(RUNS)]


def run(heading, places, text=GUIDE, **environment):
    script = "set -euo pipefail\n" + "".join(blocks(heading, text))
    for place, actual in places.items():
        assert place in script
        script = script.replace(place, actual)
    path = f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(["bash", "-c", script], env=os.environ | {"PATH": path} | environment,
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def serve(tmp_path):
    servers = []

    def serve(**actions):
        servers.append(Punctual(tmp_path, **actions))
        return servers[0].base

    yield serve
    for server in servers:
        server.stop()


@pytest.fixture
def service(azurite):
    """Without the queue that is shown to be made."""
    service = QueueServiceClient(f"{azurite}/{ACCOUNT}", credential={
        "account_name": ACCOUNT, "account_key": ACCOUNT_KEY})

    def clear():
        for queue in service.list_queues(name_starts_with="reports"):
            service.delete_queue(queue)

    clear()
    yield service
    clear()


def test_the_readme(serve, service, azurite, rabbitmq):
    base = serve(storage_queue_endpoint=azurite + "/{account}", service_bus_amqp_endpoint=rabbitmq,
                 service_bus_sasl="plain", service_bus_topic_address="/exchange/{entity}")
    queue = service.create_queue("reports")
    shown = run("Messages, without Azure", {"http://127.0.0.1:8380": base}, README, sas=sas())
    assert queue.get_queue_properties().approximate_message_count == 1
    assert "StorageQueue Action - The message to storage account 'devstoreaccount1' queue 'reports' succeeded." in shown
    assert "ServiceBusQueue Action - Message sent: queue 'invoices' namespace 'local'." in shown
    assert "ServiceBusTopic Action - Message sent: topic 'amq.fanout' namespace 'local'." in shown


def test_a_storage_queue(serve, service, azurite):
    base = serve(storage_queue_endpoint=azurite + "/{account}")
    shown = run("A storage queue", {"http://127.0.0.1:8380": base, "http://127.0.0.1:10001": azurite})
    assert "<Message>hello storage</Message>" in shown


def test_rabbitmq(serve, rabbitmq):
    base = serve(service_bus_amqp_endpoint=rabbitmq, service_bus_sasl="plain")
    shown = run("RabbitMQ instead", {"http://127.0.0.1:8380": base, "amqp://127.0.0.1:5672": rabbitmq})
    assert "hello rabbit order {'priority': 'high'}" in shown


def test_the_double(serve):
    double = Double(keys={"sender": "a secret"})
    try:
        base = serve(service_bus_amqp_endpoint=f"amqp://127.0.0.1:{double.amqp}",
                     service_bus_rest_endpoint=f"http://127.0.0.1:{double.rest}")
        shown = run("A double of Service Bus",
                    {"http://127.0.0.1:8380": base, "127.0.0.1:5679": f"127.0.0.1:{double.amqp}"})
    finally:
        double.stop()
    assert "hello queue" in shown and "hello topic" in shown
