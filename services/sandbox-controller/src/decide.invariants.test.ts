import { resolveMode, findCondition, formatRfc3339 } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Step } from './plan/steps.ts';
import { SimulatedSandbox } from '../test/simulated-sandbox.ts';

type Spec = Sandbox['spec'];
type Event = (simulated: SimulatedSandbox, check: (step: Step) => void) => void;

const modes: readonly Partial<Spec>[] = [
  { operatingMode: 'Running' },
  { operatingMode: 'Suspended' },
  { replicas: 0 },
  { replicas: 1 },
  {},
];
const retention = fc.constantFrom(undefined, 'Retain' as const, 'Delete' as const);

/** The owner edits who may wake it. */
const welcome = fc.constantFrom(undefined, 'Never' as const, 'OnRequest' as const, 'Always' as const).map(
  (autoResume): Event =>
    (simulated) =>
      simulated.edit((spec) => ({ ...spec, autoResume })),
);

/** What may happen to a Sandbox besides a pass. */
const incident: fc.Arbitrary<Event> = fc.oneof(
  fc.integer({ min: 0, max: 6 }).map(
    (steps): Event =>
      (simulated, check) =>
        simulated.pass(steps, check),
  ),
  fc.constantFrom(...modes).map((mode): Event => (simulated) => {
    simulated.edit((spec) => ({ ...spec, operatingMode: undefined, replicas: undefined, ...mode }));
  }),
  fc.constantFrom(true, false, undefined).map(
    (service): Event =>
      (simulated) =>
        simulated.edit((spec) => ({ ...spec, service })),
  ),
  fc.tuple(retention, retention).map(([whenDeleted, whenExpired]): Event => (simulated) => {
    const persistentVolumeClaimRetentionPolicy = { whenDeleted, whenExpired };
    simulated.edit((spec) => ({ ...spec, persistentVolumeClaimRetentionPolicy }));
  }),
  fc.option(fc.integer({ min: -5, max: 60 }), { nil: undefined }).map((seconds): Event => (simulated) => {
    const shutdownTime = seconds === undefined ? undefined : formatRfc3339(simulated.nowMs + seconds * 1_000);
    simulated.edit((spec) => ({ ...spec, shutdownTime }));
  }),
  fc.constantFrom('Delete' as const, 'Retain' as const).map((shutdownPolicy): Event => (simulated) => {
    simulated.edit((spec) => ({ ...spec, shutdownPolicy }));
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
        (simulated) =>
          simulated.edit((spec) => ({ ...spec, podFailurePolicy })),
    ),
  fc
    .constantFrom('Run' as const, 'Suspended' as const, 'SuspendAfterReady' as const)
    .map((action): Event => (simulated) => {
      simulated.edit((spec) => ({ ...spec, startup: { action } }));
    }),
  fc.tuple(fc.integer({ min: 5, max: 60 }), fc.boolean(), fc.boolean()).map(([seconds, suspends, deletes]): Event => {
    const idle = {
      suspendAfterSeconds: suspends ? seconds : undefined,
      deleteAfterSeconds: deletes ? 2 * seconds : undefined,
    };
    return (simulated) => simulated.edit((spec) => ({ ...spec, idle }));
  }),
  fc.constant<Event>((simulated) => simulated.use()),
  welcome,
  fc.constant<Event>((simulated) => simulated.requestWake()),
  fc.constantFrom('disks' as const, 'pod' as const, 'service' as const, 'expiry' as const, undefined).map(
    (phase): Event =>
      (simulated) =>
        void (simulated.rejecting = phase),
  ),
  fc.constantFrom('a', 'b').map((team): Event => (simulated) => {
    simulated.edit((spec) => ({ ...spec, podTemplate: { ...spec.podTemplate, metadata: { labels: { team } } } }));
  }),
  fc.constant<Event>((simulated) => simulated.report('Running', false)),
  fc.constantFrom('Failed' as const, 'Succeeded' as const).map(
    (phase): Event =>
      (simulated) =>
        simulated.report(phase, false),
  ),
  fc.boolean().map(
    (force): Event =>
      (simulated) =>
        simulated.deletePods(force),
  ),
  fc.constant<Event>((simulated) => simulated.finishTermination()),
  fc.integer({ min: 1, max: 90_000 }).map(
    (ms): Event =>
      (simulated) =>
        void (simulated.nowMs += ms),
  ),
);

/** Most often the controller runs and the kubelet reports a healthy Pod; in between anything happens. */
const event: fc.Arbitrary<Event> = fc.oneof(
  { weight: 3, arbitrary: fc.constant<Event>(passWhole) },
  { weight: 2, arbitrary: fc.constant<Event>((simulated) => simulated.report('Running', true)) },
  { weight: 4, arbitrary: incident },
);

/** Its owner or idleness suspends it, and requests try to wake it. */
const nap: fc.Arbitrary<Event> = fc.oneof(
  welcome,
  fc.constantFrom<Event>(
    passWhole,
    askAndPass,
    (simulated) => simulated.report('Running', true),
    (simulated) => simulated.finishTermination(),
  ),
  fc.constantFrom(...modes).map((mode): Event => (simulated) => {
    simulated.edit((spec) => ({ ...spec, operatingMode: undefined, replicas: undefined, ...mode }));
  }),
  fc.constant<Event>(fallAsleep),
);

/** It is unused until idleness suspends it, unless something prevents that. */
function fallAsleep(simulated: SimulatedSandbox, check: (step: Step) => void): void {
  simulated.edit((spec) => ({ ...spec, idle: { suspendAfterSeconds: 5 } }));
  for (const happens of [passWhole, wait, passWhole]) {
    simulated.report('Running', true);
    happens(simulated, check);
    simulated.finishTermination();
  }
}

function wait(simulated: SimulatedSandbox): void {
  simulated.nowMs += 10_000;
}

function askAndPass(simulated: SimulatedSandbox, check: (step: Step) => void): void {
  simulated.requestWake();
  passWhole(simulated, check);
}

function passWhole(simulated: SimulatedSandbox, check: (step: Step) => void): void {
  if (simulated.pass(Infinity, check) && isReady(simulated.sandbox)) checkReady(simulated);
}

const isReady = (sandbox: Sandbox | undefined): boolean =>
  findCondition(sandbox?.status?.conditions, 'Ready')?.status === 'True';

/** What must hold after every single step of the controller. */
function checkStep(simulated: SimulatedSandbox, step: Step): void {
  if (simulated.sandbox !== undefined) last = simulated.sandbox;
  expect(simulated.pods.length).toBeLessThanOrEqual(1);
  checkConditionTypes(simulated);
  if (step.kind === 'createPod') checkMayCreate(simulated.sandbox);
  if (step.kind === 'deletePod') checkPodMayGo(simulated);
  if (step.kind === 'suspendSandbox') checkSuspension(simulated);
  if (step.kind === 'resumeSandbox') checkResume(simulated);
  checkRestarts(simulated);
  if (step.kind === 'deleteDisk') checkDiskMayGo(simulated.sandbox, simulated.nowMs);
  if (step.kind === 'deleteSandbox') checkDisksMayFollow(simulated);
  if (step.kind === 'patchStatus' && isReady(simulated.sandbox)) checkReady(simulated);
}

function checkConditionTypes({ sandbox }: SimulatedSandbox): void {
  const types = sandbox?.status?.conditions?.map((condition) => condition.type) ?? [];
  expect(types).toEqual([...types].sort());
  expect(['Finished', 'PodScheduled', 'Ready', 'Suspended']).toEqual(expect.arrayContaining(types));
}

/** The status must show that the old Pod is gone, and count its restart. */
function checkMayCreate(sandbox: Sandbox | undefined): void {
  expect(isReady(sandbox)).toBe(false);
  expect(sandbox?.status?.restarts?.nextRestartTime).toBeUndefined();
}

/** While the Sandbox should run, the controller deletes its Pod only for a restart, at the published time. */
function checkPodMayGo({ sandbox, nowMs }: SimulatedSandbox): void {
  if (sandbox === undefined || resolveMode(sandbox.spec) === 'Suspended' || sandbox.status?.phase === 'Expired') return;
  expect(Date.parse(sandbox.status?.restarts?.nextRestartTime ?? '')).toBeLessThanOrEqual(nowMs);
}

/** A Sandbox about to come back has not finished. */
function checkRestarts({ sandbox }: SimulatedSandbox): void {
  if (sandbox?.status?.restarts?.nextRestartTime === undefined) return;
  expect(findCondition(sandbox.status.conditions, 'Finished')).toBeUndefined();
}

/** The controller suspends only for a startup action that has not run, or for idleness. */
function checkSuspension({ sandbox, nowMs, lastUsedMs }: SimulatedSandbox): void {
  if (sandbox?.metadata.annotations?.['sandlot.dev/suspended-by'] === 'Startup') {
    expect(sandbox.status?.startup?.completedTime).toBeUndefined();
    return;
  }
  expect((nowMs - lastUsedMs) / 1_000).toBeGreaterThanOrEqual(sandbox?.spec.idle?.suspendAfterSeconds ?? Infinity);
}

/** Resumes only what may be woken, in the spelling of its author, while a request stands. */
function checkResume({ sandbox, nowMs, wakeRequestedUntilMs }: SimulatedSandbox): void {
  if (sandbox === undefined) return;
  const { spec, status, metadata } = sandbox;
  expect(wakeRequestedUntilMs).toBeGreaterThan(nowMs);
  expect(spec.autoResume).not.toBe('Never');
  expect(spec.replicas === undefined || spec.operatingMode === undefined).toBe(true);
  expect([resolveMode(spec), status?.phase === 'Expired']).toEqual(['Running', false]);
  expect(metadata.annotations?.['sandlot.dev/suspended-by']).toBeUndefined();
  const record = status?.suspendedBy ?? 'being suspended';
  if (spec.autoResume !== 'Always') expect(record).not.toBe('User');
}

function checkReady({ sandbox, pods: [pod] }: SimulatedSandbox): void {
  expect(pod?.status?.phase).toBe('Running');
  expect(findCondition(pod?.status?.conditions, 'Ready')?.status).toBe('True');
  expect(pod?.metadata.deletionTimestamp).toBeUndefined();
  expect(sandbox?.metadata.annotations?.['agents.x-k8s.io/pod-name']).toBe(pod?.metadata.name);
}

/** A disk is deleted only after an expiry, under a policy that says so. */
function checkDiskMayGo(sandbox: Sandbox | undefined, nowMs: number): void {
  expect(sandbox?.spec.persistentVolumeClaimRetentionPolicy?.whenExpired).toBe('Delete');
  expect(Date.parse(sandbox?.spec.shutdownTime ?? '')).toBeLessThanOrEqual(nowMs);
}

let last: Sandbox | undefined;
/** Garbage collection deletes what has an owner, so a disk to retain must have none. */
function checkDisksMayFollow({ disks }: SimulatedSandbox): void {
  const { whenDeleted, whenExpired } = last?.spec.persistentVolumeClaimRetentionPolicy ?? {};
  const hasExpired = last?.status?.phase === 'Expired';
  const keeps = (hasExpired ? (whenExpired ?? whenDeleted) : whenDeleted) === 'Retain';
  if (keeps) expect(disks.flatMap((disk) => disk.metadata.ownerReferences ?? [])).toEqual([]);
}

function play(simulated: SimulatedSandbox, history: readonly Event[]): void {
  const check = (step: Step): void => checkStep(simulated, step);
  for (const happens of history) {
    last = simulated.sandbox;
    happens(simulated, check);
  }
}

// Hundreds of histories each: a busy machine takes more than the default five seconds.
describe('after any history, a Sandbox', { timeout: 600_000 }, () => {
  it('has at most one Pod, keeps its disks, and is Ready only with a ready Pod', () => {
    fc.assert(
      fc.property(fc.array(event, { minLength: 10, maxLength: 60 }), (history) => {
        play(new SimulatedSandbox(), history);
      }),
      { numRuns: 300 },
    );
  });

  it('is woken by every request that may wake it, and by no other', () => {
    fc.assert(
      fc.property(fc.array(nap, { minLength: 10, maxLength: 40 }), (history) => {
        const simulated = new SimulatedSandbox();
        play(simulated, history);
        const { spec } = simulated.sandbox ?? {};
        if (spec === undefined || spec.autoResume !== 'Always') return;
        askAndPass(simulated, (step) => checkStep(simulated, step));
        expect(resolveMode(simulated.sandbox?.spec ?? {})).toBe('Running');
      }),
      { numRuns: 300 },
    );
  });

  it('settles once nothing more happens, and then writes nothing', () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 40 }), (history) => {
        const simulated = new SimulatedSandbox();
        play(simulated, history);
        last = simulated.sandbox;
        simulated.rejecting = undefined;
        const check = (step: Step): void => checkStep(simulated, step);
        for (let round = 0; round < 6; round += 1) {
          simulated.nowMs += 120_000;
          simulated.finishTermination();
          simulated.pass(100, check);
        }
        expect(simulated.pass(0, check)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  it('is Ready again when its mode is Running and its Pod is Ready', () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 40 }), (history) => {
        const simulated = new SimulatedSandbox();
        play(simulated, history);
        if (simulated.sandbox === undefined) return;
        simulated.rejecting = undefined;
        simulated.deletePods(true);
        simulated.edit(({ podTemplate, volumeClaimTemplates }) => ({ podTemplate, volumeClaimTemplates }));
        last = simulated.sandbox;
        const check = (step: Step): void => checkStep(simulated, step);
        simulated.pass(100, check);
        simulated.report('Running', true);
        simulated.pass(100, check);
        expect(isReady(simulated.sandbox)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });
});
