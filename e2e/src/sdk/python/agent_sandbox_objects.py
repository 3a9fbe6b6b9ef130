"""What the stock `k8s-agent-sandbox` client sets and reads in Kubernetes, beside what the cluster itself says."""

import unittest

from agent_sandbox_cluster import (
    NAMESPACE,
    POOL,
    direct,
    eventually,
    find_sandbox_and_pod,
    list_claims,
    list_pods,
    read_sandbox,
    suspend,
)
from k8s_agent_sandbox import SandboxClient
from k8s_agent_sandbox.exceptions import SandboxNotFoundError
from kubernetes.client import ApiException, CoreV1Api

HASH = "agents.x-k8s.io/sandbox-name-hash"
DISK = {
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Mi"}}},
}


class AgentSandboxObjects(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.client = SandboxClient(direct())
        # It ends while the other tests run.
        cls.short = cls.client.create_sandbox(POOL, namespace=NAMESPACE, shutdown_after_seconds=10)
        cls.short_uid = read_sandbox(cls.short.sandbox_id)["metadata"]["uid"]
        cls.named = cls.client.create_sandbox(
            POOL,
            namespace=NAMESPACE,
            labels={"team": "blue"},
            claim_name="named",
            pod_labels={"sandbox.users.io/team": "red"},
            pod_annotations={"note": "for the Pod"},
        )
        cls.sandbox, cls.pod = find_sandbox_and_pod("named")

    def test_labels_of_the_claim(self):
        labels = list_claims()["named"]["metadata"]["labels"]
        self.assertEqual(labels, {"team": "blue", "agents.x-k8s.io/created-by": "python-client"})
        self.assertNotIn("team", self.pod.metadata.labels)

    def test_labels_and_annotations_of_the_pod(self):
        def read():
            metadata = find_sandbox_and_pod("named")[1].metadata
            return metadata.labels.get("sandbox.users.io/team"), (metadata.annotations or {}).get("note")

        eventually("the Pod has both", lambda: read() == ("red", "for the Pod"))

    def test_a_claim_of_a_given_name_is_made_once_and_adopted(self):
        uid = list_claims()["named"]["metadata"]["uid"]
        other = SandboxClient(direct())
        with self.assertRaises(ApiException) as refused:
            other.create_sandbox(POOL, namespace=NAMESPACE, claim_name="named")
        self.assertEqual(refused.exception.status, 409)
        with self.assertRaisesRegex(ValueError, f"references warm pool '{POOL}', not 'another'"):
            other.create_sandbox("another", namespace=NAMESPACE, claim_name="named", adopt_existing=True)
        adopted = other.create_sandbox(POOL, namespace=NAMESPACE, claim_name="named", adopt_existing=True)
        self.addCleanup(adopted.close_connection)
        self.assertEqual(adopted.sandbox_id, self.sandbox["metadata"]["name"])
        self.assertEqual(list_claims()["named"]["metadata"]["uid"], uid)
        adopted.files.write("shared.txt", b"1")
        self.assertEqual(self.named.files.read("shared.txt"), b"1")

    def test_variables_and_a_disk(self):
        made = self.client.create_sandbox(
            POOL, namespace=NAMESPACE, env={"COLOUR": "green"}, volume_claim_templates=[DISK]
        )
        self.addCleanup(made.terminate)
        # The template sets SANDBOX_BASE_DIR for its container, and commands do not get it.
        self.assertEqual(made.commands.run('echo "$COLOUR-$SANDBOX_BASE_DIR"').stdout, "green-\n")
        written = made.commands.run('grep -c " /data " /proc/mounts && echo kept > /data/note && cat /data/note')
        self.assertEqual(written.stdout, "1\nkept\n")
        sandbox, pod = find_sandbox_and_pod(made.claim_name)
        [volume] = [one for one in pod.spec.volumes if one.name == "data"]
        name = volume.persistent_volume_claim.claim_name
        self.assertEqual(name, f"data-{sandbox['metadata']['name']}")
        disk = CoreV1Api().read_namespaced_persistent_volume_claim(name, NAMESPACE)
        self.assertEqual((disk.status.phase, disk.spec.resources.requests), ("Bound", {"storage": "10Mi"}))

    def test_shutdown_after_seconds(self):
        eventually("the claim has ended", lambda: self.short.claim_name not in list_claims())
        eventually("its Sandbox has ended", lambda: self.short.status()[0] == "SandboxNotFound")
        eventually("its Pod has ended", lambda: not list_pods(self.short_uid))
        self.assertIn("named", list_claims())

    def test_name_and_address_of_the_pod(self):
        self.assertEqual(self.named.get_pod_name(), self.pod.metadata.name)
        self.assertNotEqual(self.named.get_pod_name(), "named")
        self.assertEqual(self.named.get_pod_ip(), self.pod.status.pod_ip)

    def test_hash_of_the_name(self):
        self.assertRegex(self.named.get_sandbox_name_hash(), "^[0-9a-f]{8}$")
        self.assertEqual(self.named.get_sandbox_name_hash(), self.pod.metadata.labels[HASH])

    def test_name_of_the_service(self):
        name, namespace, rest = self.named.get_service_fqdn().split(".", 2)
        self.assertEqual((namespace, rest), (NAMESPACE, "svc.cluster.local"))
        service = CoreV1Api().read_namespaced_service(name, NAMESPACE)
        self.assertEqual(service.spec.selector, {HASH: self.pod.metadata.labels[HASH]})

    def test_name_of_the_warm_pool(self):
        self.assertEqual(self.client.get_sandbox_claim_warmpool_name("named", NAMESPACE), POOL)
        with self.assertRaises(SandboxNotFoundError):
            self.client.get_sandbox_claim_warmpool_name("none", NAMESPACE)

    def test_status(self):
        made = self.client.create_sandbox(POOL, namespace=NAMESPACE)
        self.addCleanup(made.terminate)
        [ready] = [one for one in read_sandbox(made.sandbox_id)["status"]["conditions"] if one["type"] == "Ready"]
        self.assertEqual(made.status(), ("SandboxReady", ready["message"]))
        suspend(made.sandbox_id)
        eventually("it is not Ready", lambda: made.status()[0] == "SandboxNotReady")
        made.terminate()
        eventually("it is gone", lambda: made.status()[0] == "SandboxNotFound")

    def test_lists_and_deletions(self):
        other = SandboxClient(direct())
        first = other.create_sandbox(POOL, namespace=NAMESPACE, labels={"batch": "x"}).claim_name
        other.create_sandbox(POOL, namespace=NAMESPACE, labels={"batch": "x"}, claim_name="second")
        names = sorted([first, "second"])
        self.assertEqual(sorted(other.list_active_sandboxes()), [(NAMESPACE, name) for name in names])
        self.assertEqual(sorted(self.client.list_all_sandboxes(NAMESPACE, label_selector="batch=x")), names)
        self.assertLessEqual({*names, "named"}, set(other.list_all_sandboxes(NAMESPACE)))
        uids = {name: find_sandbox_and_pod(name)[0]["metadata"]["uid"] for name in names}

        other.delete_sandbox(first, namespace=NAMESPACE)
        eventually("the first claim is gone", lambda: first not in list_claims())
        eventually("its Pod is gone", lambda: not list_pods(uids[first]))
        self.assertEqual(other.list_active_sandboxes(), [(NAMESPACE, "second")])
        self.assertIn("second", list_claims())

        other.delete_all()
        eventually("the second claim is gone", lambda: "second" not in list_claims())
        eventually("its Pod is gone", lambda: not list_pods(uids["second"]))
        self.assertEqual(other.list_active_sandboxes(), [])
        self.assertIn("named", list_claims())

    def test_a_closed_connection_is_not_active_and_deletes_nothing(self):
        other = SandboxClient(direct())
        attached = other.get_sandbox("named", namespace=NAMESPACE)
        self.assertTrue(attached.is_active)
        attached.close_connection()
        self.assertFalse(attached.is_active)
        self.assertEqual(other.list_active_sandboxes(), [])
        self.assertEqual(self.named.commands.run("echo on").stdout, "on\n")
