import { runBurst } from '../claims/bursts.ts';
import type { Burst } from '../claims/bursts.ts';
import { countNow } from '../claims/counts.ts';
import type { Latencies } from '../claims/observer.ts';
import { waitUntilFull } from '../claims/pool.ts';
import { pause } from '../claims/shapes.ts';
import { CONTROLLERS } from '../claims/stage.ts';
import type { ControllerName, Stage } from '../claims/stage.ts';
import { readTreeCpuMs } from './tree-cpu.ts';

/** What some claims cost. */
export interface Costs {
  readonly allReadyMs: number;
  readonly p50Ms: number;
  /**
   * CPU milliseconds per claim of all processes, with control plane, NATS and benchmark, from the first request until the last
   * Ready. It explains the duration of a burst that takes all cores, and varies less.
   */
  readonly busyCpuMs: number;
  /** CPU milliseconds per claim for the claims, their bookkeeping and the refill. */
  readonly cpuMs: Readonly<Record<ControllerName, number>>;
  /** Sum of the three controllers; shows whether two rounds did the same work. */
  readonly reconcilesPerClaim: number;
  readonly writesPerClaim: number;
}

/** Events are collected for half a second and spans for five: after this time all have been sent. */
const QUIET_MS = 5_500;

/** Waits until the controllers have sent what earlier claims left behind. Call it before a measurement. */
export async function waitUntilQuiet(): Promise<void> {
  await pause(QUIET_MS);
}

/** Measures a burst of warm claims, with its bookkeeping and the refill of the pool. */
export async function measureBurst(stage: Stage, planned: Burst): Promise<Costs> {
  return await measureClaims(stage, { claims: planned.claims, members: planned.claims }, () =>
    runBurst(stage, planned),
  );
}

/** Measures what `send` costs, which creates `claims` claims and ends when the last one is Ready, or has ended. */
export async function measureClaims(
  stage: Stage,
  { claims, members }: { readonly claims: number; readonly members: number },
  send: () => Promise<Latencies>,
): Promise<Costs> {
  const before = await countNow(stage);
  await stage.collectGarbage();
  const cpuBefore = await readTreeCpuMs();
  const { allReadyMs, p50Ms } = await send();
  const busyCpuMs = ((await readTreeCpuMs()) - cpuBefore) / claims;
  await waitUntilFull(stage, members);
  await waitUntilQuiet();
  const after = await countNow(stage);
  const grown = (what: 'cpuMs' | 'reconciles' | 'writes') =>
    CONTROLLERS.map((name) => (after.controllers[name][what] - before.controllers[name][what]) / claims);
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  const cpu = grown('cpuMs').map((ms, index) => [CONTROLLERS[index], ms]);
  return {
    allReadyMs,
    p50Ms,
    busyCpuMs,
    cpuMs: Object.fromEntries(cpu) as Record<ControllerName, number>,
    reconcilesPerClaim: sum(grown('reconciles')),
    writesPerClaim: sum(grown('writes')),
  };
}
