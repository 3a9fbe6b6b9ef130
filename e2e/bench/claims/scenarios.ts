import type { FloorKind } from './floor.ts';
import type { Shape } from './shapes.ts';

/** One situation of the benchmark. */
export interface Scenario {
  readonly name: string;
  readonly kind: FloorKind;
  /** How claims arrive; for a batch, how many Sandboxes its claim asks for. */
  readonly shape: Shape;
  /** The size of the pool, which is full at the start and refills throughout. */
  readonly pool: number;
  /** How long claims live after they are Ready; undefined: to the end. */
  readonly dwellMs?: number;
  /** Number of other Sandboxes, created before. */
  readonly idle?: number;
  /** Kills the leading claim-controller of two when a third of the claims are Ready. */
  readonly kill?: boolean;
}

const runBurst = (claims: number): Shape => ({ kind: 'burst', claims });
const computeRate = (perSecond: number, seconds: number): Shape => ({
  kind: 'rate',
  perSecond,
  claims: perSecond * seconds,
});

const computePoisson = (perSecond: number, seconds: number): Shape => ({
  kind: 'poisson',
  perSecond,
  claims: perSecond * seconds,
});

export const SCENARIOS: readonly Scenario[] = [
  { name: 'burst-300', kind: 'warm', shape: runBurst(300), pool: 300 },
  { name: 'sustained-20', kind: 'warm', shape: computeRate(20, 60), pool: 100, dwellMs: 3_000 },
  { name: 'sustained-50', kind: 'warm', shape: computeRate(50, 60), pool: 250, dwellMs: 3_000 },
  // The load pattern of upstream: claims live for three seconds, and the pool holds the demand of eight.
  { name: 'poisson-20', kind: 'warm', shape: computePoisson(20, 60), pool: 160, dwellMs: 3_000 },
  // Whole lives, as many as the API server can serve: from the creation of a member to the deletion of its claim.
  { name: 'lives', kind: 'life', shape: { kind: 'closed', workers: 32, claims: 1_500 }, pool: 250, dwellMs: 0 },
  { name: 'lives-cold', kind: 'coldLife', shape: { kind: 'closed', workers: 32, claims: 1_000 }, pool: 0, dwellMs: 0 },
  { name: 'serial', kind: 'warm', shape: { kind: 'serial', claims: 50 }, pool: 20 },
  { name: 'batch-100', kind: 'batch', shape: runBurst(100), pool: 100 },
  { name: 'cold-100', kind: 'cold', shape: runBurst(100), pool: 0 },
  { name: 'background-10k', kind: 'warm', shape: runBurst(300), pool: 300, idle: 10_000 },
  { name: 'kill-at-peak', kind: 'warm', shape: runBurst(300), pool: 300, kill: true },
];
