import { join } from 'node:path';
import { ensureBinaries } from '../binaries/ensure.ts';
import { findGoSource } from '../binaries/source.ts';
import { isHealthy } from '../cluster/probe.ts';
import { findFreePort } from '../process/ports.ts';
import { startServer } from './server.ts';
import type { Server } from './server.ts';

export interface AgentSandboxOptions {
  /** The administrator's kubeconfig of the cluster whose objects it reconciles. */
  readonly kubeconfigPath: string;
  /** The namespace of its Lease and of the Secret with its certificates, which must exist. */
  readonly namespace: string;
}

export interface AgentSandbox extends Server {
  /** Where it serves the conversion of its CRDs. */
  readonly webhookPort: number;
}

/** The folder with the Go module of agent-sandbox. */
export async function findAgentSandboxModule(): Promise<string> {
  return join(await findGoSource('agent-sandbox-controller'), '../..');
}

/** The folder with the CRDs of agent-sandbox as it publishes them. */
export async function findAgentSandboxCrds(): Promise<string> {
  return join(await findAgentSandboxModule(), 'k8s/crds');
}

/** Starts the controller of agent-sandbox, with its extensions, and waits until its probe answers. */
export async function startAgentSandbox({ kubeconfigPath, namespace }: AgentSandboxOptions): Promise<AgentSandbox> {
  const bin = await ensureBinaries(['agent-sandbox-controller']);
  const [webhookPort, metricsPort] = [await findFreePort(), await findFreePort()];
  const server = await startServer({
    name: 'agent-sandbox-controller',
    url: (port) => `http://127.0.0.1:${port}`,
    prepare: ({ port, folder }) =>
      Promise.resolve([
        bin('agent-sandbox-controller'),
        `--kubeconfig=${kubeconfigPath}`,
        '--extensions',
        `--leader-election-namespace=${namespace}`,
        `--webhook-namespace=${namespace}`,
        `--webhook-port=${webhookPort}`,
        `--webhook-cert-dir=${join(folder, 'certificates')}`,
        `--metrics-bind-address=127.0.0.1:${metricsPort}`,
        `--health-probe-bind-address=127.0.0.1:${port}`,
      ]),
    isReady: (port) => isHealthy({ kind: 'http', url: `http://127.0.0.1:${port}/readyz` }),
  });
  return Object.assign(server, { webhookPort });
}
