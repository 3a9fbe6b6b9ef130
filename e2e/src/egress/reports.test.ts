import { annotations, sandboxClaims } from '@sandlot/api-types';
import { createKubeClient, loadCredentials } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { z } from 'zod';
import { openUpstream } from '../support/egress/upstream.ts';
import { runSandlotAsTenant } from '../support/sandlot.ts';
import { openSandbox, readAccess } from '../support/sdk/client.ts';
import { callApi } from '../support/security/tenants.ts';

/** An address that this machine takes while the tests run, from a block without hosts. */
const OUTSIDE = '192.175.48.80';
const [LISTED, OTHER] = ['listed.report.example', 'other.report.example'] as const;
const SOON = { timeout: 30_000, interval: 200 };
const report = z.object({
  refusals: z.array(z.object({ host: z.string(), protocol: z.string(), reason: z.string(), count: z.number() })),
  complete: z.boolean(),
});

const stack = new AsyncDisposableStack();
let client: KubeClient;

beforeAll(async () => {
  stack.use(await openUpstream({ address: OUTSIDE, names: [LISTED, OTHER] }));
  client = createKubeClient({ credentials: await loadCredentials({ kubeconfig: inject('kubeconfigPath') }) });
  stack.defer(() => client.close());
});
afterAll(() => stack.disposeAsync());

async function readReport(id: string): Promise<z.output<typeof report>> {
  const { apiKey } = await readAccess();
  return report.parse(JSON.parse((await callApi(`GET /api/v1/claims/${id}/egress`, apiKey)).body));
}

describe('what a sandbox was refused', () => {
  it('is shown to its tenant, by the API and the command line, and to no other one', async () => {
    await using sandbox = await openSandbox({ network: { denyOut: ['0.0.0.0/0'], allowOut: [LISTED] } });
    const id = sandbox.sandboxId;
    await sandbox.commands.run(`curl --silent http://${LISTED}/echo; curl --silent http://${OTHER}/echo || true`);
    const counted = { host: OTHER, protocol: 'dns', reason: 'not_listed' };
    await expect
      .poll(() => readReport(id), SOON)
      .toMatchObject({
        complete: true,
        refusals: expect.arrayContaining([expect.objectContaining(counted)]) as unknown,
      });
    expect((await readReport(id)).refusals.some(({ host }) => host === LISTED)).toBe(false);
    const { apiKey, apiUrl } = await readAccess();
    const shown = await runSandlotAsTenant({ E2B_API_URL: apiUrl, E2B_API_KEY: apiKey }, 'egress', id);
    expect(shown).toMatch(/\d+ +other\.report\.example +dns +not_listed/);
    const other = await readAccess('E2B_API_KEY_2');
    expect((await callApi(`GET /api/v1/claims/${id}/egress`, other.apiKey)).status).toBe(404);
  });

  it('is what a list would have refused while that is observed', async () => {
    await using sandbox = await openSandbox();
    const id = sandbox.sandboxId;
    const network = JSON.stringify({ observe: true, denyOut: ['0.0.0.0/0'], allowOut: [LISTED] });
    const key = { namespace: 'tenant-a', name: id };
    await client.mergePatch(sandboxClaims, key, { metadata: { annotations: { [annotations.network]: network } } });
    const reach = async (host: string): Promise<string> =>
      (await sandbox.commands.run(`curl --silent http://${host}/echo || true`)).stdout;
    const observed = { host: OTHER, protocol: 'http', reason: 'observed' };
    await expect
      .poll(async () => [await reach(OTHER), await reach(LISTED), (await readReport(id)).refusals], SOON)
      .toEqual([
        expect.stringContaining(OTHER),
        expect.stringContaining(LISTED),
        expect.arrayContaining([expect.objectContaining(observed)]),
      ]);
    expect((await readReport(id)).refusals.some(({ host }) => host === LISTED)).toBe(false);
  });
});
