"""What schemathesis cannot guess: names of templates that there are, and ids of sandboxes that were created."""

import os
import random
from collections import deque

import schemathesis
from schemathesis import GenerationMode

CHANCE = random.Random(os.environ.get("SANDLOT_FUZZ_SEED", "1"))
TEMPLATES = ("base", "base", "base", "base", "unpooled", "refusing", "team-a/base", "standard:latest")
KNOWN = deque(maxlen=50)
# Fields that no installation serves: with one of them left in, no create gets as far as a claim.
REFUSED = ("network", "allow_internet_access", "iam", "volumeMounts", "autoPauseMemory", "autoResume")


def is_valid(case):
    return case.meta is None or all(
        component.mode == GenerationMode.POSITIVE for component in case.meta.components.values()
    )


@schemathesis.hook
def before_call(context, case, **kwargs):
    """Three of four valid requests are made to be about something that there is."""
    if not is_valid(case) or CHANCE.random() < 0.25:
        return
    if isinstance(case.body, dict) and "templateID" in case.body:
        case.body = serveable(case.body)
        if case.headers is not None and CHANCE.random() < 0.9:
            case.headers.pop("Idempotency-Key", None)
    # In a sequence of requests the ids come from the answers before.
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
    if response.status_code != 201:
        return
    created = response.json()
    if isinstance(created, dict) and "sandboxID" in created:
        KNOWN.append(created["sandboxID"])
