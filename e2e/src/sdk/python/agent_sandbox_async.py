"""The asynchronous half of the stock `k8s-agent-sandbox` client."""

import unittest

from agent_sandbox_cluster import NAMESPACE, POOL, direct, eventually, find_sandbox_and_pod, list_claims, list_pods
from k8s_agent_sandbox import AsyncSandboxClient


class AgentSandboxAsync(unittest.IsolatedAsyncioTestCase):
    async def test_use_and_end_sandboxes(self):
        async with AsyncSandboxClient(direct()) as client:
            made = await client.create_sandbox(POOL, namespace=NAMESPACE, labels={"by": "async"})
            kept = await client.create_sandbox(POOL, namespace=NAMESPACE, labels={"by": "async"}, claim_name="kept")
            names = [made.claim_name, "kept"]
            self.assertEqual(sorted(await client.list_active_sandboxes()), sorted((NAMESPACE, name) for name in names))
            listed = await client.list_all_sandboxes(NAMESPACE, label_selector="by=async")
            self.assertEqual(sorted(listed), sorted(names))
            await self.use(made)
            await self.compare_with_cluster(made)
            with self.assertRaisesRegex(ValueError, f"references warmpool '{POOL}', not 'another'"):
                await client.get_sandbox("kept", namespace=NAMESPACE, warmpool_name="another")
            self.assertIs(await client.get_sandbox("kept", namespace=NAMESPACE, warmpool_name=POOL), kept)
            uid = find_sandbox_and_pod(made.claim_name)[0]["metadata"]["uid"]
        self.assertFalse(kept.is_active)
        eventually("the claim with a generated name is gone", lambda: names[0] not in list_claims())
        eventually("its Pod is gone", lambda: not list_pods(uid))
        self.assertIn("kept", list_claims())

    async def use(self, sandbox):
        result = await sandbox.commands.run("echo out; echo err >&2; exit 3")
        self.assertEqual((result.stdout, result.stderr, result.exit_code), ("out\n", "err\n", 3))
        await sandbox.files.write("dir/a file.txt", b"\x00bytes")
        self.assertEqual(await sandbox.files.read("dir/a file.txt"), b"\x00bytes")
        self.assertEqual([(one.name, one.size) for one in await sandbox.files.list("dir")], [("a file.txt", 6)])
        self.assertTrue(await sandbox.files.exists("dir/a file.txt"))
        self.assertFalse(await sandbox.files.exists("dir/none"))

    async def compare_with_cluster(self, made):
        sandbox, pod = find_sandbox_and_pod(made.claim_name)
        self.assertEqual(await made.get_pod_name(), pod.metadata.name)
        self.assertEqual(await made.get_pod_ip(), pod.status.pod_ip)
        self.assertEqual(
            await made.get_sandbox_name_hash(), pod.metadata.labels["agents.x-k8s.io/sandbox-name-hash"]
        )
        self.assertEqual(await made.get_service_fqdn(), f"{pod.metadata.name}.{NAMESPACE}.svc.cluster.local")
        [ready] = [one for one in sandbox["status"]["conditions"] if one["type"] == "Ready"]
        self.assertEqual(await made.status(), ("SandboxReady", ready["message"]))
