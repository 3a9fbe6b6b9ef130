"""Runs a command and an upload of the stock `e2b` client; prints lines of JSON when both run and how they ended."""

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
from e2b import Sandbox

PATIENCE = 20
CHUNKS = 64

sandbox = Sandbox.create("base", timeout=300)
printed, sent = threading.Event(), threading.Event()


def tell(**what):
    print(json.dumps(what), flush=True)


def chunks():
    for count in range(CHUNKS):
        time.sleep(0.1)
        if count == 5:
            sent.set()
        yield bytes(1 << 20)


def run():
    loop = "for i in $(seq 64); do echo line $i; sleep 0.1; done"
    sandbox.commands.run(loop, on_stdout=lambda _: printed.set(), timeout=PATIENCE, request_timeout=PATIENCE)


def write():
    sandbox.files.write("upload.bin", chunks(), request_timeout=PATIENCE)


def end_of(work):
    began = time.monotonic()
    try:
        work()
        return {"error": None, "in_time": True}
    except Exception as error:
        kind = type(error).__module__.partition(".")[0]
        return {"error": kind, "in_time": time.monotonic() - began < PATIENCE + 5}


def until_connected(call):
    """Retries connection errors: the Service may lose the restarted gateway once more for a while."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            return call()
        except httpx.ConnectError:
            time.sleep(0.1)
    raise AssertionError("not within a minute")


try:
    sandbox.files.write("before.txt", "from before")
    with ThreadPoolExecutor() as pool:
        command, upload = pool.submit(end_of, run), pool.submit(end_of, write)
        printed.wait()
        sent.wait()
        tell(under_way=True)
        tell(command=command.result(), upload=upload.result())
    while not until_connected(sandbox.is_running):
        time.sleep(0.1)
    before = until_connected(lambda: sandbox.files.read("before.txt"))
    tell(before=before, after=until_connected(lambda: sandbox.commands.run("echo after").stdout))
finally:
    until_connected(sandbox.kill)
