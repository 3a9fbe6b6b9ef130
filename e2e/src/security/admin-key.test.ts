import { createKubeClient, loadCredentials } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { openAdminPort } from '../support/security/admin-port.ts';
import type { AdminPort } from '../support/security/admin-port.ts';
import { callApi, openKey } from '../support/security/tenants.ts';
import { eventually } from '../support/team.ts';

const NAMESPACE = 'tenant-b';
const POOL = `admin-${process.pid}`;

const stack = new AsyncDisposableStack();
let client: KubeClient;
let admin: string;
let port: AdminPort;
beforeAll(async () => {
  const credentials = await loadCredentials({ kubeconfig: inject('kubeconfigPath') });
  client = stack.adopt(createKubeClient({ credentials }), (made) => made.close());
  admin = stack.use(await openKey(client, NAMESPACE, { role: 'admin' })).text;
  port = stack.use(await openAdminPort());
});
afterAll(() => stack.disposeAsync());

describe('an admin key', () => {
  it('makes an API key, which works until it is revoked', async () => {
    const made = await port.call('POST /api/v1/keys', admin, { namespace: NAMESPACE });
    expect(made.status).toBe(201);
    const { id = '', key = '' } = JSON.parse(made.body) as Record<string, string>;
    expect((await callApi('GET /api/v1/key', key)).status).toBe(200);
    expect((await port.call('GET /api/v1/keys', key)).status).toBe(403);
    expect((await callApi('GET /api/v1/keys', admin)).status).toBe(404);
    expect((await port.call('GET /api/v1/keys', admin)).body).toContain(`"${id}"`);
    expect((await port.call(`DELETE /api/v1/keys/${id}`, admin)).status).toBe(204);
    await eventually('the key is refused', async () =>
      (await callApi('GET /api/v1/key', key)).status === 401 ? true : undefined,
    );
  });

  it('makes, scales and deletes a pool', async () => {
    const pool = { name: POOL, template: 'base', replicas: 0 };
    expect((await callApi('GET /api/v1/templates/base', admin)).status).toBe(200);
    expect((await port.call('POST /api/v1/pools', admin, pool)).status).toBe(201);
    expect((await port.call(`PATCH /api/v1/pools/${POOL}`, admin, { replicas: 1 })).status).toBe(200);
    const { status, body } = await callApi(`GET /api/v1/pools/${POOL}`, admin);
    expect([status, JSON.parse(body)]).toMatchObject([200, { template: 'base', replicas: 1 }]);
    expect((await port.call(`DELETE /api/v1/pools/${POOL}`, admin)).status).toBe(204);
    expect((await callApi(`GET /api/v1/pools/${POOL}`, admin)).status).toBe(404);
  });
});
