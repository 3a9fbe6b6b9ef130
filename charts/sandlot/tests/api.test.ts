import { describe, expect, it } from 'vitest';
import { find, podTemplates, render, template, valueSets } from './chart.ts';
import type { ContainerSpec, Rendered } from './chart.ts';

type Variable = NonNullable<ContainerSpec['env']>[number];

function findVariable(objects: readonly Rendered[], wanted: string, workload = 'sandlot-api'): Variable | undefined {
  const [, pod] = podTemplates(objects).find(([name]) => name === workload) ?? [];
  return pod?.spec.containers[0]?.env?.find(({ name }) => name === wanted);
}

/** Returns verbs by `group/resource`. */
function verbsByResource({ rules = [] }: Rendered): Record<string, string> {
  const pairs = rules.flatMap(({ apiGroups, resources, verbs }) =>
    apiGroups.flatMap((group) => resources.map((resource) => [`${group}/${resource}`, verbs.join(' ')] as const)),
  );
  return Object.fromEntries(pairs);
}

describe('the API of the chart', () => {
  it('may write claims and edit Sandboxes, but reads Secrets only in the namespace of its keys', async () => {
    expect(verbsByResource(find(await render(), 'ClusterRole', 'sandlot-api'))).toEqual({
      'extensions.agents.x-k8s.io/sandboxclaims': 'create delete get list patch watch',
      'extensions.agents.x-k8s.io/sandboxwarmpools': 'create delete get list patch watch',
      'extensions.agents.x-k8s.io/sandboxtemplates': 'get list watch',
      'agents.x-k8s.io/sandboxes': 'get list patch watch',
      '/secrets': 'create patch',
    });
    const keys = find(await render(valueSets['high-availability']), 'Role', 'sandlot-api-keys');
    expect([keys.metadata.namespace, verbsByResource(keys)]).toEqual([
      'sandlot-keys',
      { '/secrets': 'create delete get list patch watch' },
    ]);
    const records = find(await render(valueSets['high-availability']), 'Role', 'sandlot-api-records');
    expect([records.metadata.namespace, verbsByResource(records)]).toEqual([
      'sandlot-system',
      { '/configmaps': 'create delete get list patch' },
    ]);
    expect(findVariable(await render(valueSets['high-availability']), 'KEYS_NAMESPACE')?.value).toBe('sandlot-keys');
  });

  it('has rights in only one namespace if the release serves only that one', async () => {
    expect(find(await render({ watchNamespace: 'team-a' }), 'Role', 'sandlot-api').metadata.namespace).toBe('team-a');
  });

  it('has the URL that the gateway uses, and lets claims take variables from Secrets', async () => {
    const objects = await render();
    const url = findVariable(objects, 'API_URL', 'sandlot-gateway')?.value;
    expect(url).toBe('http://sandlot-api.sandlot-system.svc:8080');
    expect(findVariable(objects, 'ENVS_FROM_SECRETS', 'sandlot-claim-controller')?.value).toBe('true');
  });

  it('gets the token key by reference, and the first domain of the gateway', async () => {
    const objects = await render({ gateway: { domains: ['sandbox.example.com', 'other.example.com'] } });
    expect(findVariable(objects, 'ENVD_TOKEN_KEY')).toMatchObject({
      valueFrom: { secretKeyRef: { name: 'sandlot-runtime', key: 'envd.key' } },
    });
    expect(findVariable(objects, 'SANDBOX_DOMAIN')?.value).toBe('sandbox.example.com');
    expect(findVariable(await render(), 'SANDBOX_DOMAIN')).toBeUndefined();
  });

  it('accepts connections only from the gateway and from the peers in its values', async () => {
    const countPeers = async (values: object): Promise<unknown> => {
      const { spec } = find(await render(values), 'NetworkPolicy', 'sandlot-api');
      return (spec as unknown as { ingress: readonly { from: readonly unknown[] }[] }).ingress[0]?.from.length;
    };
    expect(await countPeers({})).toBe(1);
    expect(await countPeers({ api: { allowFrom: [{ namespaceSelector: { matchLabels: { team: 'a' } } }] } })).toBe(2);
  });

  it('can be disabled', async () => {
    const objects = await render({ api: { enabled: false } });
    expect(objects.filter(({ metadata }) => /-api(-|$)/.test(metadata.name))).toEqual([]);
  });

  it.each([
    ['an invalid namespace', { keysNamespace: 'a/b' }],
    ['a timeout without a unit', { createTimeout: '50' }],
    ['a negative quota', { quotas: { sandboxes: -1 } }],
  ])('rejects %s', async (_, values) => {
    expect((await template({ api: values })).code).toBe(1);
  });
});
