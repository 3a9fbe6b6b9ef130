"""The stock `k8s-agent-sandbox` client through a Gateway of the Gateway API, whose address it reads from Kubernetes."""

import contextlib
import io
import os
import unittest

from agent_sandbox_cluster import NAMESPACE, POOL, find_sandbox_and_pod
from k8s_agent_sandbox import SandboxClient, get_metrics, print_metrics
from k8s_agent_sandbox.models import SandboxGatewayConnectionConfig
from kubernetes import config

DISCOVERIES = 'sandbox_client_discovery_latency_ms_count{mode="gateway",status="success"}'


class AgentSandboxGateway(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        config.load_kube_config(os.environ["KUBECONFIG"])
        way = SandboxGatewayConnectionConfig(gateway_name=os.environ["GATEWAY"], gateway_namespace=NAMESPACE)
        cls.sandbox = SandboxClient(way).create_sandbox(POOL, namespace=NAMESPACE)
        cls.addClassCleanup(cls.sandbox.terminate)

    def test_run_and_files_through_a_gateway(self):
        pod = find_sandbox_and_pod(self.sandbox.claim_name)[1]
        self.assertEqual(self.sandbox.commands.run("hostname").stdout, f"{pod.metadata.name}\n")
        self.sandbox.files.write("note.txt", b"\x00bytes")
        self.assertEqual(self.sandbox.files.read("note.txt"), b"\x00bytes")

    def test_metrics_of_the_client(self):
        self.sandbox.commands.run("true")
        metrics = get_metrics()
        [count] = [line for line in metrics.splitlines() if line.startswith(DISCOVERIES)]
        self.assertGreaterEqual(float(count.split()[-1]), 1)
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            print_metrics()
        self.assertIn(count, printed.getvalue())
