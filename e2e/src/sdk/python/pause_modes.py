"""The flags of a pause and a connect of the stock `e2b` client for Python, on the template `base`, which hibernates."""

import unittest

from contents import until
from counter import count, pids, start_counter
from e2b import GuestUnresponsiveException, Sandbox, SandboxState, ServiceBusyException

KEPT = "/home/user/kept"

# Stops the daemon and not its supervisor, so that the daemon hangs and nothing restarts it.
HANG = """
sleep 1
for process in /proc/[0-9]*; do
  if [ "$(tr '\\0' ' ' < $process/cmdline)" = 'sandlot-runtime serve ' ]; then kill -STOP "${process#/proc/}"; fi
done
"""


def answers(sandbox):
    """Whether the daemon of the sandbox answers."""
    try:
        return sandbox.is_running(request_timeout=2)
    except Exception:
        return False


class PauseModes(unittest.TestCase):
    def setUp(self):
        self.sandbox = Sandbox.create("base", timeout=300)
        self.addCleanup(self.sandbox.kill)
        self.sandbox.files.write(KEPT, "kept")
        self.pid, self.before = start_counter(self.sandbox)

    def state(self):
        return self.sandbox.get_info().state

    def assert_went_on(self):
        self.assertIn(self.pid, pids(self.sandbox))
        self.assertGreaterEqual(count(self.sandbox), self.before)
        self.assertEqual(self.sandbox.files.read(KEPT), "kept")

    def assert_booted_with_files(self):
        self.assertNotIn(self.pid, pids(self.sandbox))
        self.assertEqual(self.sandbox.files.read(KEPT), "kept")

    def test_a_full_strict_pause_keeps_the_processes(self):
        self.assertTrue(self.sandbox.pause(mode="full", strict=True))
        self.assertEqual(self.state(), SandboxState.PAUSED)
        self.assertFalse(self.sandbox.pause(mode="full", strict=True))
        self.sandbox.connect(on_resume="restore")
        self.assert_went_on()

    def test_a_pause_of_the_file_system_keeps_the_files_alone(self):
        self.assertTrue(self.sandbox.pause(mode="filesystem", strict=True))
        self.assertEqual(self.state(), SandboxState.PAUSED)
        self.sandbox.connect()
        self.assert_booted_with_files()

    def test_a_connect_that_reboots_gives_the_processes_up(self):
        self.sandbox.connect(on_resume="reboot")
        self.assert_went_on()
        self.assertTrue(self.sandbox.pause())
        self.sandbox.connect(on_resume="reboot")
        self.assert_booted_with_files()

    def test_a_daemon_that_hangs_refuses_all_pauses_but_an_unstrict_full_one(self):
        self.sandbox.commands.run(HANG, background=True, timeout=0, user="root").disconnect()
        until(lambda: not answers(self.sandbox))
        for refused in [{"strict": True}, {"mode": "filesystem"}]:
            with self.assertRaisesRegex(ServiceBusyException, "its daemon does not answer", msg=refused):
                self.sandbox.pause(**refused)
            self.assertEqual(self.state(), SandboxState.RUNNING, refused)
        self.assertTrue(self.sandbox.pause())
        self.assertTrue(self.sandbox.get_info().envd_unresponsive_at_pause)
        with self.assertRaises(GuestUnresponsiveException):
            self.sandbox.connect()
        self.assertEqual(self.state(), SandboxState.PAUSED)
        self.sandbox.connect(on_resume="reboot")
        self.assert_booted_with_files()
        self.assertIsNone(self.sandbox.get_info().envd_unresponsive_at_pause)
