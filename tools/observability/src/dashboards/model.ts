// What a dashboard of ours is, before it is Grafana's JSON.

/** Grafana's ids of the units that are used. */
export type Unit = 's' | 'ms' | 'short' | 'percentunit' | 'bytes' | 'binBps' | 'ops' | 'reqps' | 'cores';

export interface Query {
  /** PromQL; `$sel` stands for the matchers of the chosen processes. */
  readonly expr: string;
  /** Legend, with `{{label}}`. */
  readonly legend: string;
  /** Whether measurements that name their trace are shown as points. */
  readonly exemplars?: boolean;
}

export interface Panel {
  readonly title: string;
  /** What it shows and what to conclude; one or two sentences. */
  readonly description: string;
  readonly unit: Unit;
  readonly queries: readonly Query[];
  /** Default `timeseries`. */
  readonly kind?: 'timeseries' | 'stat' | 'heatmap';
  /** Series are areas on top of each other, which add up to a whole. */
  readonly stacked?: boolean;
  /** Columns of 24. */
  readonly width: number;
  /** A line from which on things are bad, in the unit. */
  readonly limit?: number;
}

export interface Row {
  readonly title: string;
  /** Of its panels, in Grafana's rows of 30 pixels. */
  readonly height: number;
  readonly panels: readonly Panel[];
}

/** A choice at the top of the page: the values of a label. */
export interface Variable {
  readonly name: string;
  readonly label: string;
  /** `label_values(...)`. */
  readonly query: string;
}

export interface Dashboard {
  /** Stable over releases: links and Grafana's own provisioning go by it. */
  readonly uid: string;
  readonly title: string;
  readonly description: string;
  /** Beside data source, job and instance. */
  readonly variables: readonly Variable[];
  readonly rows: readonly Row[];
}
