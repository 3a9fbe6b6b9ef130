import { ensureBinaries } from '@sandlot/local-cluster';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Rendered } from '../chart.ts';
import { profiles, render, valueSets, withHibernation } from '../chart.ts';
import { components, extras, placement, valuesOf } from '../components/components.ts';
import { readCustomSchemas, readDefinitions, releases } from './sources.ts';
import type { Definitions, Schema } from './strict-schema.ts';
import { buildKindSchema } from './strict-schema.ts';

const exposed = {
  service: { type: 'LoadBalancer', externalTrafficPolicy: 'Local', ipFamilyPolicy: 'PreferDualStack', loadBalancerSourceRanges: ['192.0.2.0/24'] },
  ingress: { enabled: true, className: 'nginx', tls: [{ secretName: 'c', hosts: ['a.example.com'] }] },
  httpRoute: { enabled: true, parentRefs: [{ name: 'public' }], hostnames: ['a.example.com'] },
  autoscaling: { enabled: true, targetMemory: 80 },
};

/** Renderings with what no other set of values has. */
const features: Readonly<Record<string, object>> = {
  doors: { api: exposed, gateway: { ...exposed, tls: { secret: 'wildcard' }, agentSandbox: { router: { enabled: true, namespace: 'x' } } } },
  'a ServiceMonitor': { metrics: { serviceMonitor: { enabled: true } } },
  shards: { controllers: { shards: 2 } },
  'no key-keeper': { keyKeeper: { enabled: false } },
  'no network policies': { networkPolicy: { enabled: false } },
  extras: { extraObjects: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'mine' } }], ...valuesOf(components, { ...placement, ...extras, serviceAccountAnnotations: { 'iam.example.com/role': 'sandlot' } }) },
  monitoring: { metrics: { podMonitor: { enabled: true }, rules: { enabled: true }, dashboards: { enabled: true } } },
};

const all = { ...valueSets, ...profiles, ...features };
/** Image volumes, which hibernation needs, came later than the oldest release. */
const needsNewer = (values: object): boolean => 'runtime' in values && JSON.stringify(values.runtime).includes('ImageVolume');

let folder = '';
let customSchemas: ReadonlyMap<string, Schema>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sandlot-schemas-'));
  customSchemas = await readCustomSchemas();
}, 600_000);

afterAll(() => rm(folder, { recursive: true, force: true }));

interface Finding {
  readonly status: string;
  readonly msg: string;
  readonly name?: string;
}

/** Returns what kubeconform has against the objects. */
async function check(objects: readonly Rendered[], definitions: Definitions): Promise<readonly string[]> {
  for (const { apiVersion, kind } of objects) {
    const schema = customSchemas.get(`${apiVersion}/${kind}`) ?? buildKindSchema(definitions, apiVersion, kind);
    const suffix = apiVersion.split('/').map((part) => part.split('.')[0]).join('-');
    await writeFile(join(folder, `${kind}-${suffix}.json`.toLowerCase()), JSON.stringify(schema));
  }
  const file = join(folder, 'objects.json');
  await writeFile(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }));
  const bin = await ensureBinaries(['kubeconform']);
  const location = join(folder, '{{.ResourceKind}}{{.KindSuffix}}.json');
  const args = ['-strict', '-verbose', '-output', 'json', '-schema-location', location, file];
  const stdout = await new Promise<string>((resolve) => {
    execFile(bin('kubeconform'), args, { maxBuffer: 16 * 2 ** 20 }, (_, text) => resolve(text));
  });
  const { resources } = JSON.parse(stdout) as { readonly resources: readonly Finding[] };
  const valid = resources.filter(({ status }) => status === 'statusValid');
  const findings = resources.filter(({ status }) => status !== 'statusValid').map(({ name, msg }) => `${name ?? ''}: ${msg}`);
  return valid.length + findings.length === objects.length ? findings : [...findings, 'some objects were not looked at'];
}

describe.each(Object.entries(releases))('the specification of the %s Kubernetes', (age, version) => {
  let definitions: Definitions;
  beforeAll(async () => {
    definitions = await readDefinitions(version);
  }, 600_000);

  const renderings = Object.entries(all).filter(([, values]) => age === 'newest' || !needsNewer(values));

  it.each(renderings)('admits every object of the %s values', async (_, values) => {
    const objects = await render({ ...values, crds: { enabled: false } }, version);
    expect(await check(objects, definitions)).toEqual([]);
  });

  it('admits the CRDs', async () => {
    const objects = (await render({}, version)).filter(({ kind }) => kind === 'CustomResourceDefinition');
    expect(objects.length).toBeGreaterThan(5);
    expect(await check(objects, definitions)).toEqual([]);
  });

  it('refuses a field that it does not have, and a value of another type', async () => {
    const [service] = (await render({}, version)).filter(({ kind }) => kind === 'Service');
    const wrong = { ...service, spec: { ...service?.spec, portz: [], type: 5 } } as unknown as Rendered;
    const [finding] = await check([wrong], definitions);
    expect(finding).toMatch(/portz/);
    expect(finding).toMatch(/type/);
  });
});

it('has a rendering of every kind in the table', async () => {
  const kinds = (await Promise.all(Object.values({ ...all, hibernating: withHibernation }).map((values) => render(values)))).flat();
  for (const kind of ['Ingress', 'HTTPRoute', 'HorizontalPodAutoscaler', 'PodMonitor', 'ServiceMonitor', 'PrometheusRule', 'PriorityClass'])
    expect(kinds.some((object) => object.kind === kind), kind).toBe(true);
});
