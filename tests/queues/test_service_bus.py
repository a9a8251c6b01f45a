"""Service Bus over TLS: what is sent is read by the official client."""

import datetime

import pytest
from azure.servicebus import ServiceBusClient, TransportType

from peers import ALL_PROPERTIES, KEY, KEY_NAME, to_queue, to_topic


@pytest.fixture
def client(double, certificate):
    text = f"Endpoint=sb://localhost/;SharedAccessKeyName={KEY_NAME};SharedAccessKey={KEY}"
    with ServiceBusClient.from_connection_string(
        text,
        custom_endpoint_address=f"sb://localhost:{double.amqp}",
        connection_verify=str(certificate / "ca.pem"),
        transport_type=TransportType.Amqp,
        retry_total=0,
    ) as client:
        yield client


def receive(receiver):
    with receiver:
        messages = receiver.receive_messages(max_message_count=10, max_wait_time=5)
        for message in messages:
            receiver.complete_message(message)
    return messages


def text(message):
    return b"".join(message.body).decode()


def test_a_message_without_properties_has_the_execution_tag_as_its_id(punctual, client):
    [record] = punctual.run(to_queue("orders"))
    assert record["status"] == "completed"
    assert record["message"] == "ServiceBusQueue Action - Message sent: queue 'orders' namespace 'shop'."
    [message] = receive(client.get_queue_receiver("orders"))
    assert text(message) == "güneş"
    assert len(message.message_id) == 32 and int(message.message_id, 16)


@pytest.mark.parametrize("transport", ["AMQP", "NetMessaging", "NotSpecified"])
def test_the_official_client_sees_every_property(punctual, client, transport):
    custom = {"City": "Diyarbakır", "priorityLevel": "high", "plain": "x"}
    action = to_queue("over-rest", transport=transport, brokeredMessageProperties=ALL_PROPERTIES,
                      customMessageProperties=custom)
    [record] = punctual.run(action)
    assert record["status"] == "completed", record
    [message] = receive(client.get_queue_receiver("over-rest"))
    assert text(message) == "güneş"
    assert message.content_type == "application/json"
    assert message.correlation_id == "correlation"
    assert message.subject == "a \"label\"; ş"
    assert message.message_id == "message-1"
    assert message.partition_key == "session"
    assert message.session_id == "session"
    assert message.reply_to == "answers"
    assert message.reply_to_session_id == "answer-session"
    assert message.to == "somewhere"
    assert message.time_to_live == datetime.timedelta(seconds=90)
    assert message.scheduled_enqueue_time_utc == datetime.datetime(
        2026, 3, 4, 5, 6, 7, tzinfo=datetime.timezone.utc)
    properties = {name.decode(): value.decode() for name, value in message.application_properties.items()}
    assert properties == custom
    raw = message.raw_amqp_message
    assert raw.annotations[b"x-opt-via-partition-key"] in (b"via", "via")
    assert raw.header.durable is True


@pytest.mark.parametrize("transport", ["AMQP", "NetMessaging"])
def test_a_topic_reaches_all_its_subscriptions(punctual, client, transport):
    [record] = punctual.run(to_topic("news", transport=transport))
    assert record["message"] == "ServiceBusTopic Action - Message sent: topic 'news' namespace 'shop'."
    for subscription in ("all", "some"):
        [message] = receive(client.get_subscription_receiver("news", subscription))
        assert text(message) == "güneş"


@pytest.mark.parametrize("transport", ["AMQP", "NetMessaging"])
@pytest.mark.parametrize("action, reason", [
    (lambda transport: to_queue("orders", transport=transport, key="wrong key"), " UnauthorizedAccess "),
    (lambda transport: to_queue("nowhere", transport=transport), " MessagingEntityNotFound "),
])
def test_what_is_refused_is_told_and_tried_again(punctual, transport, action, reason):
    records = punctual.run(action(transport), records=3, retries=2)
    assert [record["retryCount"] for record in records] == [0, 1, 2]
    for record in records:
        assert record["status"] == "failed"
        assert reason in record["message"]
        assert "wrong key" not in record["message"]
