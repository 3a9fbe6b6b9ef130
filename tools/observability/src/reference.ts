/** A metric that our processes expose. */
export interface MetricRow {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  /** Sorted label names without `le`. */
  readonly labels: readonly string[];
  /** Sorted names of the processes that expose it. */
  readonly by: readonly string[];
}

/** Metrics of the client library, which documents them. */
const COMMON = /^(?:process|nodejs)_/;

/** Lists our metrics in the `/metrics` pages of processes, sorted by name. */
export function listMetricRows(pages: Readonly<Record<string, string>>): readonly MetricRow[] {
  const rows = new Map<string, { type: string; help: string; labels: Set<string>; by: Set<string> }>();
  for (const [process, page] of Object.entries(pages)) {
    for (const [, name = '', help = ''] of page.matchAll(/^# HELP (\S+) (.*)$/gm)) {
      if (COMMON.test(name)) continue;
      const type = new RegExp(`^# TYPE ${name} (\\w+)$`, 'm').exec(page)?.[1] ?? 'untyped';
      const row = rows.get(name) ?? { type, help, labels: new Set(), by: new Set() };
      row.by.add(process);
      for (const label of listLabels(page, name)) row.labels.add(label);
      rows.set(name, row);
    }
  }
  return [...rows]
    .map(([name, { type, help, labels, by }]) => ({ name, type, help, labels: [...labels].sort(), by: [...by].sort() }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

function listLabels(page: string, name: string): readonly string[] {
  const samples = page.matchAll(new RegExp(`^${name}(?:_bucket|_sum|_count)?\\{(.*)\\} \\S+$`, 'gm'));
  const labels = new Set<string>();
  for (const [, inner = ''] of samples) for (const [, label = ''] of inner.matchAll(/(\w+)="/g)) labels.add(label);
  labels.delete('le');
  return [...labels];
}

const HEAD = `# Metrics

Each process serves these metrics on \`/metrics\` of its port \`metrics\` (\`controller.metricsPort\`, 9090): OpenMetrics with
exemplars to scrapers that accept it, the older text format to others. Times are in seconds unless the name says \`_ms\`. Names
that begin with \`agent_sandbox\` are those of agent-sandbox, so that its dashboards keep working. Each process of Node also has the
usual \`process_\` and \`nodejs_\` metrics. The egress proxy has no others than those below, on its port \`proxy-metrics\` (9464).

No series has the name of a sandbox, a claim or a user. Templates and namespaces are labels with a bound: what comes after
the first 50 templates (100 pairs with a namespace, 500 sources of claims, 1,000 states of the population) shares the value
\`other\`. Templates that \`metrics.templateLabels\` of the chart names keep their own label in latencies. Pools are labels of gauges
only.

The dashboards are in \`charts/sandlot/files/dashboards\`, the alerts in \`charts/sandlot/files/rules\`, and a page for each
alert in [runbooks](runbooks/README.md). This is the first dashboard, drawn from a real Prometheus:

![Creation latency](images/creation-latency.png)

The diamonds on its latencies are exemplars: of sampled creations, and of all slow ones, whose traces are kept. Where a click
on one leads is a setting of Grafana's Prometheus data source, not of a dashboard:
\`jsonData.exemplarTraceIdDestinations: [{ name: trace_id, datasourceUid: <of Jaeger or Tempo> }]\`. Prometheus keeps exemplars
with \`--enable-feature=exemplar-storage\`.

\`npm run docs:dashboards\` writes this page from what running processes expose.

| metric | type | labels | meaning | processes |
| --- | --- | --- | --- | --- |
`;

/** Returns the text of `docs/metrics.md`. */
export function formatMetricsPage(rows: readonly MetricRow[]): string {
  const lines = rows.map(({ name, type, labels, help, by }) => {
    const controllers = by.map((process) => process.replace('-controller', '')).join(', ');
    return `| \`${name}\` | ${type} | ${labels.map((label) => `\`${label}\``).join(' ')} | ${help} | ${controllers} |`;
  });
  return `${HEAD}${lines.join('\n')}\n`;
}
