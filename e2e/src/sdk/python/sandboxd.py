"""The stock `k8s-agent-sandbox` client with the dialect of sandboxd: through a forwarded port, and directly to the Pod."""

import io
import os
import unittest

from k8s_agent_sandbox import SandboxClient
from k8s_agent_sandbox.exceptions import SandboxRequestError
from k8s_agent_sandbox.models import SandboxdInClusterConnectionConfig, SandboxdPodTunnelConnectionConfig
from kubernetes import config

NAMESPACE = os.environ["NAMESPACE"]


class Sandboxd(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        config.load_kube_config(os.environ["KUBECONFIG"])
        cls.sandbox = SandboxClient(SandboxdPodTunnelConnectionConfig()).create_sandbox(
            os.environ["POOL"], namespace=NAMESPACE
        )
        cls.addClassCleanup(cls.sandbox.terminate)

    def test_run_with_variables_and_a_directory(self):
        self.sandbox.files.write("directory/file", b"")
        result = self.sandbox.commands.run(
            'echo "$COLOUR"; pwd; ls; echo err >&2; exit 3', env={"COLOUR": "blue"}, cwd="directory"
        )
        self.assertEqual(result.stdout, "blue\n/work/directory\nfile\n")
        self.assertEqual((result.stderr, result.exit_code), ("err\n", 3))

    def test_run_ends_with_its_limit(self):
        result = self.sandbox.commands.run("sleep 600", command_timeout=1)
        self.assertEqual((result.exit_code, result.timed_out), (124, True))

    def test_run_refuses_a_directory_outside(self):
        with self.assertRaisesRegex(RuntimeError, "PERMISSION_DENIED"):
            self.sandbox.commands.run("true", cwd="..")

    def test_delete(self):
        files = self.sandbox.files
        files.write("one.txt", b"1")
        files.delete("one.txt")
        self.assertFalse(files.exists("one.txt"))
        files.write("tree/leaf.txt", b"1")
        with self.assertRaises(SandboxRequestError) as refused:
            files.delete("tree")
        self.assertEqual(refused.exception.status_code, 409)
        files.delete("tree", recursive=True)
        self.assertFalse(files.exists("tree"))

    def test_write_read_list_and_exists(self):
        files = self.sandbox.files
        files.write("dir/a file%20.txt", b"\x00bytes")
        self.assertEqual(files.read("dir/a file%20.txt"), b"\x00bytes")
        self.assertEqual(
            [(one.name, one.size, one.type, one.mode) for one in files.list("dir")],
            [("a file%20.txt", 6, "file", "0644")],
        )
        self.assertTrue(files.exists("dir"))
        self.assertFalse(files.exists("dir/none"))

    def test_streams_of_a_megabyte(self):
        content = os.urandom(1 << 20)
        self.sandbox.files.write("large", io.BytesIO(content))
        read = io.BytesIO()
        self.assertEqual(self.sandbox.files.read_to("large", read), len(content))
        self.assertEqual(read.getvalue(), content)

    def test_directly_to_the_pod(self):
        direct = SandboxClient(SandboxdInClusterConnectionConfig(mode="in-cluster-pod-ip"))
        other = direct.get_sandbox(self.sandbox.claim_name, namespace=NAMESPACE)
        self.addCleanup(other.close_connection)
        other.files.write("direct", b"1")
        self.assertEqual(other.commands.run("cat direct; echo $A", env={"A": "2"}).stdout, "12\n")
