"""The client 7.0.0 as an application uses it."""

from azure.core.credentials import AccessToken
from azure.core.exceptions import HttpResponseError, ResourceExistsError, ResourceNotFoundError
from azure.mgmt.scheduler import SchedulerManagementClient
from azure.mgmt.scheduler.models import JobDefinition

NotFound = ResourceNotFoundError
Conflict = ResourceExistsError
BadRequest = HttpResponseError

# It sends tokens over https only.
SCHEME = "https"


class Credential:
    """The server under test takes any token."""

    def get_token(self, *scopes, **options):
        return AccessToken("any", 4102444800)


def connect(url, subscription, certificate, seen):
    """A client of Punctual; `seen` is called with the text of every answer."""
    return SchedulerManagementClient(
        Credential(),
        subscription,
        base_url=url,
        connection_verify=certificate,
        raw_response_hook=lambda answer: seen(answer.http_response.text()),
    )


def put_job(client, group, collection, job, properties):
    return client.jobs.create_or_update(group, collection, job, JobDefinition(properties=properties))


def patch_job(client, group, collection, job, properties):
    return client.jobs.patch(group, collection, job, JobDefinition(properties=properties))


def delete_collection(client, group, collection):
    return client.job_collections.begin_delete(group, collection)


def enable(client, group, collection):
    return client.job_collections.begin_enable(group, collection)


def disable(client, group, collection):
    return client.job_collections.begin_disable(group, collection)


def code_and_message(error):
    return error.error.code, error.error.message
