"""Peers for the tests. Azurite and RabbitMQ come from scripts/test-queues, the rest is started here."""

import os
import pathlib

import pytest

from peers import Double, Punctual


def endpoint(variable):
    value = os.environ.get(variable)
    if not value:
        pytest.skip(f"{variable} is not set: run scripts/test-queues")
    return value


@pytest.fixture(scope="session")
def azurite():
    """The queue endpoint of Azurite."""
    return endpoint("PUNCTUAL_TEST_AZURITE")


@pytest.fixture(scope="session")
def rabbitmq():
    """The AMQP endpoint of RabbitMQ."""
    return endpoint("PUNCTUAL_TEST_RABBITMQ")


@pytest.fixture(scope="session")
def rabbitmq_tls():
    """The same over TLS."""
    return endpoint("PUNCTUAL_TEST_RABBITMQ_TLS")


@pytest.fixture(scope="session")
def certificate():
    """A directory with ca.pem, and cert.pem and key.pem for localhost."""
    return pathlib.Path(endpoint("PUNCTUAL_TEST_CERTIFICATE"))


@pytest.fixture(scope="session")
def double(certificate):
    """A double of Service Bus over TLS."""
    double = Double(certificate)
    yield double
    double.stop()


@pytest.fixture(scope="session")
def punctual(tmp_path_factory, certificate, double):
    """Fires at the double and at Azurite."""
    server = Punctual(
        tmp_path_factory.mktemp("punctual"),
        service_bus_amqp_endpoint=f"amqps://localhost:{double.amqp}",
        service_bus_rest_endpoint=f"https://localhost:{double.rest}",
        storage_queue_endpoint=os.environ.get("PUNCTUAL_TEST_AZURITE", "http://127.0.0.1:1") + "/{account}",
        ca_file=certificate / "ca.pem",
    )
    yield server
    server.stop()
