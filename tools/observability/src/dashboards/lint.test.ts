import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { GrafanaDashboard, GrafanaPanel } from './grafana.ts';
import { creationLatency, toGrafana } from '../index.ts';
import { lintDashboard } from './lint.ts';

const FOLDER = join(import.meta.dirname, '../../../../charts/sandlot/files/dashboards');
const committed = await readdir(FOLDER);

describe('the dashboards of the chart', () => {
  it.each(committed)('%s passes the lint rules', async (name) => {
    const dashboard = JSON.parse(await readFile(join(FOLDER, name), 'utf8')) as GrafanaDashboard;
    expect(lintDashboard(dashboard)).toEqual([]);
  });

  it('have distinct uids', async () => {
    const texts = await Promise.all(committed.map((name) => readFile(join(FOLDER, name), 'utf8')));
    const uids = texts.map((text) => (JSON.parse(text) as GrafanaDashboard).uid);
    expect(new Set(uids).size).toBe(committed.length);
    expect(committed.length).toBeGreaterThan(6);
  });
});

const SELECTED = 'job=~"$job",instance=~"$instance"';

describe('lintDashboard', () => {
  const good = toGrafana(creationLatency);
  const [, panel = good.panels[0]] = good.panels;
  if (panel === undefined) throw new Error('the dashboard has no panels');
  const [target] = panel.targets ?? [];
  const withPanel = (changes: Partial<GrafanaPanel>): GrafanaDashboard => ({
    ...good,
    panels: [{ ...panel, ...changes }],
  });
  const withQuery = (expr: string): GrafanaDashboard =>
    withPanel({ targets: target === undefined ? [] : [{ ...target, expr }] });

  it.each([
    `max (sandlot_claims_waiting{${SELECTED}})`,
    `sum by (pool) (max without (instance, pod) (sandlot_warmpool_target{${SELECTED}}))`,
    `histogram_quantile(0.99, sum by (le) (rate(sandlot_x_bucket{${SELECTED},a=~"(b)"}[$__rate_interval])))`,
  ])('accepts %s', (expr) => {
    expect(lintDashboard(withQuery(expr))).toEqual([]);
  });

  it.each([
    ['a panel without a title', withPanel({ title: '' }), /has no title/],
    ['a panel without a description', withPanel({ description: '' }), /has no description/],
    ['a panel without a unit', withPanel({ fieldConfig: { defaults: {}, overrides: [] } }), /has no unit/],
    [
      'a fixed data source',
      withPanel({ datasource: { type: 'prometheus', uid: 'abc' } }),
      /template variable datasource/,
    ],
    ['a panel without queries', withPanel({ targets: [] }), /has no query/],
    ['a query for all jobs', withQuery('sum (sandlot_claims_waiting)'), /job and instance/],
    ['a query that shows each process apart', withQuery(`sandlot_x{${SELECTED}}`), /does not aggregate over processes/],
    ['a function of each process apart', withQuery(`rate(sandlot_x{${SELECTED}}[$__rate_interval])`), /aggregate over/],
    ['a sum over objects that move', withQuery(`sum (sandlot_warmpool_target{${SELECTED}})`), /counts an object twice/],
    ['a fixed range', withQuery('rate(sandlot_x_total{job=~"$job",instance=~"$instance"}[5m])'), /\[5m\]/],
    ['a panel outside the grid', withPanel({ gridPos: { x: 20, y: 0, w: 6, h: 4 } }), /leaves the grid/],
    ['two panels in one place', { ...good, panels: [panel, { ...panel, id: 99 }] }, /overlap/],
    ['two panels with one id', { ...good, panels: [...good.panels, ...good.panels] }, /same id/],
    ['no variable for the data source', { ...good, templating: { list: [] } }, /variable datasource/],
    ['no uid', { ...good, uid: '' }, /uid/],
    ['an old schema', { ...good, schemaVersion: 16 }, /schemaVersion/],
  ] satisfies [string, GrafanaDashboard, RegExp][])('reports %s', (_, dashboard, finding) => {
    expect(lintDashboard(dashboard).join('\n')).toMatch(finding);
  });
});
