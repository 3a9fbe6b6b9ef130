import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runPromtool } from '@sandlot/local-cluster';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { chartFolder, find, render, template, withBuilds, withHibernation } from './chart.ts';
import { withAll } from './components/components.ts';
import type { Rendered } from './chart.ts';

const RUNBOOKS = join(chartFolder, '../../docs/runbooks');
const TESTS = join(import.meta.dirname, 'rules');

interface Rule {
  readonly alert?: string;
  readonly expr: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

interface RuleFile {
  readonly groups: readonly { readonly name: string; readonly rules: readonly Rule[] }[];
}

interface RuleTests {
  readonly tests: readonly {
    readonly alert_rule_test?: readonly { readonly alertname: string; readonly exp_alerts?: readonly object[] }[];
  }[];
}

const ruleFile = parse(await readFile(join(chartFolder, 'files/rules/sandlot.yaml'), 'utf8')) as RuleFile;
const alerts = ruleFile.groups.flatMap(({ rules }) => rules.filter(({ alert }) => alert !== undefined));
const alertNames = [...new Set(alerts.map(({ alert = '' }) => alert))];
const KINDS = new Set(['PodMonitor', 'ServiceMonitor', 'PrometheusRule']);

const findMonitoring = (objects: readonly Rendered[]): readonly Rendered[] =>
  objects.filter(({ kind, metadata }) => KINDS.has(kind) || metadata.name.includes('dashboard'));

describe('dashboards, rules and the monitor', () => {
  it('are not rendered by default, since they need an operator or a Grafana', async () => {
    expect(findMonitoring(await render())).toEqual([]);
  });

  it("include dashboards as ConfigMaps with the labels and namespace that Grafana's sidecar watches", async () => {
    const labels = { grafana_dashboard: 'yes' };
    const annotations = { grafana_folder: 'Sandlot' };
    const dashboards = { enabled: true, labels, annotations, namespace: 'grafana' };
    const objects = findMonitoring(await render({ metrics: { dashboards } }));
    expect(objects.map(({ metadata }) => metadata.name)).toEqual([
      'sandlot-dashboard-creation-latency',
      'sandlot-dashboard-platform-health',
      'sandlot-dashboard-tenant-door',
      'sandlot-dashboard-warm-pools',
    ]);
    for (const { metadata, data = {} } of objects) {
      expect(metadata).toMatchObject({ namespace: 'grafana', labels, annotations });
      const [[file, text] = ['', '']] = Object.entries(data);
      const committed = await readFile(join(chartFolder, 'files/dashboards', file.replace('sandlot-', '')), 'utf8');
      expect(JSON.parse(text)).toEqual(JSON.parse(committed));
    }
  });

  it('include the dashboard of hibernation, and the names of nodes in its series, only where sandboxes hibernate', async () => {
    const metrics = { dashboards: { enabled: true }, podMonitor: { enabled: true } };
    const summarize = async (values: object) => {
      const objects = findMonitoring(await render({ ...values, metrics }));
      return { names: objects.map(({ metadata }) => metadata.name), text: JSON.stringify(objects.map(({ spec }) => spec)) };
    };
    const off = await summarize({});
    expect(off.names).not.toContain('sandlot-dashboard-hibernation');
    expect(off.text).not.toContain('relabelings');
    const on = await summarize(withHibernation);
    expect(on.names).toContain('sandlot-dashboard-hibernation');
    expect(on.text).toContain('"sourceLabels":["__meta_kubernetes_pod_node_name"],"targetLabel":"node"');
  });

  it.each([
    ['egress', { egress: { enabled: true } }],
    ['builds', withBuilds],
    ['webhooks', { webhooks: { enabled: true } }],
  ])('include the dashboard of %s, and alerts about it, only where it is installed', async (part, values) => {
    const metrics = { dashboards: { enabled: true }, rules: { enabled: true } };
    const list = async (chosen: object): Promise<readonly string[]> =>
      findMonitoring(await render({ ...chosen, metrics })).flatMap(({ metadata, spec }) => [
        metadata.name,
        ...((spec as unknown as Partial<RuleFile> | undefined)?.groups ?? []).map(({ name }) => name),
      ]);
    const own = [`sandlot-dashboard-${part}`, `sandlot-${part}`];
    expect(await list(values)).toEqual(expect.arrayContaining(own));
    expect((await list({})).filter((name) => own.includes(name))).toEqual([]);
  });

  it('include a PrometheusRule with the runbook URL of the values', async () => {
    const rules = { enabled: true, labels: { release: 'prometheus' }, runbookUrl: 'https://wiki.example.com/sandlot/' };
    const [rule] = findMonitoring(await render({ ...withAll, metrics: { rules } }));
    expect(rule).toMatchObject({ kind: 'PrometheusRule', metadata: { labels: { release: 'prometheus' } } });
    const { groups } = (rule as unknown as { spec: RuleFile }).spec;
    const rendered = groups.flatMap((group) => group.rules);
    expect(rendered.map(({ expr }) => expr)).toEqual(ruleFile.groups.flatMap(({ rules: all }) => all.map(({ expr }) => expr)));
    for (const { annotations } of rendered.filter(({ alert }) => alert !== undefined)) {
      expect(annotations?.['runbook_url']).toMatch(/^https:\/\/wiki\.example\.com\/sandlot\/[a-z-]+\.md$/);
    }
  });

  it('include alerts about hibernation only where sandboxes hibernate', async () => {
    const listGroups = async (values: object): Promise<string[]> => {
      const [rule] = findMonitoring(await render({ ...values, metrics: { rules: { enabled: true } } }));
      return (rule as unknown as { spec: RuleFile }).spec.groups.map(({ name }) => name);
    };
    expect(await listGroups(withHibernation)).toContain('sandlot-hibernation');
    expect(await listGroups({})).not.toContain('sandlot-hibernation');
  });

  it('pass the template labels of the values to every controller, and none by default', async () => {
    const listLabels = (objects: readonly Rendered[]) =>
      objects.flatMap(({ spec }) => {
        const env = spec?.template?.spec.containers[0]?.env ?? [];
        return env.filter(({ name }) => name === 'METRICS_TEMPLATE_LABELS').map(({ value }) => value);
      });
    expect(listLabels(await render())).toEqual([]);
    const named = await render({ metrics: { templateLabels: ['python', 'node-24.small'] } });
    expect(listLabels(named)).toEqual(Array.from({ length: 3 }, () => 'python,node-24.small'));
  });

  it('include a PodMonitor that keeps the labels of the metrics', async () => {
    const podMonitor = { enabled: true, interval: '15s' };
    const [monitor] = findMonitoring(await render({ metrics: { podMonitor } }));
    expect(monitor).toMatchObject({
      kind: 'PodMonitor',
      spec: {
        jobLabel: 'app.kubernetes.io/component',
        selector: {
          matchExpressions: [{ values: ['api', 'claim-controller', 'gateway', 'sandbox-controller', 'streams', 'warmpool-controller'] }],
        },
        podMetricsEndpoints: [{ port: 'metrics', interval: '15s', honorLabels: true }],
      },
    });
  });

  it('include a ServiceMonitor whose Service has the metrics port of every process, and whose jobs are the components', async () => {
    const serviceMonitor = { enabled: true, interval: '15s', labels: { release: 'prometheus' } };
    const objects = await render({ metrics: { serviceMonitor } });
    const [monitor] = findMonitoring(objects);
    const service = find(objects, 'Service', 'sandlot-metrics');
    expect(service.spec).toMatchObject({ clusterIP: 'None', ports: [{ name: 'metrics', targetPort: 'metrics' }] });
    expect(service.metadata.labels).toMatchObject({ 'app.kubernetes.io/component': 'metrics' });
    const job = { sourceLabels: ['__meta_kubernetes_pod_label_app_kubernetes_io_component'], targetLabel: 'job' };
    expect(monitor).toMatchObject({
      kind: 'ServiceMonitor',
      metadata: { labels: { release: 'prometheus' } },
      spec: {
        selector: { matchLabels: { 'app.kubernetes.io/component': 'metrics' } },
        endpoints: [{ port: 'metrics', interval: '15s', honorLabels: true, relabelings: [job] }],
      },
    });
  });

  it('never scrape a process twice', async () => {
    const { stderr } = await template({ metrics: { podMonitor: { enabled: true }, serviceMonitor: { enabled: true } } });
    expect(stderr).toContain('podMonitor and serviceMonitor would scrape every process twice');
  });

  it('open the metrics port only to the scrapers of the values', async () => {
    const scraper = { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } };
    const policy = find(await render({ networkPolicy: { scrapers: [scraper] } }), 'NetworkPolicy', 'sandlot-controllers');
    expect(policy).toMatchObject({ spec: { ingress: [{ from: [scraper], ports: [{ port: 'metrics' }] }] } });
    const closed = find(await render(), 'NetworkPolicy', 'sandlot-controllers');
    expect(closed.spec).not.toHaveProperty('ingress');
  });

  it.each([
    ['an interval without a unit', { podMonitor: { interval: 30 } }],
    ['an invalid runbook URL', { rules: { runbookUrl: 'wiki' } }],
    ['an unknown value', { alerts: {} }],
  ])('reject %s', async (_, metrics) => {
    const { code, stderr } = await template({ metrics });
    expect(code).toBe(1);
    expect(stderr).toContain('/metrics');
  });
});

