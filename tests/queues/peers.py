"""What the tests talk to: a Punctual of their own, and a double of Service Bus."""

import json
import os
import pathlib
import socket
import subprocess
import time
import uuid

import requests

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
API = "api-version=2016-03-01"

KEY_NAME = "RootManageSharedAccessKey"
KEY = "c2VjcmV0+/c2VjcmV0="

# The account that Azurite is born with, and its public key.
ACCOUNT = "devstoreaccount1"
ACCOUNT_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="

QUEUES = ["orders", "over-rest", "rejects", "drops", "never-settles", "comes-back", "no-credit"]
TOPICS = {"news": ["all", "some"]}


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def until(answer, seconds, what):
    """Asks until there is an answer; a deadline, so that nothing hangs."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := answer():
            return found
        time.sleep(0.05)
    raise AssertionError(f"not within {seconds} s: {what}")


class Process:
    def __init__(self, arguments, **options):
        self.process = subprocess.Popen(arguments, **options)

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Double(Process):
    """The double of Service Bus."""

    def __init__(self, certificate=None, amqp=0, rest=0, keys={KEY_NAME: KEY}):
        options = {"amqp": amqp, "rest": rest, "queues": QUEUES, "topics": TOPICS, "keys": keys}
        if certificate:
            options |= {"cert": str(certificate / "cert.pem"), "key": str(certificate / "key.pem")}
        super().__init__(
            ["node", str(HERE / "double" / "main.js"), json.dumps(options)], stdout=subprocess.PIPE, text=True
        )
        ports = json.loads(self.process.stdout.readline())
        self.amqp, self.rest = ports["amqp"], ports["rest"]


class Punctual(Process):
    """A server in a directory of its own. Its clock is fast, so that retries are; time-outs are real."""

    def __init__(self, directory, **actions):
        port = free_port()
        self.base = f"http://127.0.0.1:{port}"
        environment = os.environ | {
            f"PUNCTUAL_ACTIONS__{name.upper()}": str(value) for name, value in actions.items()
        }
        binary = os.environ.get("PUNCTUAL_BIN", str(ROOT / "target" / "debug" / "punctual"))
        log = open(directory / "log", "w")
        super().__init__(
            [binary, "serve", "--listen", f"127.0.0.1:{port}", "--data", str(directory / "data"),
             "--clock-speed", "100"],
            env=environment, stdout=log, stderr=log,
        )
        until(self.ready, 30, "the server is ready")
        self.collections = f"{self.base}/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections"
        answer = requests.put(f"{self.collections}/jobs?{API}", json={"location": "West US"})
        answer.raise_for_status()

    def ready(self):
        try:
            return requests.get(f"{self.base}/readyz", timeout=1).ok
        except requests.ConnectionError:
            return False

    def job(self, action, retries=0, error_action=None):
        """Creates a job that runs once, at once."""
        action = dict(action)
        fixed = {"retryType": "fixed", "retryInterval": "00:00:15", "retryCount": retries}
        action["retryPolicy"] = fixed if retries else {"retryType": "none"}
        if error_action:
            action["errorAction"] = error_action
        name = f"job-{uuid.uuid4().hex[:8]}"
        answer = requests.put(
            f"{self.collections}/jobs/jobs/{name}?{API}", json={"properties": {"action": action}}
        )
        assert answer.ok, answer.text
        return name

    def history(self, job):
        """All records, the oldest first."""
        answer = requests.get(f"{self.collections}/jobs/jobs/{job}/history?{API}")
        answer.raise_for_status()
        return [record["properties"] for record in reversed(answer.json()["value"])]

    def records(self, job, count, seconds=20):
        return until(
            lambda: (found := self.history(job)) if len(self.history(job)) >= count else None,
            seconds,
            f"{count} records of {job}",
        )

    def run(self, action, records=1, seconds=20, **options):
        """Runs a job to its end; gives its records."""
        return self.records(self.job(action, **options), records, seconds)


def bus_message(entity, transport="AMQP", key=KEY, key_name=KEY_NAME, message="güneş", **members):
    return {
        "namespace": "shop",
        "transportType": transport,
        "authentication": {"type": "sharedAccessKey", "sasKeyName": key_name, "sasKey": key},
        "message": message,
        **entity,
        **members,
    }


def to_queue(name, **members):
    return {"type": "ServiceBusQueue", "serviceBusQueueMessage": bus_message({"queueName": name}, **members)}


def to_topic(name, **members):
    return {"type": "ServiceBusTopic", "serviceBusTopicMessage": bus_message({"topicPath": name}, **members)}


ALL_PROPERTIES = {
    "contentType": "application/json",
    "correlationId": "correlation",
    "forcePersistence": True,
    "label": "a \"label\"; ş",
    "messageId": "message-1",
    "partitionKey": "session",
    "replyTo": "answers",
    "replyToSessionId": "answer-session",
    "scheduledEnqueueTimeUtc": "2026-03-04T05:06:07Z",
    "sessionId": "session",
    "timeToLive": "00:01:30",
    "to": "somewhere",
    "viaPartitionKey": "via",
}
