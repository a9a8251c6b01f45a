"""examples/observability with a real Prometheus and a real server.

Prometheus reads the figures of a server that fires at a receiver; the rules, the dashboard and the figures are asked for through its API. Prints
the Test Anything Protocol. Needs the binary of the server as its argument, and promtool and prometheus on the path.
"""

import datetime
import http.server
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

EXAMPLES = pathlib.Path(__file__).parent.parent.parent / "examples" / "observability"
# How long something may take that should come soon; machines are busy.
SOON = 90
JOBS = 100
COLLECTION = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/c"


class Receiver(http.server.BaseHTTPRequestHandler):
    """Notes how late each request arrives."""

    lateness: list[float] = []
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        arrived = time.time()
        expected = self.headers["x-ms-scheduler-expected-execution-time"]
        due = datetime.datetime.fromisoformat(expected[:19] + "+00:00").timestamp()
        self.lateness.append(arrived - due)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


class Listener(http.server.ThreadingHTTPServer):
    """Takes a herd of connections at once: what the kernel turns away comes again after a second."""

    daemon_threads = True
    request_queue_size = 1024


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def fetch(url, method="GET", body=None, headers=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, method=method, data=data, headers=headers or {})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return answer.read().decode(), answer.headers


def wait_for(what, ask):
    """Asks until there is an answer: nobody signals what another process does."""
    until = time.monotonic() + SOON
    while time.monotonic() < until:
        try:
            if answer := ask():
                return answer
        except OSError:
            pass
        threading.Event().wait(0.2)
    raise AssertionError(f"waited in vain until {what}")


def run(*command, text=None):
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}:\n{done.stdout}{done.stderr}"


