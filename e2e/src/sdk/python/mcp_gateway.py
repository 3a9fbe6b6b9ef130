"""The stock `e2b` client for Python starts servers of MCP. Keys and URLs come from the environment."""

import json
import os
import unittest

import httpx
from e2b import Sandbox, SandboxException

MCP = {"filesystem": {"paths": ["/home/user"]}, "time": {}}


class McpGateway(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.sandbox = Sandbox.create(mcp=MCP, timeout=300, request_timeout=180)
        cls.addClassCleanup(cls.sandbox.kill)

    def ask(self, method, params, token):
        headers = {
            "Accept": "application/json, text/event-stream",
            "Authorization": f"Bearer {token}",
            "E2b-Sandbox-Id": self.sandbox.sandbox_id,
            "E2b-Sandbox-Port": "50005",
        }
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        url = f"{os.environ['E2B_SANDBOX_URL']}/mcp"
        return httpx.post(url, json=body, headers=headers, timeout=60)

    def call(self, name, **arguments):
        answer = self.ask("tools/call", {"name": name, "arguments": arguments}, self.sandbox.get_mcp_token())
        self.assertEqual(answer.status_code, 200, answer.text)
        data = next(line for line in answer.text.splitlines() if line.startswith("data: "))
        return json.loads(data.removeprefix("data: "))["result"]

    def test_tools_of_two_servers(self):
        self.call("write_file", path="/home/user/from-python", content="hello")
        self.assertEqual(self.sandbox.files.read("from-python"), "hello")
        self.assertIn("Europe/Berlin", json.dumps(self.call("get_current_time", timezone="Europe/Berlin")))

    def test_url_and_token(self):
        self.assertIn(f"50005-{self.sandbox.sandbox_id}.", self.sandbox.get_mcp_url())
        self.assertTrue(self.sandbox.get_mcp_url().endswith("/mcp"))
        self.assertEqual(Sandbox.connect(self.sandbox.sandbox_id).get_mcp_token(), self.sandbox.get_mcp_token())
        self.assertEqual(self.ask("tools/list", {}, "not-the-token-of-it").status_code, 401)

    def test_unknown_server(self):
        with self.assertRaisesRegex(SandboxException, "server 'postgres' is not available in this installation"):
            Sandbox.create(mcp={"postgres": {"url": "x"}}, timeout=300, request_timeout=180)
