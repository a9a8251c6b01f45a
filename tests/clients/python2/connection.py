"""The client 2.0.0 as an application uses it."""

from azure.mgmt.scheduler import SchedulerManagementClient
from msrest.authentication import BasicTokenAuthentication
from msrestazure.azure_exceptions import CloudError

NotFound = CloudError
Conflict = CloudError
BadRequest = CloudError

# It works over plain http, which is all that a server on the same machine needs.
SCHEME = "http"


def connect(url, subscription, certificate, seen):
    """A client of Punctual; `seen` is called with the text of every answer."""
    credentials = BasicTokenAuthentication({"access_token": "any"})
    client = SchedulerManagementClient(credentials, subscription, base_url=url)
    client.config.connection.verify = certificate
    client.config.hooks.append(lambda answer, *_, **__: seen(answer.text))
    return client


def put_job(client, group, collection, job, properties):
    return client.jobs.create_or_update(group, collection, job, properties=properties)


def patch_job(client, group, collection, job, properties):
    return client.jobs.patch(group, collection, job, properties=properties)


def delete_collection(client, group, collection):
    return client.job_collections.delete(group, collection)


def enable(client, group, collection):
    return client.job_collections.enable(group, collection)


def disable(client, group, collection):
    return client.job_collections.disable(group, collection)


def code_and_message(error):
    return error.error.error, error.error.message
