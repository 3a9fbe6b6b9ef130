import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serviceNames } from '../images/recipes.ts';
import { buildObservabilityManifests, buildPrometheusConfig } from './manifests.ts';
import { readChartRules } from './rules.ts';

interface ObjectJson {
  kind: string;
  metadata: { name: string; namespace?: string; labels: Record<string, string> };
  spec?: { clusterIP?: string; selector?: Record<string, string>; template?: { metadata: { annotations: object } } };
}

const input = {
  images: { prometheus: 'p:1', jaeger: 'j:1' },
  rules: { 'a.yaml': 'groups: []' },
  page: '<p>',
  key: 'k',
};
const objects = buildObservabilityManifests(input) as readonly ObjectJson[];

describe('the objects of Prometheus and Jaeger', () => {
  it('include a scrape job and a headless Service for each process of the chart that serves metrics', () => {
    const { scrape_configs: jobs } = buildPrometheusConfig() as {
      scrape_configs: { job_name: string; dns_sd_configs?: { names: string[] }[] }[];
    };
    const scraped = jobs.filter(({ job_name: job }) => job !== 'prometheus');
    expect(scraped.map(({ job_name: job }) => job)).toEqual([...serviceNames, 'node', 'egress-proxy', 'image-plane']);
    const headless = objects.filter(({ spec }) => spec?.clusterIP === 'None');
    expect(scraped.map(({ dns_sd_configs: [found] = [] }) => found?.names)).toEqual(
      headless.map(({ metadata }) => [`${metadata.name}.${metadata.namespace ?? ''}.svc.cluster.local`]),
    );
    expect(headless.map(({ spec }) => spec?.selector?.['app.kubernetes.io/component'])).toEqual([
      ...serviceNames,
      'node',
      'egress',
      'template-builder',
    ]);
  });

  it("carry the label by which removal finds the Services in the release's namespace", () => {
    const foreign = objects.filter(({ metadata }) => metadata.namespace === 'sandlot-system');
    expect(foreign.length).toBeGreaterThan(0);
    expect(new Set(foreign.map(({ kind }) => kind))).toEqual(new Set(['Service']));
    for (const { metadata } of objects) expect(metadata.labels['app.kubernetes.io/instance']).toBe('observability');
  });

  it('replace their pods when the configuration changes', () => {
    const pods = objects.filter(({ kind }) => kind === 'Deployment').map(({ spec }) => spec?.template?.metadata);
    expect(pods).toHaveLength(2);
    for (const metadata of pods) expect(metadata?.annotations).toEqual({ 'sandlot.dev/configuration': 'k' });
  });
});

describe('readChartRules', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'chart-rules-'));
    await mkdir(join(folder, 'rules'));
    await mkdir(join(folder, 'crds'));
    await writeFile(join(folder, 'rules/a.yaml'), 'groups: []\n');
    await writeFile(join(folder, 'rules/b.yml'), 'other: true\n');
    await writeFile(join(folder, 'rules/c.json'), '{"groups": []}');
    await writeFile(join(folder, 'crds/d.yaml'), 'groups: []\n');
  });
  afterAll(() => rm(folder, { recursive: true }));

  it('returns the YAML files with groups, under flat file names', async () => {
    expect(await readChartRules(folder)).toEqual({ 'rules-a.yaml': 'groups: []\n' });
  });

  it('returns nothing if the folder does not exist', async () => {
    expect(await readChartRules(join(folder, 'nowhere'))).toEqual({});
  });
});
