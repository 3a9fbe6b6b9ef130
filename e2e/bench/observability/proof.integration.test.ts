import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promExemplars, promQuery } from '@sandlot/local-cluster';
import {
  builds,
  collect,
  creationLatency,
  egress,
  hibernation,
  interpolate,
  listMetricRows,
  platformHealth,
  ruleGroups,
  listSelectors,
  tenantDoor,
  toGrafana,
  warmPools,
  webhooks,
} from '@sandlot/observability';
import type { Collected } from '@sandlot/observability';
import { checkoutRoot } from '@sandlot/up';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pause } from '../claims/shapes.ts';
import { prepareLoad, runLoad } from './load.ts';
import { SCRAPE_SECONDS, Scene } from './scene.ts';

const DASHBOARDS = [creationLatency, warmPools, platformHealth, tenantDoor];
const rules = await readFile(join(checkoutRoot, 'charts/sandlot/files/rules/sandlot.yaml'), 'utf8');

let scene: Scene;
let range: { start: number; end: number; step: number };
/** Epoch seconds just before the outage of the API server. */
let undisturbed: number;
const panels: Collected[] = [];
const SECONDS = 36;

beforeAll(async () => {
  scene = await Scene.raise({ rules: [rules] });
  const { stage, servers } = scene;
  const start = Date.now() / 1_000;
  await prepareLoad(stage);
  const done = new AbortController();
  const used = servers.use(done.signal);
  const outage = { begin: waitForWarmClaims, end: () => servers.waitForFault() };
  await runLoad(stage, { seconds: SECONDS, outage }).finally(() => done.abort());
  await used;
  range = { start, end: Date.now() / 1_000, step: 1 };
  const source = { url: scene.prometheus.url, scrapeSeconds: SCRAPE_SECONDS };
  for (const dashboard of DASHBOARDS) panels.push(...(await collect(source, toGrafana(dashboard), range)));
});

afterAll(() => scene[Symbol.asyncDispose]());

/** Waits until Prometheus has scraped warm claims: on a busy machine that takes longer than half of the load. */
async function waitForWarmClaims(): Promise<void> {
  for (;;) {
    const query = 'sum(sandlot_claim_ready_seconds_count{launch_type="warm"})';
    const [series] = await promQuery(scene.prometheus.url, query);
    undisturbed = Date.now() / 1_000;
    if ((series?.value ?? 0) > 0) return;
    await pause(500);
  }
}

