import { describe, expect, it } from 'vitest';
import { find, podTemplates, render, template, withHibernation } from '../chart.ts';
import type { PodTemplate } from '../chart.ts';
import { components, extras, placement, renderWorkload, rows, valuesOf, withAll } from './components.ts';
import type { Component } from './components.ts';

const spread = { maxSkew: 2, topologyKey: 'example.com/rack', whenUnsatisfiable: 'DoNotSchedule' };

/** What two replicas prefer by themselves. */
const ZONES = {
  preferredDuringSchedulingIgnoredDuringExecution: [
    {
      weight: 100,
      podAffinityTerm: {
        topologyKey: 'topology.kubernetes.io/zone',
        labelSelector: {
          matchLabels: {
            'app.kubernetes.io/name': 'sandlot',
            'app.kubernetes.io/instance': 'sandlot',
            'app.kubernetes.io/component': 'claim-controller',
          },
        },
      },
    },
  ],
};

function expectExtras({ metadata, spec }: PodTemplate): void {
  expect(metadata).toMatchObject({ labels: extras.podLabels, annotations: extras.podAnnotations });
  expect(spec['volumes']).toContainEqual(extras.extraVolumes[0]);
  const container = spec.containers[0] as unknown as Readonly<Record<string, unknown>>;
  expect(container['env']).toContainEqual(extras.extraEnv[0]);
  expect(container['envFrom']).toEqual(extras.extraEnvFrom);
  expect(container['volumeMounts']).toContainEqual(extras.extraVolumeMounts[0]);
}

async function renderPods(component: Component, values: object): Promise<PodTemplate> {
  const { spec } = await renderWorkload(component, values);
  if (spec?.template === undefined) throw new Error(`${component.name} has no Pods`);
  return spec.template;
}

const args = ({ spec }: PodTemplate): readonly string[] =>
  (spec.containers[0] as { readonly args?: readonly string[] }).args ?? [];

describe.each(rows)('the values of %s', (name, component) => {
  const serviceAccountAnnotations = { 'iam.example.com/role': 'sandlot' };
  const values = valuesOf(components, { ...placement, ...extras, serviceAccountAnnotations });

  it('place its Pods', async () => {
    expect((await renderPods(component, values)).spec).toMatchObject(placement);
  });

  it('add to its Pods', async () => {
    expectExtras(await renderPods(component, values));
  });

  it('annotate its account, whose token no Pod gets by itself', async () => {
    expect(find(await render(values), 'ServiceAccount', `sandlot-${name}`)).toMatchObject({
      metadata: { annotations: serviceAccountAnnotations },
      automountServiceAccountToken: false,
    });
    expect((await renderPods(component, values)).spec).toMatchObject({ serviceAccountName: `sandlot-${name}` });
  });
});

it.each(components.filter(({ takesArguments }) => takesArguments))(
  'the values of $name add arguments after the others',
  async (component) => {
    const values = valuesOf([component], { extraArgs: ['--extra=1'] });
    expect(args(await renderPods(component, values)).at(-1)).toBe('--extra=1');
  },
);

describe('the values of all components', () => {
  const inheriting = components.filter(({ inherits }) => inherits).map((component) => [component.name, component] as const);
  const controller = { ...placement, ...extras, topologySpreadConstraints: [spread] };

  it.each(inheriting)('stand in for those of %s', async (_, component) => {
    const pods = await renderPods(component, { ...withAll, controller });
    expect(pods.spec).toMatchObject(placement);
    expect(pods.spec.topologySpreadConstraints).toMatchObject([spread]);
    expectExtras(pods);
  });

  it('leave the placement of servers and nodes to these', async () => {
    const controlled = await render({ ...withAll, controller });
    for (const { name, kind } of components.filter(({ inherits }) => !inherits))
      expect(find(controlled, kind, `sandlot-${name}`).spec?.template?.spec).not.toHaveProperty('nodeSelector');
  });

  it('are joined with those of a component: its placement replaces theirs, its extras come after theirs', async () => {
    const pods = await renderPods(components[2] as Component, {
      ...withHibernation,
      controller: { ...controller, args: ['--leader-elect'] },
      claimController: {
        nodeSelector: { own: 'yes' },
        podLabels: { 'example.com/team': 'claims' },
        extraEnv: [{ name: 'OWN', value: '1' }],
        extraArgs: ['--kube-api-qps=100'],
      },
    });
    expect(pods.spec['nodeSelector']).toEqual({ own: 'yes' });
    expect(pods.metadata.labels).toMatchObject({ 'example.com/team': 'claims' });
    expect(pods.spec.containers[0]?.env?.slice(-2).map(({ name }) => name)).toEqual(['GREETING', 'OWN']);
    expect(args(pods)).toEqual(['--leader-elect', '--kube-api-qps=100']);
  });

  it('spread two replicas by default, and a rule that selects no Pods counts those of its component', async () => {
    const claims = components[2] as Component;
    const rules = async (values: object): Promise<readonly object[]> =>
      (await renderPods(claims, valuesOf([claims], values))).spec.topologySpreadConstraints ?? [];
    expect(await rules({})).toEqual([]);
    const labelSelector = { matchLabels: { 'app.kubernetes.io/component': 'claim-controller' } };
    // A second rule, for zones, would have the scheduler ignore both on nodes without a zone.
    expect(await rules({ replicas: 2 })).toMatchObject([{ topologyKey: 'kubernetes.io/hostname', labelSelector }]);
    expect(await rules({ topologySpreadConstraints: [spread] })).toMatchObject([{ ...spread, labelSelector }]);
    const own = { ...spread, labelSelector: { matchLabels: { app: 'claims' } } };
    expect(await rules({ topologySpreadConstraints: [own] })).toEqual([own]);
  });

  it.each([
    ['one replica', { replicas: 1 }, undefined],
    ['rules of their own', { replicas: 2, topologySpreadConstraints: [spread] }, undefined],
    ['no affinity', { replicas: 2 }, { podAntiAffinity: ZONES }],
    ['an affinity to nodes', { replicas: 2, affinity: { nodeAffinity: {} } }, { nodeAffinity: {}, podAntiAffinity: ZONES }],
    ['anti-affinity', { replicas: 2, affinity: { podAntiAffinity: {} } }, { podAntiAffinity: {} }],
  ])('with %s prefer another zone only where two replicas have no other wish', async (_, values, affinity) => {
    const claims = components[2] as Component;
    expect((await renderPods(claims, valuesOf([claims], values))).spec['affinity']).toEqual(affinity);
  });

  it('cannot move a lease without its Role', async () => {
    const objects = await render({ claimController: { extraArgs: ['--leader-election-namespace=leases'] } });
    const placed = objects.filter(({ metadata }) => metadata.name.endsWith('-leader'));
    const moved = placed.filter(({ metadata }) => metadata.namespace === 'leases').map(({ metadata }) => metadata.name);
    expect(moved).toEqual(['sandlot-claim-controller-leader', 'sandlot-claim-controller-leader']);
  });
});

