"""What the tests talk to: a Punctual of their own, and a double of Service Bus."""

import json
import os
import pathlib
import re
import socket
import subprocess
import time
import urllib.parse
import uuid

import requests
from azure.storage.queue import QueueServiceClient

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


class Azurite(Process):
    """A queue service that is there from now on."""

    def __init__(self, port):
        script = pathlib.Path(os.environ["NODE_PATH"]) / "azurite" / "dist" / "src" / "queue" / "main.js"
        super().__init__(
            ["node", str(script), "--queueHost", "127.0.0.1", "--queuePort", str(port), "--inMemoryPersistence",
             "--disableTelemetry", "--skipApiVersionCheck", "--silent"],
        )
        self.endpoint = f"http://127.0.0.1:{port}"
        until(self.ready, 60, "Azurite is ready")

    def ready(self):
        try:
            return requests.get(self.endpoint, timeout=1).status_code
        except requests.ConnectionError:
            return False

    def service(self):
        credential = {"account_name": ACCOUNT, "account_key": ACCOUNT_KEY}
        return QueueServiceClient(f"{self.endpoint}/{ACCOUNT}", credential=credential)


class Punctual(Process):
    """A server in a directory of its own. Its clock is fast, so that retries are; time-outs are real.

    It logs all that it can, and when it stops, no secret of any job may be in that."""

    def __init__(self, directory, **actions):
        port = free_port()
        self.secrets = {"SharedAccessSignature", "sig="}
        self.log = directory / "log"
        self.base = f"http://127.0.0.1:{port}"
        environment = os.environ | {
            f"PUNCTUAL_ACTIONS__{name.upper()}": str(value) for name, value in actions.items()
        } | {"PUNCTUAL_LOG__LEVEL": "trace,h2=trace,hyper=trace,hyper_util=trace,rustls=trace,fe2o3_amqp=trace",
             "RUST_LOG": "trace"}
        binary = os.environ.get("PUNCTUAL_BIN", str(ROOT / "target" / "debug" / "punctual"))
        log = open(self.log, "w")
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

    def stop(self):
        super().stop()
        log = self.log.read_text()
        assert log
        for secret in self.secrets:
            assert secret not in log, f"the log has {secret!r}"
            assert urllib.parse.quote(secret, safe="") not in log, f"the log has {secret!r}"

    def keep_secret(self, action):
        for value in action.values():
            if isinstance(value, dict):
                self.secrets |= {value[name] for name in ("sasKey", "sasToken", "message") if value.get(name)}
                self.secrets |= set(re.findall("sig=([^&]+)", value.get("sasToken", "")))
                self.keep_secret(value)

    def job(self, action, retries=0, interval="00:00:15", error_action=None):
        """Creates a job that runs once, at once. A minute between retries is 0.6 s."""
        self.keep_secret({"action": action, "error action": error_action})
        action = dict(action)
        fixed = {"retryType": "fixed", "retryInterval": interval, "retryCount": retries}
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
