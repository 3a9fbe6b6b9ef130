"""Fills a sandbox of the template SANDLOT_TEMPLATE, and checks it each time a line comes in.

Prints a line of JSON once the sandbox is filled, one with its state when a line comes in, and one with what is wrong.
"""

import json
import os
import sys
import traceback

from contents import check, fill
from e2b_code_interpreter import Sandbox


def tell(**what):
    print(json.dumps(what), flush=True)


def problem(sandbox, before):
    try:
        check(sandbox, before)
    except Exception:
        return traceback.format_exc()


sandbox = Sandbox.create(os.environ["SANDLOT_TEMPLATE"], timeout=600)
try:
    before = fill(sandbox)
    tell(id=sandbox.sandbox_id)
    for _ in sys.stdin:
        tell(state=sandbox.get_info().state.value)
        tell(error=problem(sandbox, before))
finally:
    sandbox.kill()
