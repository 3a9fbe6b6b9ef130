import { describe, expect, it } from 'vitest';
import { find, podTemplates, render, template, valueSets } from './chart.ts';
import type { ContainerSpec, Rendered } from './chart.ts';

type Variable = NonNullable<ContainerSpec['env']>[number];

function variable(objects: readonly Rendered[], wanted: string, workload = 'sandlot-api'): Variable | undefined {
  const [, pod] = podTemplates(objects).find(([name]) => name === workload) ?? [];
  return pod?.spec.containers[0]?.env?.find(({ name }) => name === wanted);
}

/** `group/resource` -> verbs. */
function rights({ rules = [] }: Rendered): Record<string, string> {
  const pairs = rules.flatMap(({ apiGroups, resources, verbs }) =>
    apiGroups.flatMap((group) => resources.map((resource) => [`${group}/${resource}`, verbs.join(' ')] as const)),
  );
  return Object.fromEntries(pairs);
}

describe('the API of the chart', () => {
  it('writes claims, edits Sandboxes, and can read no Secret outside of the namespace of its keys', async () => {
    expect(rights(find(await render(), 'ClusterRole', 'sandlot-api'))).toEqual({
      'extensions.agents.x-k8s.io/sandboxclaims': 'create delete get list patch watch',
      'extensions.agents.x-k8s.io/sandboxwarmpools': 'create delete get list patch watch',
      'extensions.agents.x-k8s.io/sandboxtemplates': 'get list watch',
      'agents.x-k8s.io/sandboxes': 'get list patch watch',
      '/secrets': 'create patch',
    });
    const keys = find(await render(valueSets['high-availability']), 'Role', 'sandlot-api-keys');
    expect([keys.metadata.namespace, rights(keys)]).toEqual([
      'sandlot-keys',
      { '/secrets': 'create delete get list patch watch' },
    ]);
    const records = find(await render(valueSets['high-availability']), 'Role', 'sandlot-api-records');
    expect([records.metadata.namespace, rights(records)]).toEqual([
      'sandlot-system',
      { '/configmaps': 'create delete get list patch' },
    ]);
    expect(variable(await render(valueSets['high-availability']), 'KEYS_NAMESPACE')?.value).toBe('sandlot-keys');
  });

  it('has its rights in one namespace where that is served alone', async () => {
    expect(find(await render({ watchNamespace: 'team-a' }), 'Role', 'sandlot-api').metadata.namespace).toBe('team-a');
  });

  it('is where the gateway looks for it, and lets claims have variables from Secrets', async () => {
    const objects = await render();
    const url = variable(objects, 'API_URL', 'sandlot-gateway')?.value;
    expect(url).toBe('http://sandlot-api.sandlot-system.svc:8080');
    expect(variable(objects, 'ENVS_FROM_SECRETS', 'sandlot-claim-controller')?.value).toBe('true');
  });

  it('has the key of tokens by reference, and the first domain of the gateway', async () => {
    const objects = await render({ gateway: { domains: ['sandbox.example.com', 'other.example.com'] } });
    expect(variable(objects, 'ENVD_TOKEN_KEY')).toMatchObject({
      valueFrom: { secretKeyRef: { name: 'sandlot-runtime', key: 'envd.key' } },
    });
    expect(variable(objects, 'SANDBOX_DOMAIN')?.value).toBe('sandbox.example.com');
    expect(variable(await render(), 'SANDBOX_DOMAIN')).toBeUndefined();
  });

  it('is reached from the gateway alone, unless others are named', async () => {
    const peers = async (values: object): Promise<unknown> => {
      const { spec } = find(await render(values), 'NetworkPolicy', 'sandlot-api');
      return (spec as unknown as { ingress: readonly { from: readonly unknown[] }[] }).ingress[0]?.from.length;
    };
    expect(await peers({})).toBe(1);
    expect(await peers({ api: { allowFrom: [{ namespaceSelector: { matchLabels: { team: 'a' } } }] } })).toBe(2);
  });

  it('can be left out', async () => {
    const objects = await render({ api: { enabled: false } });
    expect(objects.filter(({ metadata }) => /-api(-|$)/.test(metadata.name))).toEqual([]);
  });

  it.each([
    ['a namespace that is none', { keysNamespace: 'a/b' }],
    ['a timeout without a unit', { createTimeout: '50' }],
    ['a negative quota', { quotas: { sandboxes: -1 } }],
  ])('refuses %s', async (_, values) => {
    expect((await template({ api: values })).code).toBe(1);
  });
});
