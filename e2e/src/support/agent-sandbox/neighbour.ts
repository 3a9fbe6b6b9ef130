import { findAgentSandboxCrds, startAgentSandbox } from '@sandlot/local-cluster';
import type { AgentSandbox } from '@sandlot/local-cluster';
import { inject } from 'vitest';
import { runKubectlOrFail } from '../kubectl.ts';
import { findCluster } from '../nodes/second-node.ts';
import { eventually } from '../team.ts';

const NAMESPACE = 'agent-sandbox-system';
const WEBHOOK = 'agent-sandbox-webhook-service';

/**
 * Replaces the CRDs by those of agent-sandbox and starts its controller, as its users install it. The objects stay. `stop` of the
 * result ends the controller and leaves the CRDs.
 */
export async function installAgentSandbox(): Promise<AgentSandbox> {
  await runKubectlOrFail(['apply', '-f', '-'], formatNamespace());
  await runKubectlOrFail(['replace', '-f', await findAgentSandboxCrds()]);
  const neighbour = await startAgentSandbox({ kubeconfigPath: inject('kubeconfigPath'), namespace: NAMESPACE });
  const { server } = await findCluster();
  await runKubectlOrFail(['apply', '-f', '-'], formatWebhook(new URL(server).hostname, neighbour.webhookPort));
  await eventually('the CRDs of agent-sandbox convert', async () => {
    await runKubectlOrFail(['get', 'sandboxes.v1alpha1.agents.x-k8s.io', '--all-namespaces']);
    return true;
  });
  return neighbour;
}

/** Removes what is in the cluster for the controller. */
export async function removeAgentSandbox(): Promise<void> {
  await runKubectlOrFail(['delete', 'namespace', NAMESPACE, '--ignore-not-found']);
}

const formatNamespace = (): string => `
apiVersion: v1
kind: Namespace
metadata: {name: ${NAMESPACE}}
`;

/** The Service by which the API server reaches the controller, which runs on this machine and in no Pod. */
const formatWebhook = (address: string, port: number): string => `
apiVersion: v1
kind: Service
metadata: {name: ${WEBHOOK}, namespace: ${NAMESPACE}}
spec: {ports: [{name: webhook, port: 443, targetPort: ${port}}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: ${WEBHOOK}
  namespace: ${NAMESPACE}
  labels: {kubernetes.io/service-name: ${WEBHOOK}}
addressType: IPv4
endpoints: [{addresses: [${address}], conditions: {ready: true}}]
ports: [{name: webhook, port: ${port}, protocol: TCP}]
`;
