"""azure-identity with the client 7.0.0: the sign-in code of an application, unchanged."""

import os

import pytest

pytest.importorskip("azure.identity")

from azure.core.exceptions import ClientAuthenticationError, HttpResponseError
from azure.identity import ClientSecretCredential, DefaultAzureCredential
from azure.mgmt.scheduler import SchedulerManagementClient
from azure.mgmt.scheduler.models import JobCollectionDefinition, JobCollectionProperties, Sku

from conftest import CLIENT_ID, CLIENT_SECRET, URL

COLLECTION = JobCollectionDefinition(
    location="westus", properties=JobCollectionProperties(sku=Sku(name="Standard"))
)


def use(credential, subscription):
    client = SchedulerManagementClient(credential, subscription, base_url=URL)
    client.job_collections.create_or_update("Clients", "Jc", COLLECTION)
    names = [collection.name for collection in client.job_collections.list_by_subscription()]
    assert names == ["Jc"]
    return client


def test_a_client_secret_signs_in_with_the_tenant_adfs(subscription):
    credential = ClientSecretCredential("adfs", CLIENT_ID, CLIENT_SECRET, authority=URL)
    use(credential, subscription)


def test_a_client_secret_signs_in_with_any_tenant_where_the_client_asks_nobody_else(subscription):
    tenant = "00000000-0000-4000-8000-000000000000"
    credential = ClientSecretCredential(
        tenant, CLIENT_ID, CLIENT_SECRET, authority=URL, disable_instance_discovery=True
    )
    use(credential, subscription)


def test_the_default_credential_signs_in_by_the_environment_alone(subscription, monkeypatch):
    monkeypatch.setenv("AZURE_AUTHORITY_HOST", URL)
    monkeypatch.setenv("AZURE_TENANT_ID", "adfs")
    monkeypatch.setenv("AZURE_CLIENT_ID", CLIENT_ID)
    monkeypatch.setenv("AZURE_CLIENT_SECRET", CLIENT_SECRET)
    use(DefaultAzureCredential(), subscription)


def test_a_wrong_secret_is_told_as_such(subscription):
    credential = ClientSecretCredential("adfs", CLIENT_ID, CLIENT_SECRET[:-1] + "x", authority=URL)
    for _ in range(2):
        with pytest.raises(ClientAuthenticationError, match="don't belong to a token of this server"):
            use(credential, subscription)


def test_who_may_only_read_is_denied_the_rest(subscription):
    credential = ClientSecretCredential(
        "adfs", os.environ["PUNCTUAL_READER_ID"], os.environ["PUNCTUAL_READER_SECRET"], authority=URL
    )
    client = SchedulerManagementClient(credential, subscription, base_url=URL)
    assert list(client.job_collections.list_by_subscription()) == []
    with pytest.raises(HttpResponseError) as denied:
        client.job_collections.create_or_update("Clients", "Jc", COLLECTION)
    assert (denied.value.status_code, denied.value.error.code) == (403, "AuthorizationFailed")


def test_a_token_that_is_refused_is_fetched_anew_once(subscription, monkeypatch):
    """The claims challenge of the 401 makes the client fetch another token and send the request again."""
    from azure.core.credentials import AccessToken, AccessTokenInfo

    credential = ClientSecretCredential("adfs", CLIENT_ID, CLIENT_SECRET, authority=URL)
    stale = ["eyJhbGciOiJFUzI1NiJ9.e30.AAAA"]
    asked = []

    class Stale:
        def get_token_info(self, *scopes, options=None):
            asked.append((options or {}).get("claims"))
            if stale:
                return AccessTokenInfo(stale.pop(), 4102444800)
            return credential.get_token_info(*scopes, options=options)

        def get_token(self, *scopes, **options):
            asked.append(options.get("claims"))
            if stale:
                return AccessToken(stale.pop(), 4102444800)
            return credential.get_token(*scopes, **options)

    use(Stale(), subscription)
    assert not stale and len(asked) == 2
    assert '"nbf"' in asked[1], asked
