// The model of our dashboards, from which we generate Grafana's JSON.

/** Ids of units in Grafana, and our own `cores`. */
export type Unit = 's' | 'ms' | 'short' | 'percentunit' | 'bytes' | 'binBps' | 'ops' | 'reqps' | 'cores';

export interface Query {
  /** PromQL. `$sel` stands for the matchers of the selected processes. */
  readonly expr: string;
  /** Legend. May contain `{{label}}`. */
  readonly legend: string;
  /** Whether to show exemplars, which are measurements with a trace id, as points. */
  readonly exemplars?: boolean;
}

export interface Panel {
  readonly title: string;
  /** One or two sentences: what the panel shows, and what to conclude. */
  readonly description: string;
  readonly unit: Unit;
  readonly queries: readonly Query[];
  /** Default `timeseries`. */
  readonly kind?: 'timeseries' | 'stat' | 'heatmap';
  /** Whether to stack the series as areas, because they add up to a whole. */
  readonly stacked?: boolean;
  /** Number of columns, of 24. */
  readonly width: number;
  /** Threshold in the panel's unit. For a stat, values below it are bad; otherwise values above it. */
  readonly limit?: number;
}

export interface Row {
  readonly title: string;
  /** Height of its panels, in Grafana's grid rows of 30 pixels. */
  readonly height: number;
  readonly panels: readonly Panel[];
}

/** A drop-down at the top of the page with the values of a label. */
export interface Variable {
  readonly name: string;
  readonly label: string;
  /** Such as `label_values(metric, label)`. */
  readonly query: string;
}

export interface Dashboard {
  /** Must not change between releases: links and Grafana's provisioning use it. */
  readonly uid: string;
  readonly title: string;
  readonly description: string;
  /** Selector whose series have the jobs and instances to choose from. Default: what each of our processes in Node exposes. */
  readonly processes?: string;
  /** Variables in addition to data source, job and instance. */
  readonly variables: readonly Variable[];
  readonly rows: readonly Row[];
}
