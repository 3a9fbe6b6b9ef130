import { sandboxClaims, sandboxSnapshots, sandboxTemplates, sandboxWarmPools, sandboxes } from '@sandlot/api-types';
import { secrets } from '@sandlot/kube';
import type { KubeObject, Resource } from '@sandlot/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Stack } from '../../test/stack.ts';
import type { ApiUnderTest } from '../../test/stack.ts';
import { unsupportedOperations } from './unsupported.ts';

/** Names in paths that a request could do something to, if an operation were served by mistake. */
const names: Record<string, string> = { templateID: 'base', '*rest': 'base/more' };

let stack: Stack;
let api: ApiUnderTest;
let key: string;
beforeAll(async () => {
  stack = await Stack.start();
  key = await stack.key({ namespace: 'team-a' });
  api = await stack.api();
  const { body } = await api.call('POST /v2/sandboxes', { key, body: { templateID: 'base' } });
  names['sandboxID'] = (body as { sandboxID: string }).sandboxID;
});
afterAll(async () => {
  await api[Symbol.asyncDispose]();
  await stack[Symbol.asyncDispose]();
});

/** The objects that the API may write, each as `kind namespace/name` with its version. */
async function listObjects(): Promise<readonly string[]> {
  const list = async <T extends KubeObject>(resource: Resource<T>): Promise<readonly string[]> => {
    const { items } = await stack.client.listAll(resource);
    return items.map(
      ({ metadata: { namespace = '', name, resourceVersion = '' } }) =>
        `${resource.kind} ${namespace}/${name} ${resourceVersion}`,
    );
  };
  const lists = await Promise.all([
    list(sandboxClaims),
    list(sandboxes),
    list(sandboxTemplates),
    list(sandboxWarmPools),
    list(sandboxSnapshots),
    list(secrets),
  ]);
  return lists.flat().toSorted();
}

it('access tokens are gone: none is made, and there is none to delete', async () => {
  const made = await api.call('POST /access-tokens', { key, body: { name: 'mine' } });
  const message = 'access tokens are not supported; use an API key';
  expect(made).toMatchObject({ status: 410, body: { code: 410, message } });
  expect(made.headers.get('should-retry')).toBe('false');
  expect((await api.call('DELETE /access-tokens/00000000-0000-4000-8000-000000000000', { key })).status).toBe(404);
  expect((await api.call('POST /access-tokens', { body: {} })).status).toBe(401);
});

describe('operations that are not built', () => {
  it.each([...Map.groupBy(unsupportedOperations, ({ feature }) => feature)])(
    'of %s answer 501 with the name of the feature, and change nothing',
    async (feature, operations) => {
      const before = await listObjects();
      expect(before).toContainEqual(expect.stringContaining(`SandboxClaim team-a/${names['sandboxID'] ?? ''}`));
      for (const { method, path } of operations) {
        const request = `${method.toUpperCase()} ${path.replaceAll(/\{([^}]+)\}/g, (_all, name: string) => names[name] ?? 'any')}`;
        const body = ['get', 'delete'].includes(method) ? undefined : { name: 'base', templateID: 'base' };
        const reply = await api.call(request, { key, body });
        expect(reply, request).toMatchObject({
          status: 501,
          body: { code: 501, error_code: 'not_supported', message: `${feature} is not supported by this installation` },
        });
        expect(reply.headers.get('should-retry'), request).toBe('false');
      }
      expect(await listObjects()).toEqual(before);
    },
  );

  it('ask for a key first, as every other', async () => {
    expect((await api.call('GET /volumes')).status).toBe(401);
  });
});
