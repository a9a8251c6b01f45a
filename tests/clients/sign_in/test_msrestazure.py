"""msrestazure with the client 2.0.0: the sign-in code of an application, told where the cloud is."""

import pytest

pytest.importorskip("msrestazure.azure_active_directory")

from azure.mgmt.scheduler import SchedulerManagementClient
from azure.mgmt.scheduler.models import JobCollectionDefinition, JobCollectionProperties, Sku
from msrest.exceptions import AuthenticationError
from msrestazure.azure_active_directory import ServicePrincipalCredentials
from msrestazure.azure_cloud import get_cloud_from_metadata_endpoint

from conftest import CLIENT_ID, CLIENT_SECRET, URL


def sign_in(secret):
    cloud = get_cloud_from_metadata_endpoint(URL)
    return ServicePrincipalCredentials(
        client_id=CLIENT_ID, secret=secret, tenant="punctual", cloud_environment=cloud
    )


def test_a_service_principal_signs_in(subscription):
    client = SchedulerManagementClient(sign_in(CLIENT_SECRET), subscription, base_url=URL)
    definition = JobCollectionDefinition(
        location="westus", properties=JobCollectionProperties(sku=Sku(name="Standard"))
    )
    client.job_collections.create_or_update("Clients", "Jc", definition)
    assert [collection.name for collection in client.job_collections.list_by_subscription()] == ["Jc"]


def test_a_wrong_secret_is_told_as_such():
    with pytest.raises(AuthenticationError, match="don't belong to a token of this server"):
        sign_in("wrong")
