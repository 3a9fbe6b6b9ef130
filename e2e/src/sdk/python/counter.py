"""A process that counts in memory: the tests see by it whether a sandbox went on or began anew."""

from contents import until

# A process that begins anew begins at 1.
COUNT = "n=0; while true; do n=$((n+1)); echo $n > /tmp/new; mv /tmp/new /tmp/count; sleep 0.05; done"


def count(sandbox):
    """What the process counted to; 0 before it began."""
    return int(sandbox.commands.run("cat /tmp/count 2>/dev/null || echo 0").stdout)


def start_counter(sandbox):
    """Starts the process in a sandbox. Returns its pid and its first count."""
    running = sandbox.commands.run(COUNT, background=True, timeout=0)
    running.disconnect()
    return running.pid, until(lambda: count(sandbox))


def pids(sandbox):
    """The processes that clients have started in the sandbox."""
    return [process.pid for process in sandbox.commands.list()]
