"""RabbitMQ by user name and password: what is sent is read by Qpid Proton."""

import uuid

import pytest
from proton.utils import BlockingConnection

from peers import ALL_PROPERTIES, Punctual, to_queue, to_topic


@pytest.fixture(scope="module")
def punctual(tmp_path_factory, rabbitmq):
    server = Punctual(
        tmp_path_factory.mktemp("punctual"),
        service_bus_amqp_endpoint=rabbitmq,
        service_bus_sasl="plain",
        service_bus_topic_address="/exchange/{entity}",
    )
    yield server
    server.stop()


@pytest.fixture
def connection(rabbitmq):
    connection = BlockingConnection(rabbitmq, user="guest", password="guest", allowed_mechs="PLAIN", timeout=10)
    yield connection
    connection.close()


def receive(receiver):
    message = receiver.receive(timeout=10)
    receiver.accept()
    return message


def as_guest(action, entity, **members):
    return action(entity, key_name="guest", key="guest", **members)


def test_an_independent_client_sees_every_property(punctual, connection):
    queue = f"queue-{uuid.uuid4().hex[:8]}"
    properties = ALL_PROPERTIES | {"contentType": "text/x-test"}
    custom = {"City": "Diyarbakır", "a b": "c"}
    [record] = punctual.run(as_guest(to_queue, queue, brokeredMessageProperties=properties,
                                     customMessageProperties=custom))
    assert record["message"] == f"ServiceBusQueue Action - Message sent: queue '{queue}' namespace 'shop'."
    message = receive(connection.create_receiver(f"/queue/{queue}"))
    assert bytes(message.body).decode() == "güneş"
    assert message.content_type == "text/x-test"
    assert message.correlation_id == "correlation"
    assert message.subject == "a \"label\"; ş"
    assert message.id == "message-1"
    assert message.group_id == "session"
    assert message.reply_to == "answers"
    assert message.reply_to_group_id == "answer-session"
    assert message.address == "somewhere"
    assert message.durable is True
    assert message.ttl == 90
    assert message.properties == custom
    annotations = {str(name): value for name, value in message.annotations.items()}
    assert annotations["x-opt-partition-key"] == "session"
    assert annotations["x-opt-via-partition-key"] == "via"
    assert annotations["x-opt-scheduled-enqueue-time"] == 1772600767000


def test_a_topic_is_an_exchange(punctual, connection):
    receiver = connection.create_receiver("/exchange/amq.fanout/")
    [record] = punctual.run(as_guest(to_topic, "amq.fanout"))
    assert record["message"] == "ServiceBusTopic Action - Message sent: topic 'amq.fanout' namespace 'shop'."
    assert bytes(receive(receiver).body).decode() == "güneş"


def test_a_wrong_password_is_told(punctual):
    [record] = punctual.run(to_queue("queue", key_name="guest", key="wrong password"))
    assert record["status"] == "failed"
    assert record["message"].endswith("UnauthorizedAccess The broker did not accept the shared access key")


def test_over_tls_with_the_authority_of_the_settings(tmp_path, rabbitmq_tls, connection, certificate):
    server = Punctual(tmp_path, service_bus_amqp_endpoint=rabbitmq_tls, service_bus_sasl="plain",
                      ca_file=certificate / "ca.pem")
    try:
        queue = f"queue-{uuid.uuid4().hex[:8]}"
        [record] = server.run(as_guest(to_queue, queue, message="over TLS"))
        assert record["message"] == f"ServiceBusQueue Action - Message sent: queue '{queue}' namespace 'shop'."
        assert bytes(receive(connection.create_receiver(f"/queue/{queue}")).body).decode() == "over TLS"
    finally:
        server.stop()


def test_a_broker_that_is_not_trusted_gets_nothing(tmp_path, rabbitmq_tls):
    server = Punctual(tmp_path, service_bus_amqp_endpoint=rabbitmq_tls, service_bus_sasl="plain")
    try:
        [record] = server.run(as_guest(to_queue, "queue"))
        assert record["status"] == "failed" and " TrustFailure " in record["message"]
    finally:
        server.stop()
