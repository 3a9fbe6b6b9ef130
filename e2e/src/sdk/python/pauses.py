"""A sandbox with everything in it sleeps and wakes through the stock clients; SANDLOT_TEMPLATE names its template."""

import os
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

    def test_a_pause_and_a_connect_keep_everything(self):
        self.assertTrue(self.sandbox.pause())
        self.assertEqual(self.state(), SandboxState.PAUSED)
        self.sandbox.connect()
        check(self.sandbox, self.before)

    def test_a_timeout_and_a_request_keep_everything(self):
        self.sandbox.set_timeout(1)
        until(lambda: self.state() == SandboxState.PAUSED)
        check(self.sandbox, self.before)
        self.assertEqual(self.state(), SandboxState.RUNNING)
