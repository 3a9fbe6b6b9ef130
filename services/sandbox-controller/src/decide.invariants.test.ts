import { effectiveMode, findCondition, rfc3339 } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Step } from './plan/steps.ts';
import { World } from '../test/simulated-sandbox.ts';

type Spec = Sandbox['spec'];
type Event = (world: World, check: (step: Step) => void) => void;

const modes: readonly Partial<Spec>[] = [
  { operatingMode: 'Running' },
  { operatingMode: 'Suspended' },
  { replicas: 0 },
  { replicas: 1 },
  {},
];
const retention = fc.constantFrom(undefined, 'Retain' as const, 'Delete' as const);

/** The owner says who may wake it. */
const welcome = fc.constantFrom(undefined, 'Never' as const, 'OnRequest' as const, 'Always' as const).map(
  (autoResume): Event =>
    (world) =>
      world.edit((spec) => ({ ...spec, autoResume })),
);

/** What may happen to a Sandbox besides a pass. */
const incident: fc.Arbitrary<Event> = fc.oneof(
  fc.integer({ min: 0, max: 6 }).map(
    (steps): Event =>
      (world, check) =>
        world.pass(steps, check),
  ),
  fc.constantFrom(...modes).map((mode): Event => (world) => {
    world.edit((spec) => ({ ...spec, operatingMode: undefined, replicas: undefined, ...mode }));
  }),
  fc.constantFrom(true, false, undefined).map(
    (service): Event =>
      (world) =>
        world.edit((spec) => ({ ...spec, service })),
  ),
  fc.tuple(retention, retention).map(([whenDeleted, whenExpired]): Event => (world) => {
    const persistentVolumeClaimRetentionPolicy = { whenDeleted, whenExpired };
    world.edit((spec) => ({ ...spec, persistentVolumeClaimRetentionPolicy }));
  }),
  fc.option(fc.integer({ min: -5, max: 60 }), { nil: undefined }).map((seconds): Event => (world) => {
    const shutdownTime = seconds === undefined ? undefined : rfc3339(world.nowMs + seconds * 1_000);
    world.edit((spec) => ({ ...spec, shutdownTime }));
  }),
  fc.constantFrom('Delete' as const, 'Retain' as const).map((shutdownPolicy): Event => (world) => {
    world.edit((spec) => ({ ...spec, shutdownPolicy }));
  }),
  fc
    .record({
      restart: fc.constantFrom('Never' as const, 'OnFailure' as const, 'Always' as const),
      maxRestarts: fc.integer({ min: 0, max: 2 }),
      backoffSeconds: fc.integer({ min: 1, max: 60 }),
      resetAfterSeconds: fc.integer({ min: 1, max: 120 }),
    })
    .map(
      (podFailurePolicy): Event =>
        (world) =>
          world.edit((spec) => ({ ...spec, podFailurePolicy })),
    ),
  fc
    .constantFrom('Run' as const, 'Suspended' as const, 'SuspendAfterReady' as const)
    .map((action): Event => (world) => {
      world.edit((spec) => ({ ...spec, startup: { action } }));
    }),
  fc.tuple(fc.integer({ min: 5, max: 60 }), fc.boolean(), fc.boolean()).map(([seconds, suspends, deletes]): Event => {
    const idle = {
      suspendAfterSeconds: suspends ? seconds : undefined,
      deleteAfterSeconds: deletes ? 2 * seconds : undefined,
    };
    return (world) => world.edit((spec) => ({ ...spec, idle }));
  }),
  fc.constant<Event>((world) => world.use()),
  welcome,
  fc.constant<Event>((world) => world.ask()),
  fc.constantFrom('pvcs' as const, 'pod' as const, 'service' as const, 'expiry' as const, undefined).map(
    (phase): Event =>
      (world) =>
        void (world.refusing = phase),
  ),
  fc.constantFrom('a', 'b').map((team): Event => (world) => {
    world.edit((spec) => ({ ...spec, podTemplate: { ...spec.podTemplate, metadata: { labels: { team } } } }));
  }),
  fc.constant<Event>((world) => world.report('Running', false)),
  fc.constantFrom('Failed' as const, 'Succeeded' as const).map(
    (phase): Event =>
      (world) =>
        world.report(phase, false),
  ),
  fc.boolean().map(
    (force): Event =>
      (world) =>
        world.deletePods(force),
  ),
  fc.constant<Event>((world) => world.finishTermination()),
  fc.integer({ min: 1, max: 90_000 }).map(
    (ms): Event =>
      (world) =>
        void (world.nowMs += ms),
  ),
);

