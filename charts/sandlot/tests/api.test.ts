import { describe, expect, it } from 'vitest';
import { find, podTemplates, render, template, valueSets, withHibernation } from './chart.ts';
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

/** The only role over Secrets in the namespace of the release. */
const KEEPER = 'Role sandlot-system sandlot-key-keeper';

/** With credentials of egress, two other services read Secrets of every namespace; the API has only its vault. */
const OF_BUILDS = 'Role sandlot-system-envs sandlot-template-builder-envs';
const OF_WEBHOOKS = ['api-webhooks', 'webhooks-hooks'].map((role) => `Role sandlot-system-webhooks sandlot-${role}`);
const WITH_CREDENTIALS = [
  'ClusterRole  sandlot-claim-controller',
  'ClusterRole  sandlot-egress',
  'Role sandlot-system-vault sandlot-api-vault',
  'Role sandlot-system-vault sandlot-egress-vault',
];

describe('the API of the chart', () => {
  it('may write claims and edit Sandboxes, and reads Secrets only in the namespace of its keys', async () => {
    expect(verbsByResource(find(await render(), 'ClusterRole', 'sandlot-api'))).toEqual({
      'extensions.agents.x-k8s.io/sandboxclaims': 'create delete get list patch watch',
      'extensions.agents.x-k8s.io/sandboxwarmpools': 'create delete get list patch watch',
      'extensions.agents.x-k8s.io/sandboxtemplates': 'get list watch',
      'agents.x-k8s.io/sandboxes': 'get list patch watch',
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

  it('has no right over Secrets in the whole cluster, nor in the namespace of the release', async () => {
    const envs = ['sandlot-api-envs', 'sandlot-claim-controller-envs'].map((role) => `Role sandlot-system-envs ${role}`);
    for (const [values, keys, others] of [
      [{}, 'sandlot-system-keys', []],
      [{ watchNamespaces: ['team-a', 'team-b'] }, 'sandlot-system-keys', []],
      [valueSets['high-availability'], 'sandlot-keys', [...WITH_CREDENTIALS, OF_BUILDS, ...OF_WEBHOOKS]],
    ] as const) {
      const objects = await render(values);
      const places = objects
        .filter(({ rules }) => rules?.some(({ resources }) => resources.includes('secrets')) === true)
        .map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? ''} ${metadata.name}`);
      expect(places.sort()).toEqual([...envs, `Role ${keys} sandlot-api-keys`, KEEPER, ...others].sort());
    }
  });

  it('may only create the Secrets with variables, which the claim-controller alone reads and deletes', async () => {
    const objects = await render();
    expect(verbsByResource(find(objects, 'Role', 'sandlot-api-envs'))).toEqual({ '/secrets': 'create' });
    // A fork has the variables of its source.
    const forking = find(await render(withHibernation), 'Role', 'sandlot-api-envs');
    expect(verbsByResource(forking)).toEqual({ '/secrets': 'create get' });
    const reader = find(objects, 'Role', 'sandlot-claim-controller-envs');
    expect(verbsByResource(reader)).toEqual({ '/secrets': 'delete get list' });
    for (const workload of ['sandlot-api', 'sandlot-claim-controller']) {
      expect(findVariable(objects, 'ENVS_NAMESPACE', workload)?.value).toBe('sandlot-system-envs');
    }
  });

  it('has namespaces for keys and variables that outlive the release, unless values name others', async () => {
    const names = (objects: readonly Rendered[]): string[] =>
      objects.filter(({ kind }) => kind === 'Namespace').map(({ metadata }) => metadata.name);
    const objects = await render();
    expect(names(objects)).toEqual(['sandlot-system-keys', 'sandlot-system-envs']);
    for (const name of names(objects)) {
      const { annotations } = find(objects, 'Namespace', name).metadata;
      expect(annotations).toMatchObject({ 'helm.sh/resource-policy': 'keep' });
    }
    expect(names(await render({ api: { keysNamespace: 'keys', envsNamespace: 'envs' } }))).toEqual([]);
  });

  it.each([
    ['keysNamespace', 'sandlot-system'],
    ['envsNamespace', 'sandlot-system'],
    ['envsNamespace', 'sandlot-system-keys'],
  ])('refuses %s %s, where other Secrets are', async (field, namespace) => {
    await expect(render({ api: { [field]: namespace } })).rejects.toThrow('must differ');
  });

  describe('with credentials of egress', () => {
    const withVault = { egress: { enabled: true, credentials: { enabled: true } } };

    it('keeps secrets and headers in a namespace of their own, which outlives the release', async () => {
      const objects = await render(withVault);
      expect(findVariable(objects, 'VAULT_NAMESPACE')?.value).toBe('sandlot-system-vault');
      const { annotations } = find(objects, 'Namespace', 'sandlot-system-vault').metadata;
      expect(annotations).toMatchObject({ 'helm.sh/resource-policy': 'keep' });
      const role = find(objects, 'Role', 'sandlot-api-vault');
      expect([role.metadata.namespace, verbsByResource(role)]).toEqual([
        'sandlot-system-vault',
        { '/secrets': 'create delete get list patch' },
      ]);
      expect(find(objects, 'RoleBinding', 'sandlot-api-vault')).toMatchObject({
        metadata: { namespace: 'sandlot-system-vault' },
        subjects: [{ kind: 'ServiceAccount', name: 'sandlot-api', namespace: 'sandlot-system' }],
      });
    });

    it('uses a namespace that the values name, and does not create it', async () => {
      const egress = { enabled: true, credentials: { enabled: true, vaultNamespace: 'safe' } };
      const objects = await render({ egress });
      expect(findVariable(objects, 'VAULT_NAMESPACE')?.value).toBe('safe');
      expect(find(objects, 'Role', 'sandlot-api-vault').metadata.namespace).toBe('safe');
      expect(objects.filter(({ kind, metadata }) => kind === 'Namespace' && metadata.name === 'safe')).toEqual([]);
    });

    it.each(['sandlot-system', 'sandlot-system-keys', 'sandlot-system-envs'])(
      'refuses the namespace %s, where other Secrets are',
      async (vaultNamespace) => {
        const egress = { enabled: true, credentials: { enabled: true, vaultNamespace } };
        await expect(render({ egress })).rejects.toThrow('egress.credentials.vaultNamespace');
      },
    );

    it.each([
      ['without egress', { egress: { credentials: { enabled: true } } }],
      ['with egress alone', { egress: { enabled: true } }],
      ['without the API', { ...withVault, api: { enabled: false }, gateway: { enabled: false } }],
    ])('has no vault %s', async (_, values) => {
      const objects = await render(values);
      expect(JSON.stringify(objects)).not.toMatch(/VAULT_NAMESPACE|sandlot-system-vault|vault-secret/);
    });
  });

  it('has the URL that the gateway uses, and opens no Secrets of namespaces to claims', async () => {
    const objects = await render();
    const url = findVariable(objects, 'API_URL', 'sandlot-gateway')?.value;
    expect(url).toBe('http://sandlot-api.sandlot-system.svc:8080');
    expect(findVariable(objects, 'ENVS_FROM_SECRETS', 'sandlot-claim-controller')?.value).toBe('false');
  });

  it('gets the token key by reference, and the first domain of the gateway', async () => {
    const objects = await render({ gateway: { domains: ['sandbox.example.com', 'other.example.com'] } });
    expect(findVariable(objects, 'ENVD_TOKEN_KEY')).toMatchObject({
      valueFrom: { secretKeyRef: { name: 'sandlot-runtime', key: 'envd.key' } },
    });
    for (const entry of ['number', 'other']) {
      expect(findVariable(objects, `ENVD_TOKEN_KEY_${entry.toUpperCase()}`)).toMatchObject({
        valueFrom: { secretKeyRef: { name: 'sandlot-runtime', key: `envd.key.${entry}`, optional: true } },
      });
    }
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

  it('opens its admin port only to the peers in its values', async () => {
    const describePort = async (values: object): Promise<unknown> => {
      const objects = await render(values);
      const { spec: service } = find(objects, 'Service', 'sandlot-api') as { spec?: { ports?: { name: string }[] } };
      const { spec: policy } = find(objects, 'NetworkPolicy', 'sandlot-api') as unknown as {
        spec: { ingress: readonly { ports: readonly { port: string }[]; from: readonly object[] }[] };
      };
      return {
        listens: findVariable(objects, 'ADMIN_LISTEN')?.value,
        isInService: service?.ports?.some(({ name }) => name === 'admin'),
        peers: policy.ingress.find(({ ports }) => ports.some(({ port }) => port === 'admin'))?.from,
      };
    };
    expect(await describePort({})).toEqual({ listens: 'loopback', isInService: false, peers: undefined });
    const allowFrom = [{ namespaceSelector: { matchLabels: { team: 'platform' } } }];
    expect(await describePort({ api: { admin: { allowFrom } } })).toEqual({
      listens: 'all',
      isInService: true,
      peers: allowFrom,
    });
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
