import { describe, expect, it } from 'vitest';
import { chartFolder, helm, podTemplates, render } from './chart.ts';
import type { Rendered } from './chart.ts';
import { makeCredentials } from './credentials.ts';

const SECRET = 'sandlot-runtime';
const GATEWAY_SECRET = 'sandlot-gateway-key';

/** Returns, by workload and variable, the keys of the Secret that each pod gets. */
function findKeyVariables(objects: readonly Rendered[]): Record<string, object> {
  const isKey = ({ valueFrom }: Variable): boolean => /"(signing|envd|identity)\.[a-z]+"/.test(JSON.stringify(valueFrom ?? {}));
  const named = podTemplates(objects).map(([name, { spec }]): [string, object] => {
    const variables: readonly Variable[] = spec.containers.flatMap(({ env = [] }) => env);
    return [name, Object.fromEntries(variables.filter(isKey).map((variable) => [variable.name, variable.valueFrom]))];
  });
  return Object.fromEntries(named.filter(([, keys]) => Object.keys(keys).length > 0));
}

interface Variable {
  readonly name: string;
  readonly valueFrom?: object;
}

const key = (name: string, secret = SECRET): object => ({ secretKeyRef: { name: secret, key: name } });

describe('the keys of the in-sandbox daemon', () => {
  it('go only where needed: the public key to the sandbox-controller, the others to the claim-controller', async () => {
    const { 'sandlot-sandbox-controller': builder, 'sandlot-claim-controller': speaker } = findKeyVariables(await render());
    expect(builder).toMatchObject({ RUNTIME_PUBLIC_KEY: key('signing.pub') });
    expect(speaker).toMatchObject({ RUNTIME_SIGNING_KEY: key('signing.key'), ENVD_TOKEN_KEY: key('envd.key') });
    expect(speaker).not.toHaveProperty('RUNTIME_PUBLIC_KEY');
  });

  it("may be in the user's own Secret, and then the key-keeper makes none", async () => {
    const objects = await render({ runtime: { existingSecret: 'own' } });
    expect(await makeCredentials(objects)).not.toHaveProperty(SECRET);
    expect(findKeyVariables(objects)['sandlot-sandbox-controller']).toMatchObject({ RUNTIME_PUBLIC_KEY: key('signing.pub', 'own') });
  });
});

describe('the seed from which the keys of sandboxes come', () => {
  const mounted = { runtime: { delivery: 'ImageVolume' } };
  const findSeed = (objects: readonly Rendered[]): object =>
    Object.fromEntries(
      Object.entries(findKeyVariables(objects)).flatMap(([workload, keys]) =>
        Object.entries(keys)
          .filter(([variable]) => variable === 'RUNTIME_IDENTITY_SEED')
          .map(([, from]) => [workload, from]),
      ),
    );

  it('goes to the sandbox-controller alone, and only if the daemon comes as an image volume', async () => {
    expect(findSeed(await render())).toEqual({});
    expect(findSeed(await render(mounted))).toEqual({ 'sandlot-sandbox-controller': key('identity.seed') });
    const own = { runtime: { ...mounted.runtime, existingSecret: 'own' } };
    expect(findSeed(await render(own))).toEqual({ 'sandlot-sandbox-controller': key('identity.seed', 'own') });
  });

  it('is of no use on a cluster without image volumes, and the chart says so', async () => {
    const old = helm(['template', 'x', chartFolder, '--kube-version', '1.34.1', '--set', 'runtime.delivery=ImageVolume']);
    const { code, stderr } = await old;
    expect(code).toBe(1);
    expect(stderr).toContain('runtime.delivery: image volumes need Kubernetes 1.35, and the cluster has v1.34.1');
  });
});

describe('where daemons keep what processes print', () => {
  it('is said to the sandbox-controller if it is not their memory', async () => {
    const find = (objects: readonly Rendered[]): readonly unknown[] =>
      podTemplates(objects).flatMap(([name, { spec }]) =>
        spec.containers.flatMap(({ env = [] }) => env.flatMap((each) => (each.name === 'RUNTIME_RECORDS' ? [[name, each]] : []))),
      );
    expect(find(await render())).toEqual([]);
    const entry = { name: 'RUNTIME_RECORDS', value: 'log' };
    expect(find(await render({ runtime: { records: 'log' } }))).toEqual([['sandlot-sandbox-controller', entry]]);
  });
});

describe('the key by which daemons recognise the gateway', () => {
  it('goes to the gateway alone, and its public half to the sandbox-controller alone', async () => {
    const named = Object.entries(findKeyVariables(await render())).flatMap(([workload, keys]) =>
      Object.entries(keys).map(([variable, from]) => [workload, variable, JSON.stringify(from)] as const),
    );
    expect(named.filter(([, , from]) => from.includes(GATEWAY_SECRET))).toEqual([
      ['sandlot-sandbox-controller', 'GATEWAY_PUBLIC_KEYS', JSON.stringify(key('signing.pub', GATEWAY_SECRET))],
      ['sandlot-gateway', 'GATEWAY_SIGNING_KEY', JSON.stringify(key('signing.key', GATEWAY_SECRET))],
    ]);
  });

  it("may be in the user's own Secret, and does not exist without a gateway", async () => {
    const own = await render({ gateway: { existingSecret: 'own' } });
    expect(findKeyVariables(own)['sandlot-gateway']).toEqual({ GATEWAY_SIGNING_KEY: key('signing.key', 'own') });
    for (const objects of [own, await render({ gateway: { enabled: false } })]) {
      expect(await makeCredentials(objects)).not.toHaveProperty(GATEWAY_SECRET);
    }
    const none = findKeyVariables(await render({ gateway: { enabled: false } }));
    expect(Object.keys(none['sandlot-sandbox-controller'] ?? {})).toEqual(['RUNTIME_PUBLIC_KEY']);
  });
});
