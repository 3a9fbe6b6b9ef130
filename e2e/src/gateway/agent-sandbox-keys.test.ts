import { sandboxClaims } from '@sandlot/api-types';
import { createKubeClient, loadCredentials } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { eventually } from '../support/team.ts';
import { readAccess, openSandbox } from '../support/sdk/client.ts';

const NAMESPACE = 'tenant-a';
const CLAIM = `agent-${process.pid}`;

let client: KubeClient;
let gateway: string;
let sandboxName: string;
beforeAll(async () => {
  client = createKubeClient({ credentials: await loadCredentials({ kubeconfig: inject('kubeconfigPath') }) });
  gateway = (await readAccess()).apiUrl;
  const metadata = { namespace: NAMESPACE, name: CLAIM };
  await client.create(sandboxClaims, { metadata, spec: { warmPoolRef: { name: 'base' } } });
  sandboxName = await readSandboxName(CLAIM);
});
afterAll(async () => {
  await client.delete(sandboxClaims, { namespace: NAMESPACE, name: CLAIM });
  await client.close();
});

/** Waits until a claim is Ready and returns the name of its Sandbox. */
function readSandboxName(name: string): Promise<string> {
  return eventually(`the claim ${name} is served`, async () => {
    const { status } = await client.get(sandboxClaims, { namespace: NAMESPACE, name });
    return (status?.readyReplicas ?? 0) > 0 ? status?.sandbox?.name : undefined;
  });
}

/** Runs a command as an agent-sandbox client does. */
function execute(sandbox: string, headers: Readonly<Record<string, string>>): Promise<Response> {
  const named = { 'X-Sandbox-ID': sandbox, 'X-Sandbox-Namespace': NAMESPACE, 'Content-Type': 'application/json' };
  const body = JSON.stringify({ command: 'echo $((6 * 7))' });
  return fetch(`${gateway}/execute`, { method: 'POST', headers: { ...named, ...headers }, body });
}

describe('agent-sandbox headers with an API key', () => {
  it('reach the Sandbox of a claim in its namespace', async () => {
    const { apiKey } = await readAccess();
    for (const headers of [{ 'X-API-Key': apiKey }, { Authorization: `Bearer ${apiKey}` }] as const) {
      const answer = await execute(sandboxName, headers);
      expect([answer.status, await answer.json()]).toEqual([200, { stdout: '42\n', stderr: '', exit_code: 0 }]);
    }
  });

  it('are refused in another namespace and without a valid key', async () => {
    const { apiKey } = await readAccess('E2B_API_KEY_2');
    expect((await execute(sandboxName, { 'X-API-Key': apiKey })).status).toBe(403);
    expect((await execute(sandboxName, { 'X-API-Key': 'e2b_0' })).status).toBe(401);
    expect((await execute(sandboxName, {})).status).toBe(401);
  });

  it('run nothing in a sandbox created through the E2B API, not even with its own key', async () => {
    await using sandbox = await openSandbox();
    const { apiKey } = await readAccess();
    const answer = await execute(await readSandboxName(sandbox.sandboxId), { 'X-API-Key': apiKey });
    expect([answer.status, await answer.text()]).toEqual([403, expect.stringContaining('made for E2B clients')]);
  });
});
