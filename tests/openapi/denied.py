"""A check of schemathesis for callers without rights: they are told that, and nothing else.

PUNCTUAL_DENIED is the status that they must get. Operations that nobody needs a token for are left out. Before anybody is asked
who they are, 400, 414, 421 and 431 refuse what the head of a request says.
"""

import os

import schemathesis

EXPECTED = int(os.environ["PUNCTUAL_DENIED"])
REFUSED_BEFORE = (400, 414, 421, 431)


@schemathesis.check
def denied(ctx, response, case):
    if case.operation.definition.raw.get("security") == []:
        return
    status = response.status_code
    assert status == EXPECTED or status in REFUSED_BEFORE, f"{case.method} {case.formatted_path} is answered by {status}"