describe('the priority class', () => {
  const classes = (values: object): Promise<readonly unknown[]> =>
    render(values).then((objects) => podTemplates(objects).map(([, { spec }]) => spec['priorityClassName']));

  it('is created and used by every Pod of the release', async () => {
    const made = find(await render(withAll), 'PriorityClass', 'sandlot-control-plane');
    expect(made).toMatchObject({ apiVersion: 'scheduling.k8s.io/v1', value: 1_000_000 });
    expect(new Set(await classes(withAll))).toEqual(new Set(['sandlot-control-plane']));
  });

  it('has the name and the value of the values', async () => {
    const values = { priorityClass: { create: true, name: 'control', value: 5 } };
    expect(find(await render(values), 'PriorityClass', 'control')).toMatchObject({ value: 5 });
    expect(new Set(await classes(values))).toEqual(new Set(['control']));
  });

  it.each([
    ['the values say so', { priorityClass: { create: false } }],
    ['the release has no right in the cluster', { watchNamespaces: ['team-a'] }],
  ])('is left out if %s', async (_, values) => {
    expect((await render(values)).filter(({ kind }) => kind === 'PriorityClass')).toEqual([]);
    expect(new Set(await classes(values))).toEqual(new Set([undefined]));
  });
});

describe('the values of the registry', () => {
  it('apply to every image: ours, those of the servers, and the daemon in sandboxes', async () => {
    const { stdout, code } = await template({ ...withAll, global: { imageRegistry: 'mirror.example.com' } });
    expect(code).toBe(0);
    const images = [...stdout.matchAll(/(?:image:|RUNTIME_IMAGE, value:) "?([^"\s]+)/g)].map(([, image]) => image);
    expect(images.length).toBeGreaterThan(9);
    expect(images.filter((image) => image?.startsWith('mirror.example.com/') !== true)).toEqual([]);
  });

  it('give every Pod the credentials', async () => {
    const values = { ...withAll, global: { imagePullSecrets: [{ name: 'mirror' }] }, image: { pullSecrets: [{ name: 'own' }] } };
    const secrets = podTemplates(await render(values)).map(([, { spec }]) => spec['imagePullSecrets']);
    expect(secrets).toHaveLength(15);
    for (const list of secrets) expect(list).toEqual([{ name: 'mirror' }, { name: 'own' }]);
  });
});

describe('objects of your own', () => {
  it('are rendered with the release, their templates evaluated', async () => {
    const asMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: '{{ .Release.Name }}-map' } };
    const asText = 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ include "sandlot.fullname" . }}-text\n';
    const objects = await render({ extraObjects: [asMap, asText] });
    for (const name of ['sandlot-map', 'sandlot-text']) expect(find(objects, 'ConfigMap', name).apiVersion).toBe('v1');
  });
});

it.each([
  ['a rule without a topology', { api: { topologySpreadConstraints: [{ maxSkew: 1 }] } }, /'\/api\/topologySpreadConstraints\/0'/],
  ['a mount without a path', { nats: { extraVolumeMounts: [{ name: 'x' }] } }, /'\/nats\/extraVolumeMounts\/0'/],
  ['a pull secret as text', { global: { imagePullSecrets: ['x'] } }, /'\/global\/imagePullSecrets\/0'/],
  ['a value of the system', { priorityClass: { value: 2_000_000_000 } }, /'\/priorityClass\/value'/],
  ['a flag without a dash', { gateway: { extraArgs: ['qps'] } }, /'\/gateway\/extraArgs\/0'/],
])('the schema rejects %s', async (_, values, message) => {
  const { code, stderr } = await template(values);
  expect(code).toBe(1);
  expect(stderr).toMatch(message);
});
