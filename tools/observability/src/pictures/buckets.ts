import type { Series } from './collect.ts';

export interface HeatmapCells {
  /** Upper bounds as texts, ascending. */
  readonly bounds: readonly string[];
  /** Epoch seconds, ascending. */
  readonly times: readonly number[];
  /** Index into times, index into bounds, events a second. */
  readonly cells: readonly (readonly [number, number, number])[];
}

/** Cumulative buckets, one series for each `le`, as what falls between two bounds. */
export function heatmapCells(series: readonly Series[]): HeatmapCells {
  const ordered = series
    .map((each) => ({ each, bound: boundOf(each.labels['le'] ?? '') }))
    .sort((a, b) => a.bound - b.bound);
  const times = [...new Set(series.flatMap(({ points }) => points.map(([at]) => at)))].sort((a, b) => a - b);
  const cells: [number, number, number][] = [];
  for (const [index, { each }] of ordered.entries()) {
    const below = new Map(ordered[index - 1]?.each.points);
    for (const [at, value] of each.points) {
      const inside = value - (below.get(at) ?? 0);
      if (inside > 0) cells.push([times.indexOf(at), index, inside]);
    }
  }
  return { bounds: ordered.map(({ bound }) => String(bound)), times, cells };
}

/** Index of the bucket that a value falls into. */
export function bucketOf(value: number, bounds: readonly string[]): number {
  return bounds.findIndex((bound) => value <= Number(bound));
}

function boundOf(le: string): number {
  return le === '+Inf' ? Infinity : Number(le);
}