class World:
    """A server that fires at a receiver, and a Prometheus that reads its figures every second."""

    def __init__(self, binary, folder):
        self.api, self.monitoring, self.prometheus = (f"127.0.0.1:{free_port()}" for _ in range(3))
        self.receiver = Listener(("127.0.0.1", 0), Receiver)
        threading.Thread(target=self.receiver.serve_forever, daemon=True).start()
        environment = {**os.environ, "PUNCTUAL_SERVER__MONITORING_LISTEN": self.monitoring, "PUNCTUAL_SERVER__ECHO_LISTEN": ""}
        self.processes = []
        self.server = self.start(folder, environment, binary, "serve", "--listen", self.api, "--data", str(folder / "data"))
        config = (EXAMPLES / "prometheus.yml").read_text()
        config = config.replace("127.0.0.1:8382", self.monitoring).replace("15s", "1s").replace("rules.yml", str(EXAMPLES / "rules.yml"))
        (folder / "prometheus.yml").write_text(config)
        self.start(folder, os.environ, "prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/tsdb",
                   f"--web.listen-address={self.prometheus}")
        wait_for("the server is ready", lambda: fetch(f"http://{self.monitoring}/readyz"))

    def start(self, folder, environment, *command):
        with open(folder / f"{pathlib.Path(command[0]).name}.log", "wb") as log:
            process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        self.processes.append(process)
        return process

    def stop(self):
        for process in self.processes:
            process.send_signal(signal.SIGCONT)
            process.terminate()
        for process in self.processes:
            process.wait(30)

    def query(self, expression):
        url = f"http://{self.prometheus}/api/v1/query?{urllib.parse.urlencode({'query': expression})}"
        answer = json.loads(fetch(url)[0])
        assert answer["status"] == "success", answer
        return answer["data"]["result"]

    def value(self, expression):
        result = self.query(expression)
        return float(result[0]["value"][1]) if result else None

    def fire(self):
        put = lambda path, body: fetch(f"http://{self.api}{path}?api-version=2016-03-01", "PUT", body, {"Content-Type": "application/json"})
        put(COLLECTION, {"location": "West US", "properties": {"sku": {"name": "P20Premium"}}})
        port = self.receiver.server_address[1]
        due = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0) + datetime.timedelta(seconds=10)
        for number in range(JOBS):
            # The target is told when it should have been called, in whole seconds.
            at = due + datetime.timedelta(seconds=number // 5)
            action = {"type": "Http", "request": {"method": "GET", "uri": f"http://127.0.0.1:{port}/{number}"}}
            job = {"properties": {"startTime": at.strftime("%Y-%m-%dT%H:%M:%SZ"), "action": action}}
            put(f"{COLLECTION}/jobs/j{number}", job)


def rules_are_valid(_):
    run("promtool", "check", "rules", str(EXAMPLES / "rules.yml"))
    run("promtool", "check", "config", str(EXAMPLES / "prometheus.yml"))


def every_alert_fires_in_its_outage_and_none_without_one(_):
    run("promtool", "test", "rules", str(EXAMPLES / "rules.test.yml"))


def figures_follow_the_conventions_of_prometheus(world):
    text, headers = fetch(f"http://{world.monitoring}/metrics")
    assert headers["Content-Type"].startswith("text/plain"), headers
    run("promtool", "check", "metrics", text=text)


def prometheus_counts_what_the_receiver_got(world):
    world.fire()
    succeeded = 'sum(punctual_attempts_total{outcome="succeeded"})'
    wait_for("all attempts are read", lambda: world.value(succeeded) == JOBS)
    assert len(Receiver.lateness) == JOBS, len(Receiver.lateness)
    assert world.value("sum(punctual_attempts_total)") == JOBS
    assert world.value("sum(punctual_firing_lateness_seconds_count)") == JOBS
    assert world.value("punctual_jobs") == JOBS
    assert world.value('up{job="punctual"}') == 1


def lateness_is_no_more_than_the_receiver_sees(world):
    """What is between is the way to the receiver, so that this holds however slow the machine is."""
    bounds = sorted((float(one["metric"]["le"]), float(one["value"][1]))
                    for one in world.query("sum by (le) (punctual_firing_lateness_seconds_bucket)"))
    seen = sorted(Receiver.lateness)
    for share in (0.5, 0.9, 0.99):
        rank = max(1, round(share * JOBS))
        index = next(index for index, (_, count) in enumerate(bounds) if count >= rank)
        low, high = bounds[index - 1][0] if index else 0.0, bounds[index][0]
        at_receiver = seen[rank - 1]
        print(f"# p{share * 100:g}: {low} to {high} s by the metric, {at_receiver:.4f} s at the receiver")
        assert low <= at_receiver, (share, low, at_receiver)


def every_expression_of_the_dashboard_is_answered(world):
    dashboard = json.loads((EXAMPLES / "dashboard.json").read_text())
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", [])]
    expressions += [one["expr"] for one in dashboard["annotations"]["list"]]
    assert len(expressions) > 50, len(expressions)
    empty = []
    for expression in expressions:
        asked = expression.replace("$__rate_interval", "1m").replace("$job", "punctual").replace("$instance", ".*")
        if not world.query(asked):
            empty.append(expression)
    # There is no TLS, and nothing has failed.
    unexpected = [one for one in empty if " > 0" not in one and "tls" not in one]
    assert not unexpected, unexpected


def a_server_that_stands_still_is_noticed(world):
    world.server.send_signal(signal.SIGSTOP)
    alerts = lambda: json.loads(fetch(f"http://{world.prometheus}/api/v1/alerts")[0])["data"]["alerts"]
    wait_for("the alert is pending", lambda: "PunctualDown" in [alert["labels"]["alertname"] for alert in alerts()])
    world.server.send_signal(signal.SIGCONT)
    wait_for("it is over", lambda: world.value('up{job="punctual"}') == 1)


TESTS = [
    rules_are_valid,
    every_alert_fires_in_its_outage_and_none_without_one,
    figures_follow_the_conventions_of_prometheus,
    prometheus_counts_what_the_receiver_got,
    lateness_is_no_more_than_the_receiver_sees,
    every_expression_of_the_dashboard_is_answered,
    a_server_that_stands_still_is_noticed,
]


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        world = World(sys.argv[1], pathlib.Path(folder))
        try:
            for number, test in enumerate(TESTS, 1):
                try:
                    test(world)
                    print(f"ok {number} - {test.__name__}")
                except (AssertionError, OSError, StopIteration) as error:
                    failed += 1
                    print(f"not ok {number} - {test.__name__}")
                    print("\n".join(f"# {line}" for line in str(error).splitlines()))
        finally:
            world.stop()
    print(f"# pass {len(TESTS) - failed}\n# fail {failed}")
    sys.exit(1 if failed else 0)


main()
