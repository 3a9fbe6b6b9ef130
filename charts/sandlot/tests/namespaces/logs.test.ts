import { describe, expect, it } from 'vitest';
import { find, podTemplates, render } from '../chart.ts';
import type { Rendered } from '../chart.ts';

const NAME = 'sandlot-api-logs';
const RULES = [{ apiGroups: [''], resources: ['pods/log'], verbs: ['get'] }];

const listPlaces = (objects: readonly Rendered[]): readonly string[] =>
  objects
    .filter(({ metadata }) => metadata.name === NAME)
    .map(({ kind, metadata: { namespace = 'the cluster' } }) => `${kind} in ${namespace}`);

describe('the right of the API to read logs', () => {
  it('is nowhere by default: a ClusterRole without a binding is none', async () => {
    const objects = await render();
    expect(listPlaces(objects)).toEqual(['ClusterRole in the cluster']);
    expect(find(objects, 'ClusterRole', NAME).rules).toEqual(RULES);
  });

  it('is in the namespaces that the values name, and never in the cluster', async () => {
    const objects = await render({ api: { logs: { namespaces: ['team-a', 'team-b'] } } });
    expect(listPlaces(objects)).toEqual(['ClusterRole in the cluster', 'RoleBinding in team-a', 'RoleBinding in team-b']);
    expect(find(objects, 'RoleBinding', NAME)).toMatchObject({
      roleRef: { kind: 'ClusterRole', name: NAME },
      subjects: [{ kind: 'ServiceAccount', name: 'sandlot-api', namespace: 'sandlot-system' }],
    });
    const inCluster = objects.filter(({ kind }) => kind === 'ClusterRoleBinding');
    expect(JSON.stringify(inCluster)).not.toContain(NAME);
  });

  it('is in each namespace that a release serves, which then needs no value', async () => {
    const values = { watchNamespaces: ['team-a', 'team-b'], rbac: { aggregate: false } };
    const objects = await render(values);
    expect(listPlaces(objects).toSorted()).toEqual(
      ['Role', 'RoleBinding'].flatMap((kind) => ['team-a', 'team-b'].map((namespace) => `${kind} in ${namespace}`)),
    );
    expect(find(objects, 'Role', NAME).rules).toEqual(RULES);
    await expect(render({ ...values, api: { logs: { namespaces: ['team-c'] } } })).rejects.toThrow('api.logs.namespaces');
  });
});

describe('the store of logs', () => {
  const store = { url: 'https://loki.example.com/prefix', tenant: 'sandboxes', selector: { cluster: 'one' } };
  const renderStore = (more: object = {}) => render({ api: { logs: { store: { ...store, ...more } } } });
  const listVariables = (objects: readonly Rendered[]) => {
    const [, pod] = podTemplates(objects).find(([name]) => name === 'sandlot-api') ?? [];
    return (pod?.spec.containers[0]?.env ?? []).filter(({ name }) => name.startsWith('LOG_STORE_'));
  };

  it('is none by default', async () => {
    expect(listVariables(await render())).toEqual([]);
  });

  it('is what the values say, and its credentials come from a Secret', async () => {
    const variables = listVariables(await renderStore({ auth: { type: 'basic', existingSecret: 'loki' } }));
    expect(variables).toEqual([
      { name: 'LOG_STORE_URL', value: 'https://loki.example.com/prefix' },
      { name: 'LOG_STORE_TENANT', value: 'sandboxes' },
      { name: 'LOG_STORE_NAMESPACE_LABEL', value: 'namespace' },
      { name: 'LOG_STORE_POD_LABEL', value: 'pod' },
      { name: 'LOG_STORE_SELECTOR', value: '{"cluster":"one"}' },
      { name: 'LOG_STORE_PASSWORD', valueFrom: { secretKeyRef: { name: 'loki', key: 'password' } } },
      { name: 'LOG_STORE_USER', valueFrom: { secretKeyRef: { name: 'loki', key: 'username' } } },
    ]);
    expect(listVariables(await renderStore({ auth: { type: 'bearer', existingSecret: 'loki' } }))).toContainEqual({
      name: 'LOG_STORE_TOKEN',
      valueFrom: { secretKeyRef: { name: 'loki', key: 'token' } },
    });
  });

  it('is reached by the API at its port, at the named peers where there are some', async () => {
    const to = [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'logs' } } }];
    const findEgress = async (more: object) =>
      (find(await renderStore(more), 'NetworkPolicy', 'sandlot-api').spec as { egress: unknown }).egress;
    expect(await findEgress({})).toContainEqual({ ports: [{ port: 443, protocol: 'TCP' }] });
    expect(await findEgress({ url: 'http://loki.logs.svc:3100', to })).toContainEqual({
      ports: [{ port: 3100, protocol: 'TCP' }],
      to,
    });
  });

  it.each([
    [{ url: 'loki:3100' }, 'url'],
    [{ url: 'http://user:secret@loki' }, 'url'],
    [{ labels: { pod: 'pod="x",other' } }, 'labels'],
    [{ auth: { type: 'bearer' } }, 'api.logs.store.auth.existingSecret'],
    [{ auth: { existingSecret: 'loki' } }, 'api.logs.store.auth.type'],
    [{ auth: { type: 'digest', existingSecret: 'loki' } }, 'type'],
  ])('is refused as %j', async (more, field) => {
    await expect(renderStore(more)).rejects.toThrow(field);
  });
});