describe('the alerts', () => {
  it('are valid Prometheus rules', async () => {
    const checked = await runPromtool(['check', 'rules', join(chartFolder, 'files/rules/sandlot.yaml')]);
    expect(checked, checked.stderr).toMatchObject({ code: 0 });
  });

  it.each(alerts.map((rule) => [rule.alert ?? '', rule] as const))(
    '%s has a severity, a summary, a description and an existing runbook',
    async (_, { labels = {}, annotations = {} }) => {
      expect(['critical', 'warning']).toContain(labels['severity']);
      expect(annotations['summary']).toMatch(/\S/);
      expect(annotations['description']).toMatch(/\.$/);
      const page = annotations['runbook_url']?.split('/').at(-1) ?? '';
      const text = await readFile(join(RUNBOOKS, page), 'utf8');
      for (const part of ['What it means', 'What users feel', 'How to look', 'What to do'])
        expect(text).toContain(`## ${part}\n`);
    },
  );

  it('leave no runbook unused', async () => {
    const pages = alerts.map(({ annotations = {} }) => annotations['runbook_url']?.split('/').at(-1));
    expect((await readdir(RUNBOOKS)).filter((page) => page !== 'README.md').sort()).toEqual([...new Set(pages)].sort());
  });

  it('pass their promtool tests', async () => {
    const files = (await readdir(TESTS)).filter((name) => name.endsWith('.yaml'));
    const results = await Promise.all(files.map((file) => runPromtool(['test', 'rules', file], { cwd: TESTS })));
    for (const { code, stdout, stderr } of results) expect(code, stdout + stderr).toBe(0);
  });

  it.each(alertNames)('%s has a promtool test in which it fires and one in which it does not', async (name) => {
    const files = await Promise.all((await readdir(TESTS)).map((file) => readFile(join(TESTS, file), 'utf8')));
    const cases = files
      .flatMap((text) => (parse(text) as RuleTests).tests)
      .flatMap(({ alert_rule_test: checks = [] }) => checks.filter(({ alertname }) => alertname === name));
    const fires = cases.map(({ exp_alerts: expected = [] }) => expected.length > 0);
    expect(fires).toContain(true);
    expect(fires).toContain(false);
  });
});
