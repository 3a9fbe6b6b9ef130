"""Gives schemathesis what it cannot guess: names of existing templates and ids of created sandboxes."""

import os
import random
import time
from collections import deque

import schemathesis
from schemathesis import GenerationMode

CHANCE = random.Random(os.environ.get("SANDLOT_FUZZ_SEED", "1"))
TEMPLATES = ("base", "base", "base", "base", "unpooled", "refusing", "team-a/base", "standard:latest")
KNOWN = deque(maxlen=50)
CREATED = set()
# Until when each sandbox must exist, unless a request ends it.
LIVES_UNTIL = {}
SHORTEST_DEFAULT_SECONDS = 15
# Fields that this installation refuses. A create with one of them never reaches a claim.
REFUSED = ("network", "allow_internet_access", "iam", "volumeMounts", "autoPauseMemory", "autoResume")


def is_valid(case):
    return case.meta is None or all(
        component.mode == GenerationMode.POSITIVE for component in case.meta.components.values()
    )


@schemathesis.hook
def before_call(context, case, **kwargs):
    """Points three of four valid requests at existing objects."""
    if not is_valid(case) or CHANCE.random() < 0.25:
        return
    if isinstance(case.body, dict) and "templateID" in case.body:
        case.body = serveable(case.body)
        if case.headers is not None and CHANCE.random() < 0.9:
            case.headers.pop("Idempotency-Key", None)
    # In a stateful sequence the ids come from earlier answers.
    is_sequence = case.meta is not None and case.meta.phase.name.value == "stateful"
    if not is_sequence and KNOWN and "sandboxID" in (case.path_parameters or {}):
        case.path_parameters["sandboxID"] = CHANCE.choice(KNOWN)
    if isinstance(case.body, dict) and "pool" in case.body:
        case.body = {name: value for name, value in case.body.items() if name != "template"} | {"pool": "base"}


def serveable(body):
    kept = {name: value for name, value in body.items() if name not in REFUSED}
    kept["templateID"] = CHANCE.choice(TEMPLATES)
    if isinstance(kept.get("timeout"), int):
        kept["timeout"] = kept["timeout"] % 3600 + 1
    return kept


@schemathesis.hook
def after_call(context, case, response):
    if case.path.endswith("/sandboxes/kill"):
        LIVES_UNTIL.clear()
    if ends(case):
        for value in case.path_parameters.values():
            LIVES_UNTIL.pop(value, None)
    if response.status_code != 201:
        return
    created = response.json()
    if isinstance(created, dict) and "sandboxID" in created:
        KNOWN.append(created["sandboxID"])
        # A repeated create answers the same id, even if its sandbox has ended since.
        if not case.path_parameters and created["sandboxID"] not in CREATED:
            CREATED.add(created["sandboxID"])
            asked_at = time.monotonic() - response.elapsed
            LIVES_UNTIL[created["sandboxID"]] = asked_at + seconds_of(case.body)


def ends(case):
    """Whether a request kills the sandbox or changes its end: a timeout of 0 ends it, and a resume sets a new end."""
    return bool(case.path_parameters) and (case.method.upper() == "DELETE" or case.path.endswith(("/timeout", "/pause")))


def seconds_of(body):
    given = body.get("timeout") if isinstance(body, dict) else None
    return given if isinstance(given, int) else SHORTEST_DEFAULT_SECONDS


@schemathesis.check
def what_was_created_is_there(ctx, response, case):
    """A created sandbox is found under every path until it ends."""
    sandbox = (case.path_parameters or {}).get("sandboxID")
    if response.status_code != 404:
        return
    until = LIVES_UNTIL.get(sandbox, 0)
    assert time.monotonic() >= until, f"{case.formatted_path}: 404 for a sandbox that no request ended"
