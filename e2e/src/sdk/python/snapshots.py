"""Snapshots and forks of the stock `e2b` client for Python, on the template `base`, which hibernates."""

import os
import unittest

import httpx
from contents import until
from counter import count, pids, start_counter
from e2b import Sandbox, SandboxException

SHARED = "/home/user/shared"


def delete_snapshot(snapshot_id):
    """Deletes a snapshot, unless a sandbox that is being killed still uses it."""
    try:
        return Sandbox.delete_snapshot(snapshot_id)
    except SandboxException:
        return False


def token_of(sandbox):
    return sandbox._envd_access_token


def status_with(sandbox, token):
    """How the daemon of a sandbox answers a request for a file with any token."""
    headers = {"E2b-Sandbox-Id": sandbox.sandbox_id, "E2b-Sandbox-Port": "49983", "X-Access-Token": token}
    params = {"path": SHARED, "username": "user"}
    return httpx.get(f"{os.environ['E2B_SANDBOX_URL']}/files", headers=headers, params=params).status_code


class Snapshots(unittest.TestCase):
    def setUp(self):
        self.source = Sandbox.create("base", timeout=300)
        self.addCleanup(self.source.kill)
        self.source.files.write(SHARED, "before")
        self.pid, self.before = start_counter(self.source)

    def assert_went_on(self, sandbox):
        self.assertIn(self.pid, pids(sandbox))
        self.assertGreaterEqual(count(sandbox), self.before)

    def assert_apart(self, sandboxes):
        """Each has an id and a token of its own, answers to no other token, and sees no writes of the others."""
        self.assertEqual(len({sandbox.sandbox_id for sandbox in sandboxes}), len(sandboxes))
        tokens = [token_of(sandbox) for sandbox in sandboxes]
        for sandbox in sandboxes:
            self.assertEqual(sandbox.files.read(SHARED), "before")
            statuses = {token: status_with(sandbox, token) for token in tokens}
            self.assertEqual(statuses, {token: 200 if token == token_of(sandbox) else 401 for token in tokens})
        self.assertEqual(len(set(tokens)), len(sandboxes))
        for sandbox in sandboxes:
            sandbox.files.write(SHARED, sandbox.sandbox_id)
        for sandbox in sandboxes:
            self.assertEqual(sandbox.files.read(SHARED), sandbox.sandbox_id)

    def test_forks_go_on_where_the_source_was_and_stand_apart(self):
        forks = self.source.fork(count=2, timeout=300)
        for fork in forks:
            self.addCleanup(fork.kill)
        for sandbox in [self.source, *forks]:
            self.assert_went_on(sandbox)
        self.assert_apart([self.source, *forks])

    def test_a_full_snapshot_starts_a_sandbox_that_goes_on_and_stands_apart(self):
        snapshot_id = self.source.create_snapshot(mode="full").snapshot_id
        self.assertIn(snapshot_id, [one.snapshot_id for one in self.source.list_snapshots().next_items()])
        started = Sandbox.create(snapshot_id, timeout=300)
        self.addCleanup(started.kill)
        for sandbox in [self.source, started]:
            self.assert_went_on(sandbox)
        self.assert_apart([self.source, started])
        started.kill()
        until(lambda: delete_snapshot(snapshot_id))
        self.assertFalse(Sandbox.delete_snapshot(snapshot_id))

    def test_a_snapshot_of_the_file_system_is_refused_and_leaves_nothing(self):
        with self.assertRaises(SandboxException) as refusal:
            self.source.create_snapshot(mode="filesystem")
        self.assertEqual(refusal.exception.status_code, 403)
        self.assertEqual(self.source.list_snapshots().next_items(), [])
        self.assert_went_on(self.source)
