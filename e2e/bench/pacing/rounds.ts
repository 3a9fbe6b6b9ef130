// The same load with each pacing mechanism switched off, in turns on one control plane.
import { sandboxClaims, sandboxTemplates, sandboxWarmPools } from '@sandlot/api-types';
import { runBurst, clear, deleteClaim } from '../claims/bursts.ts';
import { claimObject, buildPoolObject, buildTemplateObject } from '../claims/objects.ts';
import { buildLatencies, Observer } from '../claims/observer.ts';
import type { Latencies } from '../claims/observer.ts';
import { waitUntilFull } from '../claims/pool.ts';
import { drive, pause } from '../claims/shapes.ts';
import { Stage } from '../claims/stage.ts';
import { startReceiver } from '../overhead/receiver.ts';
import { measureBurst, measureClaims, waitUntilQuiet } from '../support/measure-claims.ts';
import type { Costs } from '../support/measure-claims.ts';

/** The mechanism that the controllers run without, or several joined by `+`; `none`: they run with all of them. */
export type Without = string;

/** What the load costs without one mechanism. */
export interface Round {
  readonly without: Without;
  /** Claims that come at once and stay. */
  readonly burst: Costs;
  /** Short-lived claims at an even rate. */
  readonly steady: Costs;
}

const BURST_CLAIMS = 300;
const STEADY = { kind: 'rate', perSecond: 20, claims: 200 } as const;
/** How long a claim of the steady load lives after it is Ready. */
const DWELL_MS = 2_000;

/** Runs the load once for each entry of `order`, with newly started controllers, and calls `onRound` after each. */
export async function runRounds(order: readonly Without[], onRound: (round: Round) => Promise<void>): Promise<void> {
  await using receiver = await startReceiver();
  await using stage = await Stage.raise(3 * BURST_CLAIMS);
  await stage.client.create(sandboxTemplates, buildTemplateObject());
  await stage.client.create(sandboxWarmPools, buildPoolObject(BURST_CLAIMS));
  for (const [index, without] of order.entries()) {
    stage.env = {
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint,
      SANDLOT_PACING_OFF: without === 'none' ? '' : without.replaceAll('+', ','),
    };
    await stage.startControllers();
    await waitUntilFull(stage, BURST_CLAIMS);
    await warmUp(stage, `w${index}`);
    await onRound({
      without,
      burst: await measureAndClear(stage, `b${index}`),
      steady: await measureSteady(stage, `s${index}`),
    });
    await stage.stopControllers();
  }
}

/** Code is slow until it is compiled. */
async function warmUp(stage: Stage, prefix: string): Promise<void> {
  const planned = { prefix, claims: BURST_CLAIMS };
  await runBurst(stage, planned);
  await clear(stage, planned, { members: BURST_CLAIMS });
}

async function measureAndClear(stage: Stage, prefix: string): Promise<Costs> {
  const planned = { prefix, claims: BURST_CLAIMS };
  await waitUntilQuiet();
  const costs = await measureBurst(stage, planned);
  await clear(stage, planned, { members: BURST_CLAIMS });
  return costs;
}

async function measureSteady(stage: Stage, prefix: string): Promise<Costs> {
  await waitUntilQuiet();
  return await measureClaims(stage, { claims: STEADY.claims, members: BURST_CLAIMS }, () => sendSteady(stage, prefix));
}

async function sendSteady({ client }: Stage, prefix: string): Promise<Latencies> {
  await using observer = await Observer.watch(client);
  await drive(STEADY, prefix, async (name) => {
    observer.recordSending(name);
    await client.create(sandboxClaims, claimObject(name));
    await observer.waitForReady(name);
    await pause(DWELL_MS);
    await deleteClaim(client, name);
  });
  return buildLatencies(observer.times.values());
}
