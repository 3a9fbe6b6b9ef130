import type { Series } from './collect.ts';

export interface HeatmapCells {
  /** Upper bounds as text, ascending. */
  readonly bounds: readonly string[];
  /** Epoch seconds, ascending. */
  readonly times: readonly number[];
  /** Index into `times`, index into `bounds`, events per second. */
  readonly cells: readonly (readonly [number, number, number])[];
}

/** Converts cumulative buckets, one series per `le`, to the counts between two bounds. */
export function listHeatmapCells(series: readonly Series[]): HeatmapCells {
  const ordered = series
    .map((each) => ({ each, bound: parseBound(each.labels['le'] ?? '') }))
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

/** Returns the index of the bucket that contains a value. */
export function getBucket(value: number, bounds: readonly string[]): number {
  return bounds.findIndex((bound) => value <= Number(bound));
}

function parseBound(le: string): number {
  return le === '+Inf' ? Infinity : Number(le);
}
