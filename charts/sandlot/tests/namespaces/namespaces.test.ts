import { describe, expect, it } from 'vitest';
import { find, podTemplates, render, template, valueSets } from '../chart.ts';
import type { Rendered } from '../chart.ts';

const SERVED = ['team-a', 'team-b'];
const WORKLOADS = ['claim-controller', 'sandbox-controller', 'warmpool-controller', 'gateway', 'api'].map((name) => `sandlot-${name}`);
/** Those that belong to the cluster and bring no right: policies, and the CRDs. */
const WITHOUT_RIGHTS = /^(ValidatingAdmissionPolicy|ValidatingAdmissionPolicyBinding|CustomResourceDefinition|Namespace)$/;

const renderServing = (values: object = { watchNamespaces: SERVED }): Promise<readonly Rendered[]> =>
  render({ ...values, rbac: { aggregate: false } });

const listNamed = (objects: readonly Rendered[], kind: string, name: string): readonly Rendered[] =>
  objects.filter((object) => object.kind === kind && object.metadata.name === name);

/** WATCH_NAMESPACES of each workload that has it. */
function listSettings(objects: readonly Rendered[]): Record<string, string | undefined> {
  return Object.fromEntries(
    podTemplates(objects).flatMap(([workload, { spec }]) => {
      const found = spec.containers.flatMap(({ env = [] }) => env.filter(({ name }) => name.startsWith('WATCH_')));
      return found.map(({ name, value }) => [`${workload} ${name}`, value] as const);
    }),
  );
}

describe('a release that serves several namespaces', () => {
  it('has no right in the cluster', async () => {
    const ofCluster = (await renderServing()).filter(({ metadata }) => metadata.namespace === undefined);
    expect(ofCluster.map(({ kind }) => kind).filter((kind) => !WITHOUT_RIGHTS.test(kind))).toEqual([]);
    expect((await renderServing()).filter(({ kind }) => kind.startsWith('ClusterRole'))).toEqual([]);
  });

  it.each(WORKLOADS)('has one Role of the %s in each, with the rights of its ClusterRole, bound to its account', async (name) => {
    const objects = await renderServing();
    const { rules } = find(await render(), 'ClusterRole', name);
    const all = listNamed(objects, 'Role', name);
    expect(all.map(({ metadata }) => metadata.namespace)).toEqual(SERVED);
    for (const role of all) expect(role.rules).toEqual(rules);
    const bindings = listNamed(objects, 'RoleBinding', name);
    expect(bindings.map(({ metadata }) => metadata.namespace)).toEqual(SERVED);
    for (const binding of bindings) {
      expect(binding).toMatchObject({
        roleRef: { kind: 'Role', name },
        subjects: [{ kind: 'ServiceAccount', name, namespace: 'sandlot-system' }],
      });
    }
  });

  it('tells its services which, and a release that serves all tells them nothing', async () => {
    const expected = Object.fromEntries(WORKLOADS.map((name) => [`${name} WATCH_NAMESPACES`, 'team-a,team-b']));
    expect(listSettings(await renderServing())).toEqual(expected);
    expect(listSettings(await render())).toEqual({});
  });

  it('keeps the leases in its own namespace', async () => {
    const leaders = (await renderServing()).filter(({ kind, metadata }) => kind === 'Role' && metadata.name.endsWith('-leader'));
    expect(new Set(leaders.map(({ metadata }) => metadata.namespace))).toEqual(new Set(['sandlot-system']));
  });

  it.each([
    ['claimController.persistentVolumes', { claimController: { persistentVolumes: true } }],
    ['hibernation.enabled', { hibernation: { enabled: true }, runtime: { delivery: 'ImageVolume' } }],
  ])('cannot have %s', async (value, values) => {
    await expect(render({ ...values, watchNamespaces: SERVED })).rejects.toThrow(new RegExp(`${value}: .*\\(watchNamespaces\\).*leave out one`));
    await expect(render({ ...values, watchNamespace: 'team-a' })).rejects.toThrow(new RegExp(`${value}: .*\\(watchNamespace\\).*leave out one`));
  });
});

describe('the deprecated watchNamespace', () => {
  it('renders what watchNamespaces with that one namespace renders', async () => {
    const { namespaced } = valueSets;
    const [old, present] = [{ watchNamespace: 'team-a' }, { watchNamespaces: ['team-a'] }].map((served) =>
      render({ ...namespaced, watchNamespaces: [], ...served }),
    );
    expect(await old).toEqual(await present);
  });

  it('is refused beside watchNamespaces, with what to do', async () => {
    const { code, stderr } = await template({ watchNamespace: 'team-c', watchNamespaces: SERVED });
    expect(code).toBe(1);
    expect(stderr).toContain('leave it out, and add team-c to watchNamespaces');
  });
});
