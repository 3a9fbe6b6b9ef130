"""How the tests of `k8s-agent-sandbox` connect, and what the cluster itself says about what the client made."""

import os
import time

from k8s_agent_sandbox.models import SandboxDirectConnectionConfig
from kubernetes import client, config

NAMESPACE = os.environ["NAMESPACE"]
POOL = os.environ["POOL"]
PATIENCE_SECONDS = 60


def direct(**options):
    """The way to a sandbox through the gateway. Also makes this module's functions use the cluster of the test."""
    config.load_kube_config(os.environ["KUBECONFIG"])
    headers = {"Authorization": f"Bearer {os.environ['GATEWAY_TOKEN']}"}
    return SandboxDirectConnectionConfig(api_url=os.environ["SANDLOT_GATEWAY_URL"], extra_headers=headers, **options)


def list_claims():
    """The claims of the namespace by name."""
    answer = client.CustomObjectsApi().list_namespaced_custom_object(
        "extensions.agents.x-k8s.io", "v1beta1", NAMESPACE, "sandboxclaims"
    )
    return {one["metadata"]["name"]: one for one in answer["items"]}


def read_sandbox(name):
    return client.CustomObjectsApi().get_namespaced_custom_object(
        "agents.x-k8s.io", "v1beta1", NAMESPACE, "sandboxes", name
    )


def suspend(name):
    client.CustomObjectsApi().patch_namespaced_custom_object(
        "agents.x-k8s.io", "v1beta1", NAMESPACE, "sandboxes", name, {"spec": {"operatingMode": "Suspended"}}
    )


def list_pods(sandbox_uid):
    """The Pods that this Sandbox owns."""
    pods = client.CoreV1Api().list_namespaced_pod(NAMESPACE).items
    return [pod for pod in pods if any(owner.uid == sandbox_uid for owner in pod.metadata.owner_references or [])]


def find_sandbox_and_pod(claim_name):
    """The Sandbox that the claim names, and its only Pod."""
    sandbox = read_sandbox(list_claims()[claim_name]["status"]["sandbox"]["name"])
    [pod] = list_pods(sandbox["metadata"]["uid"])
    return sandbox, pod


def eventually(what, ask):
    """Asks until the answer is true, and returns it."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not (answer := ask()):
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {PATIENCE_SECONDS} s")
        time.sleep(0.1)
    return answer