/** Most often the controller runs and the kubelet reports a healthy Pod; in between anything happens. */
const event: fc.Arbitrary<Event> = fc.oneof(
  { weight: 3, arbitrary: fc.constant<Event>(passWhole) },
  { weight: 2, arbitrary: fc.constant<Event>((world) => world.report('Running', true)) },
  { weight: 4, arbitrary: incident },
);

/** It is suspended by its owner or by idleness, and asked for. */
const nap: fc.Arbitrary<Event> = fc.oneof(
  welcome,
  fc.constantFrom<Event>(
    passWhole,
    askAndPass,
    (world) => world.report('Running', true),
    (world) => world.finishTermination(),
  ),
  fc.constantFrom(...modes).map((mode): Event => (world) => {
    world.edit((spec) => ({ ...spec, operatingMode: undefined, replicas: undefined, ...mode }));
  }),
  fc.constant<Event>(fallAsleep),
);

/** Nobody uses it until idleness has suspended it, unless something else stands in the way. */
function fallAsleep(world: World, check: (step: Step) => void): void {
  world.edit((spec) => ({ ...spec, idle: { suspendAfterSeconds: 5 } }));
  for (const happens of [passWhole, wait, passWhole]) {
    world.report('Running', true);
    happens(world, check);
    world.finishTermination();
  }
}

function wait(world: World): void {
  world.nowMs += 10_000;
}

function askAndPass(world: World, check: (step: Step) => void): void {
  world.ask();
  passWhole(world, check);
}

function passWhole(world: World, check: (step: Step) => void): void {
  if (world.pass(Infinity, check) && isReady(world.sandbox)) checkReady(world);
}

const isReady = (sandbox: Sandbox | undefined): boolean =>
  findCondition(sandbox?.status?.conditions, 'Ready')?.status === 'True';

/** What must hold after every single step of the controller. */
function checkStep(world: World, step: Step): void {
  if (world.sandbox !== undefined) last = world.sandbox;
  expect(world.pods.length).toBeLessThanOrEqual(1);
  checkConditionTypes(world);
  if (step.kind === 'createPod') checkMayCreate(world.sandbox);
  if (step.kind === 'deletePod') checkPodMayGo(world);
  if (step.kind === 'suspendSandbox') checkSuspension(world);
  if (step.kind === 'resumeSandbox') checkResume(world);
  checkRestarts(world);
  if (step.kind === 'deleteClaim') checkDiskMayGo(world.sandbox, world.nowMs);
  if (step.kind === 'deleteSandbox') checkDisksMayFollow(world);
  if (step.kind === 'patchStatus' && isReady(world.sandbox)) checkReady(world);
}

function checkConditionTypes({ sandbox }: World): void {
  const types = sandbox?.status?.conditions?.map((condition) => condition.type) ?? [];
  expect(types).toEqual([...types].sort());
  expect(['Finished', 'PodScheduled', 'Ready', 'Suspended']).toEqual(expect.arrayContaining(types));
}

/** What was there before must have been seen to be gone, and counted if it was restarted. */
function checkMayCreate(sandbox: Sandbox | undefined): void {
  expect(isReady(sandbox)).toBe(false);
  expect(sandbox?.status?.restarts?.nextRestartTime).toBeUndefined();
}

/** A Pod of a Sandbox that is to run and has not expired is deleted only to replace it, at the published time. */
function checkPodMayGo({ sandbox, nowMs }: World): void {
  if (sandbox === undefined || effectiveMode(sandbox.spec) === 'Suspended' || sandbox.status?.phase === 'Expired')
    return;
  expect(Date.parse(sandbox.status?.restarts?.nextRestartTime ?? '')).toBeLessThanOrEqual(nowMs);
}

/** A Sandbox about to come back has not finished. */
function checkRestarts({ sandbox }: World): void {
  if (sandbox?.status?.restarts?.nextRestartTime === undefined) return;
  expect(findCondition(sandbox.status.conditions, 'Finished')).toBeUndefined();
}

/** What the controller suspends by itself it suspends for a reason that has not been used up. */
function checkSuspension({ sandbox, nowMs, usedMs }: World): void {
  if (sandbox?.metadata.annotations?.['sandlot.dev/suspended-by'] === 'Startup') {
    expect(sandbox.status?.startup?.completedTime).toBeUndefined();
    return;
  }
  expect((nowMs - usedMs) / 1_000).toBeGreaterThanOrEqual(sandbox?.spec.idle?.suspendAfterSeconds ?? Infinity);
}

