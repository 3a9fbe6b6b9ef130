"""Options of the stock `k8s-agent-sandbox` client, each with what it changes in the cluster or for the caller."""

import io
import os
import subprocess
import sys
import unittest

from agent_sandbox_cluster import NAMESPACE, POOL, direct, eventually, list_claims
from k8s_agent_sandbox import SandboxClient
from k8s_agent_sandbox.exceptions import SandboxRequestError
from kubernetes.client import ApiClient, ApiException
from kubernetes.config import new_client_from_config

# Its sandboxes never become Ready.
NEVER = os.environ["NEVER_READY_POOL"]
PORT = 9000

# It leaves its sandboxes to the client.
PROGRAM = f"""
from agent_sandbox_cluster import NAMESPACE, POOL, direct
from k8s_agent_sandbox import SandboxClient

client = SandboxClient(direct(), cleanup=True)
client.create_sandbox(POOL, namespace=NAMESPACE, labels={{"by": "program"}}, claim_name="chosen")
made = client.create_sandbox(POOL, namespace=NAMESPACE, labels={{"by": "program"}})
print(made.claim_name, sorted(client.list_all_sandboxes(NAMESPACE, label_selector="by=program")))
"""


class AgentSandboxOptions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.client = SandboxClient(direct())
        cls.sandbox = cls.client.create_sandbox(POOL, namespace=NAMESPACE)
        cls.addClassCleanup(cls.sandbox.terminate)

    def test_cleanup_when_the_program_ends(self):
        ended = subprocess.run([sys.executable, "-B", "-c", PROGRAM], capture_output=True, check=True, text=True)
        name, _, seen = ended.stdout.strip().partition(" ")
        self.assertEqual(seen, str(sorted(["chosen", name])))
        eventually("the claim with a generated name is gone", lambda: name not in list_claims())
        # A claim that the user named is the user's.
        self.assertIn("chosen", list_claims())

    def test_a_given_api_client(self):
        def as_bearer_of(token):
            configuration = new_client_from_config(os.environ["KUBECONFIG"]).configuration
            configuration.cert_file = configuration.key_file = None
            configuration.api_key = {"authorization": f"Bearer {token}"}
            return SandboxClient(direct(), api_client=ApiClient(configuration))

        made = as_bearer_of(os.environ["GATEWAY_TOKEN"]).create_sandbox(POOL, namespace=NAMESPACE)
        self.addCleanup(made.terminate)
        self.assertEqual(made.commands.run("echo on").stdout, "on\n")
        with self.assertRaises(ApiException) as refused:
            as_bearer_of("wrong").create_sandbox(POOL, namespace=NAMESPACE)
        self.assertEqual(refused.exception.status, 401)

    def test_sandbox_ready_timeout(self):
        before = set(list_claims())
        with self.assertRaisesRegex(TimeoutError, "within 3 seconds"):
            self.client.create_sandbox(NEVER, namespace=NAMESPACE, sandbox_ready_timeout=3)
        eventually("the claim is gone", lambda: set(list_claims()) <= before)
        made = self.client.create_sandbox(POOL, namespace=NAMESPACE, sandbox_ready_timeout=60)
        self.addCleanup(made.terminate)
        self.assertEqual(made.status()[0], "SandboxReady")

    def test_timeout_of_a_command(self):
        with self.assertRaises(SandboxRequestError):
            self.sandbox.commands.run("sleep 60", timeout=1)
        self.assertEqual(self.sandbox.commands.run("sleep 2; echo late", timeout=30).stdout, "late\n")

    def test_another_port_of_the_sandbox(self):
        # A program of the user that answers as `files.read` asks.
        self.sandbox.commands.run(
            "mkdir -p www/download && echo served > www/download/note"
            f" && (httpd -f -p {PORT} -h www > /dev/null 2>&1 &)"
        )
        other = SandboxClient(direct(server_port=PORT)).get_sandbox(self.sandbox.claim_name, namespace=NAMESPACE)
        self.addCleanup(other.close_connection)
        self.assertEqual(other.files.read("note"), b"served\n")
        self.assertFalse(self.sandbox.files.exists("note"))

    def test_write_from_a_stream(self):
        content = os.urandom(1 << 20)
        self.sandbox.files.write("large", io.BytesIO(content))
        self.assertEqual(self.sandbox.files.read("large"), content)
