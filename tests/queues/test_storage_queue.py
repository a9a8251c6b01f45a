"""Storage queues of Azurite: the signature is made, and messages are read, by the official client."""

import base64
import datetime
import re
import uuid

import pytest
from azure.storage.queue import QueueServiceClient, generate_account_sas
from azure.storage.queue import AccountSasPermissions, ResourceTypes

from peers import ACCOUNT, ACCOUNT_KEY

# CONTRACT 11, byte for byte but for the values.
ENVELOPE = re.compile(
    '<\\?xml version="1\\.0" encoding="utf-16"\\?>\r\n'
    '<StorageQueueMessage xmlns:xsd="http://www\\.w3\\.org/2001/XMLSchema" '
    'xmlns:xsi="http://www\\.w3\\.org/2001/XMLSchema-instance">\r\n'
    "  <ExecutionTag>[0-9a-f]{32}</ExecutionTag>\r\n"
    "  <ClientRequestId>[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}</ClientRequestId>\r\n"
    "  <ExpectedExecutionTime>\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d</ExpectedExecutionTime>\r\n"
    "  <SchedulerJobId>(?P<job>[^<]+)</SchedulerJobId>\r\n"
    "  <SchedulerJobCollectionId>jobs</SchedulerJobCollectionId>\r\n"
    "  <Region>West US</Region>\r\n"
    "  <Message>(?P<message>[^<]*)</Message>\r\n"
    "</StorageQueueMessage>"
)


def sas(**options):
    expiry = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
    permissions = AccountSasPermissions(add=True, read=True, process=True, write=True)
    return generate_account_sas(ACCOUNT, ACCOUNT_KEY, ResourceTypes(object=True, container=True), permissions,
                                expiry, **options)


def to_storage(queue, token, message="<güneş> & moon"):
    return {"type": "StorageQueue", "queueMessage": {
        "storageAccount": ACCOUNT, "queueName": queue, "sasToken": token, "message": message}}


@pytest.fixture
def queue(azurite):
    service = QueueServiceClient(f"{azurite}/{ACCOUNT}", credential={
        "account_name": ACCOUNT, "account_key": ACCOUNT_KEY})
    queue = service.create_queue(f"queue-{uuid.uuid4().hex[:8]}")
    yield queue
    queue.delete_queue()


def test_the_message_is_the_known_envelope(punctual, queue):
    job = punctual.job(to_storage(queue.queue_name, sas()))
    [record] = punctual.records(job, 1)
    assert record["message"] == (
        f"StorageQueue Action - The message to storage account '{ACCOUNT}' queue '{queue.queue_name}' succeeded.")
    [message] = queue.receive_messages()
    envelope = ENVELOPE.fullmatch(base64.b64decode(message.content, validate=True).decode("utf-8"))
    assert envelope and envelope["job"] == job
    assert envelope["message"] == "&lt;güneş&gt; &amp; moon"


def test_what_is_refused_is_told_and_tried_again(punctual, queue):
    records = punctual.run(to_storage(queue.queue_name, sas()[:-9] + "AAAAAAAA%3D"), records=2, retries=1)
    assert all("did not accept the SAS token" in record["message"] for record in records)
    [record] = punctual.run(to_storage("no-such-queue", sas()))
    assert record["message"] == "StorageQueue Action - The queue 'no-such-queue' does not exist."
    assert queue.get_queue_properties().approximate_message_count == 0
