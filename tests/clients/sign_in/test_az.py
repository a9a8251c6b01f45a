"""The Azure CLI, unmodified: it registers the server as a cloud, signs in and works."""

import json
import os
import subprocess

import pytest

from conftest import CLIENT_ID, CLIENT_SECRET, URL

SUBSCRIPTION = "00000000-0000-4000-8000-000000000001"
C = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/Az/providers/Microsoft.Scheduler/jobCollections"
TYPE = "Microsoft.Scheduler/jobCollections"


@pytest.fixture(scope="module")
def az(tmp_path_factory):
    home = tmp_path_factory.mktemp("az")
    environment = {**os.environ, "AZURE_CONFIG_DIR": str(home), "AZURE_CORE_COLLECT_TELEMETRY": "no"}

    def run(*arguments, fails=False):
        command = [os.environ["PUNCTUAL_AZ"], *arguments, "--only-show-errors", "--output", "json"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
        assert (done.returncode != 0) == fails, f"{arguments}: {done.stdout}{done.stderr}"
        return done.stderr if fails else json.loads(done.stdout) if done.stdout.strip() else None

    run("cloud", "register", "--name", "punctual", "--endpoint-resource-manager", URL)
    run("cloud", "set", "--name", "punctual")
    login = ["login", "--service-principal", "--username", CLIENT_ID, "--tenant", "punctual"]
    assert "don't belong to a token" in run(*login, "--password", "wrong", fails=True)
    signed_in = run(*login, "--password", CLIENT_SECRET)
    assert SUBSCRIPTION in [account["id"] for account in signed_in]
    run("account", "set", "--subscription", SUBSCRIPTION)
    return run


def test_rest_calls_with_the_token(az):
    body = json.dumps({"location": "westus", "properties": {"sku": {"name": "Standard"}}})
    made = az("rest", "--method", "put", "--url", f"{C}/Rest?api-version=2016-03-01", "--body", body)
    assert made["name"] == "Rest"
    listed = az("rest", "--method", "get", "--url", f"{C}?api-version=2016-03-01")
    assert "Rest" in [one["name"] for one in listed["value"]]


def test_groups_are_made_listed_and_deleted(az):
    assert az("group", "create", "--name", "Made", "--location", "westus")["name"] == "Made"
    assert az("group", "exists", "--name", "made") is True
    assert "Made" in [group["name"] for group in az("group", "list")]
    assert az("group", "show", "--name", "Made")["properties"]["provisioningState"] == "Succeeded"
    az("group", "delete", "--name", "Made", "--yes")
    assert az("group", "exists", "--name", "Made") is False


def test_resources_are_made_listed_shown_and_deleted(az):
    az("group", "create", "--name", "Res", "--location", "westus")
    one = ["--resource-group", "Res", "--name", "Jc", "--resource-type", TYPE]
    properties = json.dumps({"sku": {"name": "Standard"}})
    az("resource", "create", *one, "--location", "westus", "--properties", properties)
    assert az("resource", "show", *one)["properties"]["state"] == "Enabled"
    listed = az("resource", "list", "--resource-group", "Res")
    assert [(found["name"], found["type"]) for found in listed] == [("Jc", TYPE)]
    assert [found["name"] for found in az("resource", "list", "--resource-type", TYPE, "--name", "Jc")] == ["Jc"]
    job = ["--resource-group", "Res", "--namespace", "Microsoft.Scheduler", "--parent", "jobCollections/Jc"]
    job += ["--resource-type", "jobs", "--name", "J"]
    action = {"type": "Http", "request": {"method": "GET", "uri": "https://example.com/"}}
    az("resource", "create", *job, "--properties", json.dumps({"action": action}))
    assert az("resource", "show", *job)["name"] == "Jc/J"
    az("resource", "delete", *one)
    assert az("resource", "list", "--resource-group", "Res") == []


def test_the_provider_is_shown_and_registered(az):
    assert az("provider", "show", "--namespace", "Microsoft.Scheduler")["registrationState"] == "Registered"
    az("provider", "register", "--namespace", "Microsoft.Scheduler")
    assert [one["namespace"] for one in az("provider", "list")] == ["Microsoft.Scheduler"]
    assert "westus" in [one["name"] for one in az("account", "list-locations")]
