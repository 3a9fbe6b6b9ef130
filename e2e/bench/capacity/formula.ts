/** What something costs: `base + perThousand * Sandboxes / 1000`. */
export interface Line {
  readonly base: number;
  readonly perThousand: number;
}

export interface Point {
  readonly sandboxes: number;
  readonly value: number;
}

/** The line by all sizes but the largest, and what it says of that one. */
export interface Fit {
  readonly line: Line;
  readonly predicted: number;
  readonly measured: number;
  /** How far the prediction is from what was measured: positive where it is too high. */
  readonly offPercent: number;
}

/** The line with the least squares of differences to the points, which must have two sizes or more. */
export function fitLine(points: readonly Point[]): Line {
  const mean = (read: (point: Point) => number): number =>
    points.reduce((sum, point) => sum + read(point), 0) / points.length;
  const meanX = mean(({ sandboxes }) => sandboxes / 1_000);
  const meanY = mean(({ value }) => value);
  const spread = mean(({ sandboxes }) => (sandboxes / 1_000 - meanX) ** 2);
  const perThousand = mean(({ sandboxes, value }) => (sandboxes / 1_000 - meanX) * (value - meanY)) / spread;
  return { base: meanY - perThousand * meanX, perThousand };
}

export function predict({ base, perThousand }: Line, sandboxes: number): number {
  return base + (perThousand * sandboxes) / 1_000;
}

/** Fits the line to all points but the last, which is the largest and shows how far the line is off. */
export function fitSmaller(points: readonly Point[]): Fit {
  const last = points.at(-1);
  if (last === undefined) throw new Error('a line needs points');
  const line = fitLine(points.slice(0, -1));
  const predicted = predict(line, last.sandboxes);
  const offPercent = (100 * (predicted - last.value)) / last.value;
  return { line, predicted, measured: last.value, offPercent };
}
