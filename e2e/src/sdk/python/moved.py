"""Fills a sandbox of the template SANDLOT_TEMPLATE, and takes one command in a line of its input.

Prints a line of JSON once the sandbox is filled, one with the state of the sandbox after each command, and after the commands
`check` and `connect` one more with what is wrong with its contents.
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
    for line in sys.stdin:
        command = line.strip()
        if command == "pause":
            sandbox.pause()
        if command == "connect":
            sandbox.connect(timeout=600)
        tell(state=sandbox.get_info().state.value)
        if command != "pause":
            tell(error=problem(sandbox, before))
finally:
    sandbox.kill()
