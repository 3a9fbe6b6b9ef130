// The same burst of warm claims with and without events and traces, in turns on one control plane.
import { sandboxTemplates, sandboxWarmPools } from '@sandlot/api-types';
import { runBurst, clear } from '../claims/bursts.ts';
import type { Burst } from '../claims/bursts.ts';
import { buildPoolObject, buildTemplateObject } from '../claims/objects.ts';
import { waitUntilFull } from '../claims/pool.ts';
import { CONTROLLERS, Stage } from '../claims/stage.ts';
import type { ControllerName } from '../claims/stage.ts';
import { measureBurst, waitUntilQuiet } from '../support/measure-claims.ts';
import type { Costs } from '../support/measure-claims.ts';
import { readSum } from '../support/prometheus.ts';
import { startReceiver } from './receiver.ts';
import type { Receiver } from './receiver.ts';

/**
 * What the controllers of a round have; traces with the sampling of the chart. In `installed` the warmpool-controller also receives
 * events and refills while claims are still being served, which costs more than sending events.
 */
export const VARIANTS = ['none', 'events', 'traces', 'both', 'installed'] as const;
export type Variant = (typeof VARIANTS)[number];

export interface Round extends Costs {
  readonly variant: Variant;
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

/** Measured bursts for each start of the controllers. */
const BURSTS = 4;
/** Bursts before them, so that the code is compiled as in a process that has run for a while. */
const UNCOUNTED_BURSTS = 2;

export async function runRounds({ claims, variants, profiles }: Plan, say: (text: string) => void): Promise<Round[]> {
  await using receiver = await startReceiver();
  await using stage = await Stage.raise(3 * claims);
  await stage.client.create(sandboxTemplates, buildTemplateObject());
  await stage.client.create(sandboxWarmPools, buildPoolObject(claims));
  const rounds: Round[] = [];
  for (const [index, variant] of variants.entries()) {
    for (const name of CONTROLLERS) {
      const environment = buildEnvironment(name, variant, receiver);
      stage.env = { ...environment, ...profiling(profiles, `${index}-${variant}`) };
      await stage.startReplica(name, 0);
    }
    await waitUntilFull(stage, claims);
    for (let time = 0; time < UNCOUNTED_BURSTS; time += 1) {
      const first = { prefix: `w${index}-${time}`, claims };
      await runBurst(stage, first);
      await clear(stage, first, { members: claims });
    }
    for (let time = 0; time < BURSTS; time += 1) {
      const prefix = `c${index}-${time}`;
      const round = { variant, ...(await measureRound(stage, receiver, { prefix, claims })) };
      say(JSON.stringify(round));
      rounds.push(round);
      await clear(stage, { prefix, claims }, { members: claims });
    }
    await stage.stopControllers();
  }
  return rounds;
}

function buildEnvironment(name: ControllerName, variant: Variant, { endpoint }: Receiver): Record<string, string> {
  const hasEvents = variant === 'events' || variant === 'both';
  const hasNats = variant === 'installed' || (hasEvents && name !== 'warmpool-controller');
  const hasTraces = variant === 'traces' || variant === 'both' || variant === 'installed';
  return { ...(hasNats ? {} : { NATS_URL: '' }), ...(hasTraces ? { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint } : {}) };
}

function profiling(folder: string | undefined, name: string): Record<string, string> {
  if (folder === undefined) return {};
  return { NODE_OPTIONS: `--max-old-space-size=256 --cpu-prof --cpu-prof-dir=${folder}/${name}` };
}

async function measureRound(stage: Stage, { received }: Receiver, planned: Burst): Promise<Omit<Round, 'variant'>> {
  await waitUntilQuiet();
  const [bytesBefore, eventsBefore] = [received.bytes, await countEvents(stage)];
  const costs = await measureBurst(stage, planned);
  return {
    ...costs,
    eventsPerClaim: ((await countEvents(stage)) - eventsBefore) / planned.claims,
    traceBytesPerClaim: (received.bytes - bytesBefore) / planned.claims,
  };
}

async function countEvents(stage: Stage): Promise<number> {
  const pages = await Promise.all(CONTROLLERS.map((name) => stage.fetchMetrics(name)));
  return readSum(pages.join('\n'), 'sandlot_outbox_published_total', { outcome: 'acked' });
}
