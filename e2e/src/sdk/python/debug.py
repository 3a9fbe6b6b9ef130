"""The stock `e2b` client in debug mode; prints its results as a line of JSON."""

import json

from e2b import Sandbox

sandbox = Sandbox.create()
sandbox.files.write("/tmp/python.txt", "debugged")
results = {
    "id": sandbox.sandbox_id,
    "stdout": sandbox.commands.run("echo $((6 * 7))").stdout,
    "file": sandbox.files.read("/tmp/python.txt"),
}
print(json.dumps(results), flush=True)
