// The same burst of warm claims with and without events and traces, in turns on one control plane.
import { sandboxTemplates, sandboxWarmPools } from '@sandlot/api-types';
import { burst, clear } from '../claims/bursts.ts';
import type { Burst } from '../claims/bursts.ts';
import { countNow } from '../claims/counts.ts';
import { poolObject, templateObject } from '../claims/objects.ts';
import { waitUntilFull } from '../claims/pool.ts';
import { pause } from '../claims/shapes.ts';
import { CONTROLLERS, Stage } from '../claims/stage.ts';
import type { ControllerName } from '../claims/stage.ts';
import { sumOf } from '../support/prometheus.ts';
import { treeCpuMs } from '../support/tree-cpu.ts';
import { startReceiver } from './receiver.ts';
import type { Receiver } from './receiver.ts';

/**
 * What the controllers of a round have; traces with the sampling of the chart. In `installed` the warmpool-controller also receives
 * events and refills while claims are still being served, which costs more than sending events.
 */
export const VARIANTS = ['none', 'events', 'traces', 'both', 'installed'] as const;
export type Variant = (typeof VARIANTS)[number];

export interface Round {
  readonly variant: Variant;
  readonly allReadyMs: number;
  readonly p50Ms: number;
  /**
   * CPU milliseconds per claim of all processes, with control plane, NATS and benchmark, from the first request until the last
   * Ready. It explains the duration of a burst that takes all cores, and varies less.
   */
  readonly burstCpuMs: number;
  /** CPU milliseconds per claim for the burst, its bookkeeping and the refill. */
  readonly cpuMs: Readonly<Record<ControllerName, number>>;
  /** Sum of the three controllers; shows whether the variants did the same work. */
  readonly reconcilesPerClaim: number;
  readonly writesPerClaim: number;
  readonly eventsPerClaim: number;
  /** Bytes of encoded spans. */
  readonly traceBytesPerClaim: number;
}

export interface Plan {
  readonly claims: number;
  /** In this order, each with newly started controllers. */
  readonly variants: readonly Variant[];
  /** Folder for CPU profiles of the controllers. */
  readonly profiles?: string | undefined;
}

/** Events are collected for half a second and spans for five: after this time all have been sent. */
const QUIET_MS = 5_500;
/** Measured bursts for each start of the controllers. */
const BURSTS = 4;
/** Bursts before them, so that the code is compiled as in a process that has run for a while. */
const UNCOUNTED_BURSTS = 2;

export async function runRounds({ claims, variants, profiles }: Plan, say: (text: string) => void): Promise<Round[]> {
  await using receiver = await startReceiver();
  await using stage = await Stage.raise(3 * claims);
  await stage.client.create(sandboxTemplates, templateObject());
  await stage.client.create(sandboxWarmPools, poolObject(claims));
  const rounds: Round[] = [];
  for (const [index, variant] of variants.entries()) {
    for (const name of CONTROLLERS) {
      const environment = environmentOf(name, variant, receiver);
      stage.env = { ...environment, ...profiling(profiles, `${index}-${variant}`) };
      await stage.startReplica(name, 0);
    }
    await waitUntilFull(stage, claims);
    for (let time = 0; time < UNCOUNTED_BURSTS; time += 1) {
      const first = { prefix: `w${index}-${time}`, claims };
      await burst(stage, first);
      await clear(stage, first, { members: claims });
    }
    for (let time = 0; time < BURSTS; time += 1) {
      const prefix = `c${index}-${time}`;
      const round = { variant, ...(await measureBurst(stage, receiver, { prefix, claims })) };
      say(JSON.stringify(round));
      rounds.push(round);
      await clear(stage, { prefix, claims }, { members: claims });
    }
    await stage.stopControllers();
  }
  return rounds;
}

function environmentOf(name: ControllerName, variant: Variant, { endpoint }: Receiver): Record<string, string> {
  const hasEvents = variant === 'events' || variant === 'both';
  const hasNats = variant === 'installed' || (hasEvents && name !== 'warmpool-controller');
  const hasTraces = variant === 'traces' || variant === 'both' || variant === 'installed';
  return { ...(hasNats ? {} : { NATS_URL: '' }), ...(hasTraces ? { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint } : {}) };
}

function profiling(folder: string | undefined, name: string): Record<string, string> {
  if (folder === undefined) return {};
  return { NODE_OPTIONS: `--max-old-space-size=256 --cpu-prof --cpu-prof-dir=${folder}/${name}` };
}

async function measureBurst(stage: Stage, { received }: Receiver, planned: Burst): Promise<Omit<Round, 'variant'>> {
  const { claims } = planned;
  await pause(QUIET_MS);
  const before = await countNow(stage);
  const [bytesBefore, eventsBefore] = [received.bytes, await eventsOf(stage)];
  await stage.collectGarbage();
  const cpuBefore = await treeCpuMs();
  const { allReadyMs, p50Ms } = await burst(stage, planned);
  const burstCpuMs = ((await treeCpuMs()) - cpuBefore) / claims;
  await waitUntilFull(stage, claims);
  await pause(QUIET_MS);
  const after = await countNow(stage);
  const grown = (what: 'cpuMs' | 'reconciles' | 'writes') =>
    CONTROLLERS.map((name) => (after.controllers[name][what] - before.controllers[name][what]) / claims);
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  const cpu = grown('cpuMs').map((ms, index) => [CONTROLLERS[index], ms]);
  return {
    allReadyMs,
    p50Ms,
    burstCpuMs,
    cpuMs: Object.fromEntries(cpu) as Record<ControllerName, number>,
    reconcilesPerClaim: sum(grown('reconciles')),
    writesPerClaim: sum(grown('writes')),
    eventsPerClaim: ((await eventsOf(stage)) - eventsBefore) / claims,
    traceBytesPerClaim: (received.bytes - bytesBefore) / claims,
  };
}

async function eventsOf(stage: Stage): Promise<number> {
  const pages = await Promise.all(CONTROLLERS.map((name) => stage.metricsOf(name)));
  return sumOf(pages.join('\n'), 'sandlot_outbox_published_total', { outcome: 'acked' });
}
