import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureBinaries } from '@sandlot/local-cluster';
import { afterAll, describe, inject } from 'vitest';
import { runKubectlOrFail } from '../support/kubectl.ts';
import { registerPythonTests } from '../support/sdk/python-tests.ts';

const inTenant = ['--namespace', 'tenant-a'];
const account = `agent-${process.pid}`;
let folder = '';

/** A PATH with the cluster's own `kubectl`, with which the client opens its tunnel. */
async function preparePath(): Promise<string> {
  folder = await mkdtemp(join(tmpdir(), 'sandlot-kubectl-'));
  const kube = (await ensureBinaries(['kube']))('kube');
  await writeFile(join(folder, 'kubectl'), `#!/bin/sh\nexec '${kube}' kubectl "$@"\n`, { mode: 0o755 });
  return `${folder}:${process.env['PATH'] ?? ''}`;
}

afterAll(async () => {
  await runKubectlOrFail([
    ...inTenant,
    'delete',
    `serviceaccount/${account}`,
    `rolebinding/${account}`,
    '--ignore-not-found',
  ]);
  if (folder !== '') await rm(folder, { recursive: true, force: true });
});

describe('the k8s-agent-sandbox client for Python', () =>
  registerPythonTests('agent_sandbox', async () => {
    await runKubectlOrFail([...inTenant, 'create', 'serviceaccount', account]);
    const who = `--serviceaccount=tenant-a:${account}`;
    await runKubectlOrFail([...inTenant, 'create', 'rolebinding', account, '--clusterrole=edit', who]);
    return {
      GATEWAY_TOKEN: (await runKubectlOrFail([...inTenant, 'create', 'token', account])).trim(),
      PATH: await preparePath(),
      ROUTER_NAMESPACE: inject('releaseNamespace'),
    };
  }));