/** Only what may be woken is, in the spelling of its author, and only while somebody asks. */
function checkResume({ sandbox, nowMs, askedUntilMs }: World): void {
  if (sandbox === undefined) return;
  const { spec, status, metadata } = sandbox;
  expect(askedUntilMs).toBeGreaterThan(nowMs);
  expect(spec.autoResume).not.toBe('Never');
  expect(spec.replicas === undefined || spec.operatingMode === undefined).toBe(true);
  expect([effectiveMode(spec), status?.phase === 'Expired']).toEqual(['Running', false]);
  expect(metadata.annotations?.['sandlot.dev/suspended-by']).toBeUndefined();
  const record = status?.suspendedBy ?? 'being suspended';
  if (spec.autoResume !== 'Always') expect(record).not.toBe('User');
}

function checkReady({ sandbox, pods: [pod] }: World): void {
  expect(pod?.status?.phase).toBe('Running');
  expect(findCondition(pod?.status?.conditions, 'Ready')?.status).toBe('True');
  expect(pod?.metadata.deletionTimestamp).toBeUndefined();
  expect(sandbox?.metadata.annotations?.['agents.x-k8s.io/pod-name']).toBe(pod?.metadata.name);
}

/** A disk is deleted only by an expiry that has come, under a policy that says so. */
function checkDiskMayGo(sandbox: Sandbox | undefined, nowMs: number): void {
  expect(sandbox?.spec.persistentVolumeClaimRetentionPolicy?.whenExpired).toBe('Delete');
  expect(Date.parse(sandbox?.spec.shutdownTime ?? '')).toBeLessThanOrEqual(nowMs);
}

let last: Sandbox | undefined;
/** Garbage collection takes what has an owner: with a policy to retain, nothing may have one. */
function checkDisksMayFollow({ claims }: World): void {
  const { whenDeleted, whenExpired } = last?.spec.persistentVolumeClaimRetentionPolicy ?? {};
  const hasExpired = last?.status?.phase === 'Expired';
  const keeps = (hasExpired ? (whenExpired ?? whenDeleted) : whenDeleted) === 'Retain';
  if (keeps) expect(claims.flatMap((claim) => claim.metadata.ownerReferences ?? [])).toEqual([]);
}

function play(world: World, history: readonly Event[]): void {
  const check = (step: Step): void => checkStep(world, step);
  for (const happens of history) {
    last = world.sandbox;
    happens(world, check);
  }
}

describe('whatever happens to a Sandbox', () => {
  it('it has at most one Pod, keeps its disks, and is never Ready without a ready Pod', () => {
    fc.assert(
      fc.property(fc.array(event, { minLength: 10, maxLength: 60 }), (history) => {
        play(new World(), history);
      }),
      { numRuns: 300 },
    );
  });

  it('nobody wakes it who is not welcome, and whoever is wakes it', () => {
    fc.assert(
      fc.property(fc.array(nap, { minLength: 10, maxLength: 40 }), (history) => {
        const world = new World();
        play(world, history);
        const { spec } = world.sandbox ?? {};
        if (spec === undefined || spec.autoResume !== 'Always') return;
        askAndPass(world, (step) => checkStep(world, step));
        expect(effectiveMode(world.sandbox?.spec ?? {})).toBe('Running');
      }),
      { numRuns: 300 },
    );
  });

  it('it settles once nothing more happens, and then nothing is written', () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 40 }), (history) => {
        const world = new World();
        play(world, history);
        last = world.sandbox;
        world.refusing = undefined;
        const check = (step: Step): void => checkStep(world, step);
        for (let round = 0; round < 6; round += 1) {
          world.nowMs += 120_000;
          world.finishTermination();
          world.pass(100, check);
        }
        expect(world.pass(0, check)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  it('it is Ready again when its owner wants it to run and its Pod does', () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 40 }), (history) => {
        const world = new World();
        play(world, history);
        if (world.sandbox === undefined) return;
        world.refusing = undefined;
        world.deletePods(true);
        world.edit(({ podTemplate, volumeClaimTemplates }) => ({ podTemplate, volumeClaimTemplates }));
        last = world.sandbox;
        const check = (step: Step): void => checkStep(world, step);
        world.pass(100, check);
        world.report('Running', true);
        world.pass(100, check);
        expect(isReady(world.sandbox)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });
});
