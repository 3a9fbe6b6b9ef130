import { describe, expect, it } from 'vitest';
import { find, render } from '../chart.ts';
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
