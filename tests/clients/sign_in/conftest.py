"""Signs in as a service principal: the id of a token is the client id, the token itself the client secret.

The server is reached over https, and its certificate is trusted by REQUESTS_CA_BUNDLE.
"""

import os
import uuid

import pytest

URL = os.environ["PUNCTUAL_URL"]
CLIENT_ID = os.environ["PUNCTUAL_CLIENT_ID"]
CLIENT_SECRET = os.environ["PUNCTUAL_CLIENT_SECRET"]


@pytest.fixture
def subscription():
    """A subscription of its own for each test."""
    return str(uuid.uuid4())
