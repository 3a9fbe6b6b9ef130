import { sandboxClaims } from '@sandlot/api-types';
import { defineResource, findShard, namespaces } from '@sandlot/kube';
import type { KubeObject } from '@sandlot/kube';
import type { ControlPlaneOptions } from '@sandlot/local-cluster';
import { separateControlPlane } from '../support/cores.ts';
import { runBurst, clear, deleteClaim } from './bursts.ts';
import { countNow, countWritesByKind, countWritesForClaims } from './counts.ts';
import type { Counts } from './counts.ts';
import { isLife, measureFloor } from './floor.ts';
import { waitUntilGone } from './gone.ts';
import { makeIdle } from './idle.ts';
import { claimObject, POOL } from './objects.ts';
import { buildLatencies, Observer } from './observer.ts';
import type { ClaimTimes, Latencies } from './observer.ts';
import { findPlace, listPlaces } from './places.ts';
import type { Scenario } from './scenarios.ts';
import { applyFlowControl, enforcePolicies } from './policies.ts';
import { createPools, createTemplates, waitUntilFull } from './pool.ts';
import { drive, pause } from './shapes.ts';
import type { Shape } from './shapes.ts';
import { CONTROLLERS, NAMESPACE, Stage } from './stage.ts';
import type { ControllerName } from './stage.ts';

/** The result of a scenario. */
export interface Result extends Latencies {
  readonly scenario: string;
  readonly claims: number;
  readonly floorAllReadyMs: number;
  readonly floorP50Ms: number;
  /** Of whole lives only: from the first claim sent until the last Sandbox and Pod is gone. */
  readonly allGoneMs?: number;
  readonly floorAllGoneMs?: number;
  /** Writes to claims and their Sandboxes, with bookkeeping, without the refill of the pool. */
  readonly controllerWritesPerClaim: number;
  readonly reconcilesPerClaim: number;
  readonly conflictsPerClaim: number;
  readonly controllers: Readonly<Record<ControllerName, ControllerResult>>;
  /** Only when a controller is killed: the longest time without a Ready claim after the kill. */
  readonly nextBindMs?: number;
  /** The longest latency of a claim, and the number of claims that adopted a warm Sandbox. */
  readonly maxMs: number;
  readonly warm: number;
  /** Writes of all clients per claim, by account and kind. */
  readonly writesByKind: Readonly<Record<string, number>>;
}

interface ControllerResult {
  readonly cpuMs: number;
  readonly rssMiB: number;
  /** All its writes per claim, including the refill of the pool. */
  readonly writesPerClaim: number;
  readonly reconcilesPerClaim: number;
}

const LEASE = 'sandlot-claim-controller';
/** A few seconds at the same rate are enough for the floor. */
const FLOOR_SECONDS = 10;
/** The controllers write the late annotations of many claims within five seconds; a pool's status and refill come sooner. */
const QUIET_MS = 6_000;

export interface RunOptions {
  readonly say: (text: string) => void;
  /**
   * How many claims the controllers serve before the measured ones. Code is slow until it is compiled, and the floor's client has
   * warmed up by creating its members.
   */
  readonly warmUp: number;
  /** Mechanisms of libs/pacing that the controllers run without, separated by commas. */
  readonly without?: string | undefined;
  /** Whether the chart's admission policies are in force, for the floor as well. */
  readonly policies?: boolean | undefined;
  /** Whether the chart's priorities of requests are in force. */
  readonly flowControl?: boolean | undefined;
  /** Into how many shards each controller divides its work, with a replica for each. By default one. */
  readonly shards?: number | undefined;
  /** Into how many namespaces the claims and their pool are divided. By default one, as always for a batch, which is one claim. */
  readonly namespaces?: number | undefined;
  /** How many requests the API server serves at once; by default as many as it does by its own default. */
  readonly seats?: number | undefined;
  /** Whether the control plane has half of the cores, and everything else the other half. By default all share all. */
  readonly isApart?: boolean | undefined;
  /** Folder for CPU profiles of the controllers: one for each process, from its start to its end. */
  readonly profiles?: string | undefined;
}

