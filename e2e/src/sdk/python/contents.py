"""What a sandbox has to hold over a pause, a wake and a move: everything that the e2b clients can put into it."""

import os
import pathlib
import time

import httpx

PATHS = ["/tmp/kept", "/home/user/kept", "/data/kept"]
OPEN_FILE = "/tmp/open.log"
WITNESS = pathlib.Path(__file__).with_name("witness.py").read_text()


def until(ask, seconds=60):
    """Asks until the answer is true, and returns it."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if answer := ask():
            return answer
        time.sleep(0.1)
    raise AssertionError(f"not within {seconds} s")


def hear(sandbox):
    """What the witness answers through the gateway; None if nothing answers. Wakes a sandbox that sleeps."""
    headers = {"Host": sandbox.get_host(8000)}
    answer = httpx.get(os.environ["SANDLOT_GATEWAY_URL"], headers=headers, timeout=60)
    return answer.json() if answer.status_code == 200 else None


def fill(sandbox):
    """Puts everything in. Returns what only its processes know."""
    sandbox.files.write("/tmp/witness.py", WITNESS)
    sandbox.commands.run("exec python3 /tmp/witness.py", background=True, timeout=0).disconnect()
    for path in PATHS:
        sandbox.files.write(path, f"content of {path}")
    kernel = sandbox.run_code("import secrets\nkept = secrets.token_hex(8)\nkept").text
    return {**until(lambda: hear(sandbox)), "kernel": kernel}


def check(sandbox, before):
    """Fails unless all that :func:`fill` put in is there, and went on where it was."""
    after = hear(sandbox)
    assert after is not None, "the listener does not answer"
    assert [after[key] for key in ("secret", "pid", "bytes")] == [before[key] for key in ("secret", "pid", "bytes")], after
    assert after["count"] >= before["count"], (after, before)
    assert before["pid"] in [process.pid for process in sandbox.commands.list()]
    for path in PATHS:
        assert sandbox.files.read(path) == f"content of {path}", path
    last = int(sandbox.commands.run(f"tail -n 1 {OPEN_FILE}").stdout)
    assert last >= after["count"], (last, after)
    assert sandbox.commands.run(f"uniq -d {OPEN_FILE}").stdout == ""
    assert sandbox.run_code("kept").text == before["kernel"]
