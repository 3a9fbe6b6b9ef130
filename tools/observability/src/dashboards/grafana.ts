import type { Dashboard, Panel, Query, Row } from './model.ts';

/** Dashboards with this schema version load in Grafana 10 and later. */
const SCHEMA_VERSION = 39;
const COLUMNS = 24;
const SELECTOR = 'job=~"$job",instance=~"$instance"';
const DATASOURCE = { type: 'prometheus', uid: '${datasource}' };

interface Thresholds {
  readonly mode: string;
  readonly steps: readonly { readonly color: string; readonly value: number | null }[];
}

/** A panel in Grafana's JSON. Only the fields that our code reads are typed. */
export interface GrafanaPanel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly datasource?: { readonly type: string; readonly uid: string };
  readonly fieldConfig?: {
    readonly defaults: { readonly unit?: string; readonly thresholds?: Thresholds; readonly [field: string]: unknown };
    readonly overrides: readonly object[];
  };
  readonly targets?: readonly GrafanaTarget[];
  readonly [field: string]: unknown;
}

export interface GrafanaTarget {
  readonly refId: string;
  readonly expr: string;
  readonly legendFormat: string;
  readonly exemplar: boolean;
  readonly [field: string]: unknown;
}

export interface GrafanaVariable {
  readonly name: string;
  readonly type: string;
  readonly [field: string]: unknown;
}

/** A dashboard in Grafana's JSON. */
export interface GrafanaDashboard {
  readonly uid: string;
  readonly title: string;
  readonly schemaVersion: number;
  readonly templating: { readonly list: readonly GrafanaVariable[] };
  readonly panels: readonly GrafanaPanel[];
  readonly [field: string]: unknown;
}

/** Converts a dashboard to Grafana's JSON. Panels flow from left to right and wrap within their row. */
export function toGrafana({ uid, title, description, processes, variables, rows }: Dashboard): GrafanaDashboard {
  return {
    uid,
    title,
    description,
    tags: ['sandlot'],
    schemaVersion: SCHEMA_VERSION,
    version: 1,
    editable: false,
    graphTooltip: 1,
    refresh: '30s',
    time: { from: 'now-1h', to: 'now' },
    timezone: 'browser',
    annotations: { list: [] },
    links: [
      { type: 'dashboards', title: 'Sandlot', tags: ['sandlot'], asDropdown: true, includeVars: false, keepTime: true },
    ],
    templating: {
      list: [
        buildDatasourceVariable(),
        ...buildStandardVariables(processes).map(toVariable),
        ...variables.map(toVariable),
      ],
    },
    panels: layOut(rows),
  };
}

function buildDatasourceVariable(): GrafanaVariable {
  return { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus', current: {}, hide: 0 };
}

function buildStandardVariables(processes = 'agent_sandbox_build_info') {
  const ofJob = processes.endsWith('}') ? processes.replace('}', ',job=~"$job"}') : `${processes}{job=~"$job"}`;
  return [
    { name: 'job', label: 'Job', query: `label_values(${processes}, job)` },
    { name: 'instance', label: 'Instance', query: `label_values(${ofJob}, instance)` },
  ];
}

function toVariable({ name, label, query }: { name: string; label: string; query: string }): GrafanaVariable {
  return {
    name,
    label,
    type: 'query',
    datasource: DATASOURCE,
    query: { query, refId: name },
    definition: query,
    multi: true,
    includeAll: true,
    allValue: '.+',
    current: { selected: true, text: ['All'], value: ['$__all'] },
    refresh: 2,
    sort: 1,
    hide: 0,
  };
}

function layOut(rows: readonly Row[]): GrafanaPanel[] {
  const panels: GrafanaPanel[] = [];
  let y = 0;
  for (const row of rows) {
    panels.push({
      id: panels.length + 1,
      type: 'row',
      title: row.title,
      collapsed: false,
      panels: [],
      gridPos: { x: 0, y, w: COLUMNS, h: 1 },
    });
    y += 1;
    let x = 0;
    for (const panel of row.panels) {
      if (x + panel.width > COLUMNS) [x, y] = [0, y + row.height];
      panels.push(toPanel(panel, panels.length + 1, { x, y, w: panel.width, h: row.height }));
      x += panel.width;
    }
    y += row.height;
  }
  return panels;
}

function toPanel(panel: Panel, id: number, gridPos: GrafanaPanel['gridPos']): GrafanaPanel {
  const { title, description, unit, kind = 'timeseries', queries } = panel;
  return {
    id,
    type: kind,
    title,
    description,
    datasource: DATASOURCE,
    gridPos,
    fieldConfig: { defaults: { unit: unit === 'cores' ? 'short' : unit, min: 0, ...buildStyle(panel) }, overrides: [] },
    options: buildOptions(kind, unit),
    targets: queries.map((query, index) => toTarget(query, index, kind)),
  };
}

function buildStyle({ kind = 'timeseries', stacked = false, limit }: Panel): {
  readonly thresholds?: Thresholds;
  readonly custom?: object;
} {
  const steps = [{ color: 'green', value: null }, ...(limit === undefined ? [] : [{ color: 'red', value: limit }])];
  if (kind === 'heatmap') return {};
  if (kind === 'stat') return { thresholds: { mode: 'absolute', steps: buildStatSteps(limit) } };
  return {
    thresholds: { mode: 'absolute', steps },
    custom: {
      drawStyle: 'line',
      lineWidth: 1,
      fillOpacity: stacked ? 40 : 5,
      showPoints: 'never',
      stacking: { mode: stacked ? 'normal' : 'none', group: 'A' },
      thresholdsStyle: { mode: limit === undefined ? 'off' : 'dashed' },
    },
  };
}

/** Threshold steps of a share that should be high: red below the limit. */
function buildStatSteps(limit: number | undefined): Thresholds['steps'] {
  if (limit === undefined) return [{ color: 'text', value: null }];
  return [
    { color: 'red', value: null },
    { color: 'green', value: limit },
  ];
}

function buildOptions(kind: NonNullable<Panel['kind']>, unit: string): object {
  switch (kind) {
    case 'stat':
      return { reduceOptions: { calcs: ['lastNotNull'] }, colorMode: 'value', graphMode: 'area', textMode: 'value' };
    case 'heatmap':
      return {
        calculate: false,
        yAxis: { unit },
        color: { scheme: 'Oranges', mode: 'scheme', steps: 64 },
        exemplars: { color: 'rgba(31, 96, 196, 0.9)' },
        tooltip: { mode: 'single', yHistogram: true },
      };
    case 'timeseries':
      return { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi', sort: 'desc' } };
  }
}

function toTarget({ expr, legend, exemplars = false }: Query, index: number, kind: string): GrafanaTarget {
  return {
    refId: String.fromCharCode('A'.charCodeAt(0) + index),
    datasource: DATASOURCE,
    expr: expr.replaceAll('$sel', SELECTOR),
    legendFormat: legend,
    format: kind === 'heatmap' ? 'heatmap' : 'time_series',
    range: true,
    instant: false,
    exemplar: exemplars,
  };
}