export async function runScenario(scenario: Scenario, options: RunOptions): Promise<Result> {
  const { say, warmUp } = options;
  const { shape, pool, idle = 0 } = scenario;
  say(`${scenario.name}: raising a control plane`);
  await using stage = await Stage.raise(2 * pool + shape.claims + idle, buildSettings(options));
  await prepare(stage, options);
  stage.profiles = options.profiles;
  if (options.isApart === true) await separateControlPlane();
  say(`${scenario.name}: the floor`);
  const floor = await measureFloor(stage, scenario.kind, buildFloorShape(shape));
  await startControllers(stage, scenario, options);
  say(`${scenario.name}: filling the pool`);
  await addPlaces(stage, scenario, options);
  await createTemplates(stage);
  await makeIdle(stage, { from: 0, to: idle }, say);
  await createPools(stage, pool);
  await waitUntilFull(stage, pool);
  await pause(QUIET_MS);
  if (warmUp > 0) {
    const first = { prefix: 'warm-up', claims: pool === 0 ? warmUp : Math.min(warmUp, pool) };
    say(`${scenario.name}: ${first.claims} claims to warm up`);
    await runBurst(stage, first);
    await clear(stage, first, { members: pool, others: idle });
    await pause(QUIET_MS);
  }
  const since = new Date().toISOString();
  const before = await countNow(stage);
  say(`${scenario.name}: claims`);
  await using observer = await Observer.watch(stage.client, stage.places);
  await stage.collectGarbage();
  const outage = await claimAll(stage, { ...scenario, shards: options.shards ?? 1 }, observer);
  const gone = isLife(scenario.kind) ? { allGoneMs: await waitUntilGone(stage, observer) } : {};
  if (scenario.dwellMs === undefined) await waitUntilFull(stage, pool);
  await pause(QUIET_MS);
  const after = await countNow(stage);
  const handedOver = new Set([...observer.times.values()].flatMap(({ sandbox }) => sandbox ?? []));
  const writes = await countWritesForClaims(stage, since);
  const all = await countWritesByKind(stage, since);
  const times = [...observer.times.values()];
  const latencies = buildLatencies(times);
  // A process writes its profile when it ends by itself.
  if (options.profiles !== undefined) await stage.stopControllers();
  return {
    scenario: formatName(scenario, stage),
    claims: shape.claims,
    ...latencies,
    floorAllReadyMs: floor.allReadyMs,
    floorP50Ms: floor.p50Ms,
    ...gone,
    ...(floor.allGoneMs === undefined ? {} : { floorAllGoneMs: floor.allGoneMs }),
    controllerWritesPerClaim: writes / shape.claims,
    ...computePerClaim(before, after, shape.claims),
    ...outage,
    maxMs: Math.max(...times.map(({ sentMs, readyMs = Infinity }) => readyMs - sentMs)),
    writesByKind: Object.fromEntries([...all].map(([kind, count]) => [kind, count / shape.claims])),
    warm: [...handedOver].filter((name) => name.startsWith(`${POOL}-`)).length,
  };
}

function formatName({ name }: Scenario, { places }: Stage): string {
  return places.length === 1 ? name : `${name} in ${places.length} namespaces`;
}

/** One replica more than shards is there to take over, where one is killed. */
async function startControllers(stage: Stage, { kill = false }: Scenario, { shards = 1 }: RunOptions): Promise<void> {
  stage.env = { ...stage.env, SHARDS: String(shards) };
  const replicas = Object.fromEntries(CONTROLLERS.map((name) => [name, shards]));
  await stage.startControllers({ ...replicas, 'claim-controller': kill ? shards + 1 : shards });
}

/** After the floor, which is the same in one namespace. */
async function addPlaces(stage: Stage, { kind }: Scenario, { namespaces: count = 1 }: RunOptions): Promise<void> {
  const [, ...others] = listPlaces(kind === 'batch' ? 1 : count);
  await Promise.all(others.map((name) => stage.client.create(namespaces, { metadata: { name } })));
  stage.places = [NAMESPACE, ...others];
}

async function prepare(stage: Stage, { without, policies = false, flowControl = false }: RunOptions): Promise<void> {
  if (without !== undefined) stage.env = { SANDLOT_PACING_OFF: without };
  if (policies) await enforcePolicies(stage);
  if (!flowControl) return;
  await applyFlowControl(stage);
  await stage.usePriorities();
}

