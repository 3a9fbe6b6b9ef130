import { PROCESSES } from './measure.ts';
import type { Memory, ProcessName } from './measure.ts';

/** Memory of a process: `baseMiB + perThousandMiB * Sandboxes / 1000`. */
export interface Line {
  readonly baseMiB: number;
  readonly perThousandMiB: number;
}

export interface Point {
  readonly sandboxes: number;
  readonly memory: Memory;
}

/** The line through the points that fits best, for each process. */
export function fitLines(points: readonly Point[]): Readonly<Record<ProcessName, Line>> {
  const lines = PROCESSES.map((name) => [name, fitLine(points, name)] as const);
  return Object.fromEntries(lines) as Record<ProcessName, Line>;
}

function fitLine(points: readonly Point[], name: ProcessName): Line {
  const mean = (values: readonly number[]): number => values.reduce((sum, each) => sum + each, 0) / values.length;
  const [x, y] = [points.map(({ sandboxes }) => sandboxes / 1_000), points.map(({ memory }) => memory[name])];
  const [meanX, meanY] = [mean(x), mean(y)];
  const spread = x.reduce((sum, each) => sum + (each - meanX) ** 2, 0);
  const slope = x.reduce((sum, each, index) => sum + (each - meanX) * ((y[index] ?? 0) - meanY), 0) / spread;
  return { baseMiB: meanY - slope * meanX, perThousandMiB: slope };
}

export function predict({ baseMiB, perThousandMiB }: Line, sandboxes: number): number {
  return baseMiB + (perThousandMiB * sandboxes) / 1_000;
}
