"""What the tests of both Python clients share.

Which client is under test is decided by the virtual environment and by the module `connection` that is on
the path: `../python7` or `../python2`. Each test has a subscription of its own, so that they can't meet.
"""

import os
import uuid

import connection
import pytest
from azure.mgmt.scheduler import models

GROUP = "Clients"


class Scheduler:
    """A client with a subscription of its own, and everything that the server ever answered to it."""

    def __init__(self):
        self.answers = []
        self.subscription = str(uuid.uuid4())
        self.client = connection.connect(
            os.environ["PUNCTUAL_URL"],
            self.subscription,
            os.environ.get("PUNCTUAL_CERTIFICATE", True),
            self.answers.append,
        )

    def put_collection(self, name="Jc", sku="Standard", state=None, quota=None, **others):
        properties = models.JobCollectionProperties(sku=models.Sku(name=sku), state=state, quota=quota)
        others.setdefault("location", "westus")
        definition = models.JobCollectionDefinition(name=name, properties=properties, **others)
        return self.client.job_collections.create_or_update(GROUP, name, definition)

    def get_collection(self, name="Jc"):
        return self.client.job_collections.get(GROUP, name)

    def put(self, name, action=None, collection="Jc", **properties):
        properties = models.JobProperties(action=action or get_request(), **properties)
        return connection.put_job(self.client, GROUP, collection, name, properties)

    def put_back(self, job):
        """Writes a job as it was read."""
        collection, name = job.name.split("/")
        return connection.put_job(self.client, GROUP, collection, name, job.properties)

    def patch(self, name, collection="Jc", **properties):
        return connection.patch_job(
            self.client, GROUP, collection, name, models.JobProperties(**properties)
        )

    def get(self, name, collection="Jc"):
        return self.client.jobs.get(GROUP, collection, name)

    def list(self, collection="Jc", **query):
        return list(self.client.jobs.list(GROUP, collection, **query))

    def names(self, **query):
        return [job.name.split("/")[1] for job in self.list(**query)]


def get_request(**request):
    """An action that gets a page."""
    request.setdefault("uri", "https://example.com/hook")
    request.setdefault("method", "GET")
    return models.JobAction(type="Http", request=models.HttpRequest(**request))


def lower(value):
    """An enum of the one client and a string of the other, in one letter case."""
    return getattr(value, "value", value).lower()


@pytest.fixture
def scheduler():
    return Scheduler()


@pytest.fixture
def jobs():
    """A scheduler with an empty collection `Jc`."""
    scheduler = Scheduler()
    scheduler.put_collection()
    return scheduler