describe('after a load in which every kind of event happens', () => {
  it('every query of every panel has values', () => {
    const dead = panels.flatMap(({ panel, answers }) =>
      answers
        .filter(({ series }) => !series.some(({ points }) => points.some(([, value]) => Number.isFinite(value))))
        .map(({ target }) => `${panel.title}: ${target.expr}`),
    );
    expect(panels.length).toBeGreaterThan(50);
    expect(dead).toEqual([]);
  });

  it('every selector of every rule finds series', async () => {
    const selectors = new Set(ruleGroups.flatMap(({ rules: all }) => all.flatMap(({ expr }) => listSelectors(expr))));
    const dead: string[] = [];
    for (const selector of selectors) {
      if ((await promQuery(scene.prometheus.url, `last_over_time(${selector}[5m])`)).length === 0) dead.push(selector);
    }
    expect(selectors.size).toBeGreaterThan(20);
    expect(dead).toEqual([]);
  });

  it.each([
    ['hibernation', 'hibernates', { dashboard: hibernation, fewest: 20 }],
    ['egress', 'uses it', { dashboard: egress, fewest: 15 }],
    ['builds', 'is built', { dashboard: builds, fewest: 8 }],
    ['webhooks', 'has one', { dashboard: webhooks, fewest: 3 }],
  ])(
    'every selector of the dashboard of %s finds series, though no sandbox %s',
    async (_name, _does, { dashboard, fewest }) => {
      const queries = toGrafana(dashboard)
        .panels.flatMap(({ targets = [] }) => targets)
        .map(({ expr }) => interpolate(expr, { scrapeSeconds: SCRAPE_SECONDS }));
      for (const query of queries) await promQuery(scene.prometheus.url, query);
      const selectors = new Set(queries.flatMap(listSelectors));
      const dead: string[] = [];
      for (const selector of selectors) {
        if ((await promQuery(scene.prometheus.url, `last_over_time(${selector}[5m])`)).length === 0)
          dead.push(selector);
      }
      expect(selectors.size).toBeGreaterThan(fewest);
      expect(dead).toEqual([]);
    },
  );

  it('latencies of warm and cold claims have exemplars with traces', async () => {
    for (const launch of ['warm', 'cold']) {
      const query = `sandlot_claim_ready_seconds_bucket{launch_type="${launch}"}`;
      const exemplars = await promExemplars(scene.prometheus.url, query, range);
      const traces = exemplars.map(({ labels }) => labels['trace_id'] ?? '');
      expect(traces.length, launch).toBeGreaterThan(0);
      for (const trace of traces) expect(trace).toMatch(/^[0-9a-f]{32}$/);
    }
  });

  // Only until the outage: on a slow machine the lease then moves to the other replica, which knows how long a claim waited but
  // not in which phase, and records no phases.
  it('the phases of warm claims add up to their time to Ready', async () => {
    const sum = async (metric: string): Promise<number> => {
      const query = `sum(${metric}{launch_type="warm"} @ ${undisturbed.toFixed(3)})`;
      const [series] = await promQuery(scene.prometheus.url, query);
      return series?.value ?? Number.NaN;
    };
    const [phases, total] = [
      await sum('sandlot_claim_phase_seconds_sum'),
      await sum('sandlot_claim_ready_seconds_sum'),
    ];
    expect(phases / total).toBeGreaterThan(0.9);
    expect(phases / total).toBeLessThan(1.1);
  });

  it('metrics of pools show what the load did to them', async () => {
    const { url } = scene.prometheus;
    const value = async (query: string): Promise<number | undefined> => (await promQuery(url, query))[0]?.value;
    expect(await value('sum(sandlot_warmpool_members{pool="stuck",state="stuck"})')).toBe(2);
    expect(await value('sum(sandlot_warmpool_depletions_total)')).toBeGreaterThanOrEqual(1);
    expect(await value('sum(sandlot_warmpool_claims_total{outcome="hit"})')).toBeGreaterThan(0);
    expect(await value('sum(sandlot_claims_failed_total{reason="InvalidMetadata"})')).toBe(4);
    expect(await value('sum(sandlot_claims_waiting)')).toBeGreaterThanOrEqual(1);
  });

  it('docs/metrics.md lists exactly the exposed metrics', async () => {
    const rows = listMetricRows(await scene.pages()).map(({ name, type, help }) => `${name} ${type} ${help}`);
    const page = await readFile(join(checkoutRoot, 'docs/metrics.md'), 'utf8');
    const documented = [...page.matchAll(/^\| `(\w+)` \| (\w+) \| [^|]* \| (.*) \| [^|]+ \|$/gm)];
    expect(documented.map(([, name, type, help]) => `${name ?? ''} ${type ?? ''} ${help ?? ''}`)).toEqual(rows);
  });

  it('no series has the name of a sandbox, a claim or a user', async () => {
    const names = await promQuery(
      scene.prometheus.url,
      'group by (__name__) ({__name__=~"sandlot.*|agent_sandbox.*"})',
    );
    expect(names.length).toBeGreaterThan(100);
    const personal = '{__name__=~"sandlot.+|agent_sandbox.+",claim=~".+"} or {__name__=~"sandlot.+",sandbox=~".+"}';
    expect(await promQuery(scene.prometheus.url, personal)).toEqual([]);
    expect(await promQuery(scene.prometheus.url, '{__name__=~"sandlot.+|agent_sandbox.+",uid=~".+"}')).toEqual([]);
  });
});