/** The API server shares out the sum of both limits. */
function buildSettings({ seats }: RunOptions): ControlPlaneOptions {
  if (seats === undefined) return {};
  return {
    apiServerFlags: [
      `--max-requests-inflight=${Math.ceil(seats / 2)}`,
      `--max-mutating-requests-inflight=${Math.floor(seats / 2)}`,
    ],
  };
}

function buildFloorShape(shape: Shape): Shape {
  if (shape.kind !== 'rate' && shape.kind !== 'poisson') return shape;
  return { ...shape, claims: Math.min(shape.claims, shape.perSecond * FLOOR_SECONDS) };
}

type ShardedScenario = Scenario & { readonly shards: number };

/** Creates every claim of the scenario and waits until all are Ready. */
async function claimAll(stage: Stage, scenario: ShardedScenario, observer: Observer): Promise<{ nextBindMs?: number }> {
  const { client, places } = stage;
  if (scenario.kind === 'batch') {
    const { claims } = scenario.shape;
    observer.recordSending('batch', claims);
    await client.create(sandboxClaims, claimObject('batch', { replicas: claims }));
    await observer.waitForReadyCount(claims);
    return {};
  }
  const sent = drive(scenario.shape, 'claim', async (name) => {
    observer.recordSending(name);
    const place = findPlace(places, name);
    await client.create(sandboxClaims, claimObject(name, {}, place));
    await observer.waitForReady(name);
    if (scenario.dwellMs === undefined) return;
    await pause(scenario.dwellMs);
    await deleteClaim(client, name, place);
  });
  const outage = scenario.kill === true ? await killLeader(stage, scenario, observer) : {};
  await sent;
  return outage;
}

async function killLeader(
  stage: Stage,
  { shape, shards }: ShardedScenario,
  observer: Observer,
): Promise<{ nextBindMs: number }> {
  await observer.waitForReadyCount(shape.claims / 3);
  // Claims are divided by namespace. Those of other shards do not wait for a new holder.
  const shard = findShard(NAMESPACE, shards);
  const isTheirs = (claim: string): boolean => findShard(findPlace(stage.places, claim), shards) === shard;
  const name = shards === 1 ? LEASE : `${LEASE}-${shard}`;
  const lease = await stage.client.get(leases, { namespace: 'default', name });
  await stage.kill(lease.spec.holderIdentity ?? '');
  const killedMs = performance.now();
  await observer.waitForReadyCount(shape.claims);
  const theirs = observer.listTimes(isTheirs);
  return { nextBindMs: measureLongestSilence(theirs, killedMs) };
}

/** The longest time without a Ready claim. Commits before the kill may still become visible after it. */
function measureLongestSilence(times: readonly ClaimTimes[], sinceMs: number): number {
  const seen = times.flatMap(({ readyMs }) => readyMs ?? []).filter((ms) => ms > sinceMs);
  const moments = [sinceMs, ...seen.sort((a, b) => a - b)];
  return Math.max(...moments.slice(1).map((ms, index) => ms - (moments[index] ?? ms)));
}

function computePerClaim(before: Counts, after: Counts, claims: number) {
  const entries = CONTROLLERS.map((name): [ControllerName, ControllerResult] => {
    const [then, now] = [before.controllers[name], after.controllers[name]];
    return [
      name,
      {
        cpuMs: now.cpuMs - then.cpuMs,
        rssMiB: now.rssMiB,
        writesPerClaim: (now.writes - then.writes) / claims,
        reconcilesPerClaim: (now.reconciles - then.reconciles) / claims,
      },
    ];
  });
  const reconciles = entries.map(([, { reconcilesPerClaim }]) => reconcilesPerClaim);
  return {
    reconcilesPerClaim: reconciles.reduce((sum, each) => sum + each, 0),
    conflictsPerClaim: (after.conflicts - before.conflicts) / claims,
    controllers: Object.fromEntries(entries) as Record<ControllerName, ControllerResult>,
  };
}

interface Lease extends KubeObject {
  spec: { holderIdentity?: string };
}

const leases = defineResource<Lease>({
  group: 'coordination.k8s.io',
  version: 'v1',
  plural: 'leases',
  kind: 'Lease',
  namespaced: true,
});
