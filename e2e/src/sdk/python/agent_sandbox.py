"""The stock `k8s-agent-sandbox` client: it creates sandboxes through Kubernetes and uses them through the gateway."""

import os
import unittest

from k8s_agent_sandbox import SandboxClient
from k8s_agent_sandbox.models import SandboxDirectConnectionConfig, SandboxLocalTunnelConnectionConfig
from kubernetes import config

NAMESPACE = "tenant-a"


def client(headers):
    return SandboxClient(SandboxDirectConnectionConfig(api_url=os.environ["SANDLOT_GATEWAY_URL"], extra_headers=headers))


class AgentSandbox(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        config.load_kube_config(os.environ["KUBECONFIG"])
        cls.client = client({"Authorization": f"Bearer {os.environ['GATEWAY_TOKEN']}"})
        cls.sandbox = cls.client.create_sandbox("base", namespace=NAMESPACE)
        cls.addClassCleanup(cls.sandbox.terminate)

    def test_run(self):
        result = self.sandbox.commands.run("echo out; echo err >&2; exit 3")
        self.assertEqual((result.stdout, result.stderr, result.exit_code), ("out\n", "err\n", 3))

    def test_write_read_list_and_exists(self):
        files = self.sandbox.files
        files.write("dir/a file.txt", b"\x00bytes")
        self.assertEqual(files.read("dir/a file.txt"), b"\x00bytes")
        self.assertEqual([(one.name, one.size) for one in files.list("dir")], [("a file.txt", 6)])
        self.assertTrue(files.exists("dir/a file.txt"))
        self.assertFalse(files.exists("dir/none"))

    def test_refuses_requests_without_a_token(self):
        other = client({}).get_sandbox(self.sandbox.claim_name, namespace=NAMESPACE)
        with self.assertRaises(Exception) as refused:
            other.commands.run("true")
        self.assertRegex(repr(refused.exception) + repr(refused.exception.__cause__), "401|Unauthorized")

    def test_run_through_a_tunnel_to_the_router(self):
        tunnel = SandboxLocalTunnelConnectionConfig(router_namespace=os.environ["ROUTER_NAMESPACE"])
        other = SandboxClient(tunnel).get_sandbox(self.sandbox.claim_name, namespace=NAMESPACE)
        self.addCleanup(other.close_connection)
        self.assertEqual(other.commands.run("echo tunnelled").stdout, "tunnelled\n")

    def test_run_through_a_proxy_that_asks_for_a_certificate(self):
        certified = SandboxDirectConnectionConfig(
            api_url=os.environ["PROXY_URL"],
            extra_headers={"Authorization": f"Bearer {os.environ['GATEWAY_TOKEN']}"},
            client_cert=(os.environ["PROXY_CLIENT_CERT"], os.environ["PROXY_CLIENT_KEY"]),
            ca_cert=os.environ["PROXY_CA"],
        )
        other = SandboxClient(certified).get_sandbox(self.sandbox.claim_name, namespace=NAMESPACE)
        self.addCleanup(other.close_connection)
        self.assertEqual(other.commands.run("echo certified").stdout, "certified\n")
