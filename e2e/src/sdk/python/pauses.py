"""A sandbox with everything in it sleeps and wakes through the stock clients.

SANDLOT_TEMPLATE names its template, and KUBECTL has the words of a command that looks at its Pods, as JSON.
"""

import json
import os
import subprocess
import unittest

from contents import check, fill, until
from e2b import SandboxState
from e2b_code_interpreter import Sandbox


class Pauses(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        lifecycle = {"on_timeout": "pause", "auto_resume": True}
        cls.sandbox = Sandbox.create(os.environ["SANDLOT_TEMPLATE"], timeout=300, lifecycle=lifecycle)
        cls.addClassCleanup(cls.sandbox.kill)
        cls.before = fill(cls.sandbox)

    def state(self):
        return self.sandbox.get_info().state

    def pod(self):
        """The UID and the address of the Pod, which has the name of the sandbox; empty without one."""
        what = ["get", "pod", self.sandbox.sandbox_id, "--ignore-not-found", "-o", "jsonpath={.metadata.uid} {.status.podIP}"]
        command = [*json.loads(os.environ["KUBECTL"]), *what]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()

    def wait_until_asleep(self):
        """A request that comes during the save would let the sandbox go on in its Pod."""
        until(lambda: not self.pod())

    def expect_new_pod(self, former):
        now = self.pod()
        self.assertEqual([len(now), len(former)], [2, 2])
        self.assertNotEqual(now[0], former[0])
        self.assertNotEqual(now[1], former[1])

    def test_a_pause_and_a_connect_keep_everything(self):
        pod = self.pod()
        self.assertTrue(self.sandbox.pause())
        self.assertEqual(self.state(), SandboxState.PAUSED)
        self.wait_until_asleep()
        self.sandbox.connect()
        check(self.sandbox, self.before)
        self.expect_new_pod(pod)

    def test_a_timeout_and_a_request_keep_everything(self):
        pod = self.pod()
        self.sandbox.set_timeout(1)
        until(lambda: self.state() == SandboxState.PAUSED)
        self.wait_until_asleep()
        check(self.sandbox, self.before)
        self.assertEqual(self.state(), SandboxState.RUNNING)
        self.expect_new_pod(pod)
