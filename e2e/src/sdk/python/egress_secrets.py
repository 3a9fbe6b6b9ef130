"""Secrets and header rules by the stock `e2b` client for Python. The upstream server answers with the headers that it got."""

import os
import unittest

from contents import until
from e2b import Sandbox, Secret

HOST = os.environ["RULE_HOST"]
NAME = "e2e-python-key"


def rules():
    return {"rules": {HOST: [{"transform": {"headers": {"Authorization": f"Bearer {Secret.fill(NAME)}"}}}]}}


def ask(sandbox):
    return sandbox.commands.run(f"curl --silent https://{HOST}/headers || true").stdout


class Rules(unittest.TestCase):
    def setUp(self):
        Secret.create(NAME, "python-1")
        self.addCleanup(Secret.destroy, NAME)

    def test_a_secret_goes_out_and_never_comes_in(self):
        sandbox = Sandbox.create("base", timeout=300, network=rules())
        self.addCleanup(sandbox.kill)
        until(lambda: "Bearer python-1" in ask(sandbox))
        self.assertNotIn("python-1", sandbox.commands.run("env").stdout)
        info = Secret.update(NAME, "python-2", metadata={"by": "a test"})
        self.assertEqual((info.version, info.metadata), (2, {"by": "a test"}))
        until(lambda: "Bearer python-2" in ask(sandbox))
        self.assertIn(NAME, [secret.name for secret in Secret.list().next_items()])
        Secret.destroy(NAME)
        until(lambda: "egress_credential_missing" in ask(sandbox))

    def test_rules_of_a_sandbox_that_runs(self):
        sandbox = Sandbox.create("base", timeout=300)
        self.addCleanup(sandbox.kill)
        Secret.update(NAME, "python-2")
        sandbox.update_network(rules())
        until(lambda: "Bearer python-2" in ask(sandbox))
