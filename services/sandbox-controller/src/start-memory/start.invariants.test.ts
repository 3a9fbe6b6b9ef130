import { annotations, findCondition, isRestorable, sandboxConditions, START_DONE } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import type { Pod } from '@sandlot/kube';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HIBERNATE } from '../../test/hibernations.ts';
import { SimulatedSandbox } from '../../test/simulated-sandbox.ts';
import { findMark } from '../hibernate/hibernations.ts';
import type { Step } from '../plan/steps.ts';
import { isCopy, isStartRefused, readStart } from './start-record.ts';

type Spec = Sandbox['spec'];
type Check = (step: Step) => void;
type Event = (simulated: SimulatedSandbox, check: Check) => void;
type OnFailure = 'Fail' | 'Boot';

const edit =
  (change: Partial<Spec>): Event =>
  (simulated) =>
    simulated.edit((spec) => ({ ...spec, ...change }));
const suspend = edit({ operatingMode: 'Suspended' });
const wake = edit({ operatingMode: 'Running' });
const STOP = { suspensionStrategy: { type: 'Stop' } } as const;
const pass: Event = (simulated, check) => void simulated.pass(Infinity, check);
const passBehind: Event = (simulated, check) => simulated.passBehind(check);
const fallBehind: Event = (simulated) => simulated.fallBehind();
const run: Event = (simulated) => simulated.report('Running', true);
const copy: Event = ({ memory }) => memory.copy(true);
const save: Event = ({ memory, pods }) => memory.save(pods, true);
const announce: Event = ({ memory, pods, nowMs }) => memory.announce(pods, nowMs);
const restore: Event = (simulated) => simulated.restore();
const end: Event = (simulated) => simulated.finishTermination();
const catchUp: Event = ({ memory }) => memory.catchUp();
const free: Event = ({ memory }) => memory.release();

const trouble: fc.Arbitrary<Event> = fc.oneof(
  fc.integer({ min: 0, max: 5 }).map(
    (steps): Event =>
      (simulated, check) =>
        void simulated.pass(steps, check),
  ),
  fc.constantFrom<Event>(
    ({ memory }) => memory.copy(false),
    ({ memory, pods }) => memory.save(pods, false),
    ({ memory, pods }) => memory.settle(pods, 'Failed'),
    ({ memory, pods }) => memory.settle(pods, 'Withdrawn'),
    ({ memory }) => memory.loseData(),
    ({ memory }) => memory.forgetFailures(),
    ({ memory, nowMs }) => memory.deleteAll(nowMs),
    free,
    (simulated) => simulated.deletePods(false),
    (simulated) => simulated.deletePods(true),
    (simulated) => simulated.report('Failed', false),
    edit(STOP),
    edit(HIBERNATE),
    edit({ podFailurePolicy: { restart: 'Always', backoffSeconds: 1 } }),
    edit({ shutdownTime: '2026-01-01T00:00:00Z' }),
    edit({ shutdownTime: undefined }),
    edit({ podTemplate: { spec: { containers: [{ name: 'main', image: 'another' }] } } }),
    (simulated) => void (simulated.rejecting = simulated.rejecting === undefined ? 'hibernation' : undefined),
  ),
  fc.integer({ min: 1, max: 70_000 }).map(
    (ms): Event =>
      (simulated) =>
        void (simulated.nowMs += ms),
  ),
);

/** Several events in a row: most histories come far, so that trouble meets every part of a start. */
const all =
  (...events: readonly Event[]): Event =>
  (simulated, check) => {
    for (const happens of events) happens(simulated, check);
  };
const progress = fc.constantFrom<Event>(
  all(pass, copy, catchUp, pass),
  all(announce, catchUp),
  all(announce, restore),
  all(announce, restore, run, catchUp, pass),
  all(run, pass),
  all(save, catchUp, pass, end),
);

const event: fc.Arbitrary<Event> = fc.oneof(
  { weight: 4, arbitrary: progress },
  { weight: 6, arbitrary: fc.constantFrom(pass, catchUp) },
  { weight: 2, arbitrary: fc.constantFrom(passBehind, fallBehind) },
  { weight: 8, arbitrary: fc.constantFrom(run, copy, save, announce, restore, end) },
  { weight: 1, arbitrary: fc.constantFrom(suspend, wake) },
  { weight: 2, arbitrary: trouble },
);

function start(onFailure: OnFailure): SimulatedSandbox {
  const simulated = new SimulatedSandbox(true);
  simulated.edit((spec) => ({ ...spec, restoreFrom: { snapshotName: 'trained', onFailure } }));
  return simulated;
}

const getRecord = ({ sandbox }: SimulatedSandbox): string | undefined =>
  sandbox?.metadata.annotations?.[annotations.startMemory];

const findReady = ({ sandbox }: SimulatedSandbox) =>
  findCondition(sandbox?.status?.conditions, sandboxConditions.ready);

/** What must hold after every single step of the controller. */
function checkStep(simulated: SimulatedSandbox, step: Step): void {
  const { memory, pods, sandbox } = simulated;
  expect(pods.length).toBeLessThanOrEqual(1);
  expect(memory.countStarts()).toBeLessThanOrEqual(1);
  for (const times of memory.restores.values()) expect(times).toBe(1);
  if (step.kind === 'createPod') checkCreation(simulated, step.pod);
  const isStrict = sandbox?.spec.restoreFrom?.onFailure === 'Fail';
  // Ready is believed by claims, pools and the API.
  if (step.kind === 'patchStatus' && isStrict && findReady(simulated)?.status === 'True') {
    expect([getRecord(simulated), memory.countStarts()]).toEqual([START_DONE, 1]);
  }
}

/** A Pod begins anew only after the start, or in its place if that failed and the Sandbox may boot. */
function checkCreation(simulated: SimulatedSandbox, pod: Pod): void {
  const { memory, sandbox } = simulated;
  const mark = findMark(pod);
  const from = memory.objects.find(({ metadata }) => metadata.uid === mark);
  if (from !== undefined && isCopy(from)) {
    expect([getRecord(simulated), memory.countStarts()]).toEqual([mark, 0]);
    return;
  }
  if (mark !== undefined || sandbox === undefined) return;
  const { kind } = readStart(sandbox);
  const mayFail = sandbox.spec.restoreFrom?.onFailure === 'Boot';
  expect(mayFail ? ['done', 'failed'] : ['done']).toContain(kind);
  if (kind === 'done') expect(memory.countStarts()).toBe(1);
}

/** Everybody does what is left to do, until nothing changes. */
function settle(simulated: SimulatedSandbox, check: Check): void {
  simulated.rejecting = undefined;
  const withdraw: Event = ({ memory, pods }) => memory.settle(pods, 'Withdrawn');
  for (let round = 0; round < 8; round += 1) {
    simulated.nowMs += 61_000;
    const events = [withdraw, catchUp, pass, copy, catchUp, pass, run, save, catchUp, pass, end, pass];
    for (const happens of [...events, announce, restore, run, catchUp, pass, pass, free]) happens(simulated, check);
  }
}

function play(onFailure: OnFailure, history: readonly Event[]): SimulatedSandbox {
  const simulated = start(onFailure);
  const check: Check = (step) => checkStep(simulated, step);
  for (const happens of history) happens(simulated, check);
  return simulated;
}

const histories = fc.array(event, { minLength: 5, maxLength: 60, size: 'max' });
describe.each(['Fail', 'Boot'] as const)(
  'after any history, a Sandbox with restoreFrom and onFailure %s',
  (onFailure) => {
    it('starts once at most, and boots as it may', { timeout: 600_000 }, () => {
      fc.assert(
        fc.property(histories, (history) => void play(onFailure, history)),
        { numRuns: 300 },
      );
    });

    it.each([
      ['runs, or says why it cannot, when it is to run', wake, 'Running'],
      ['is asleep when it is suspended', suspend, 'Suspended'],
    ] as const)('%s', { timeout: 600_000 }, (_, last, mode) => {
      fc.assert(
        fc.property(histories, (history) => {
          const simulated = play(onFailure, history);
          const check: Check = (step) => checkStep(simulated, step);
          const lasting = {
            podFailurePolicy: { restart: 'Always', backoffSeconds: 1 },
            shutdownTime: undefined,
          } as const;
          edit(lasting)(simulated, check);
          last(simulated, check);
          settle(simulated, check);
          checkEnd(simulated, mode);
        }),
        { numRuns: 300 },
      );
    });
  },
);

function checkEnd(simulated: SimulatedSandbox, mode: 'Running' | 'Suspended'): void {
  const { memory, pods, sandbox } = simulated;
  if (sandbox === undefined) throw new Error('the Sandbox is gone');
  const isRefused = isStartRefused(sandbox);
  const isUp = mode === 'Running' && !isRefused;
  expect(pods.map((pod) => memory.hasRun(pod))).toEqual(isUp ? [true] : []);
  expect(findReady(simulated)).toMatchObject({ status: isUp ? 'True' : 'False', reason: READY[mode](isRefused) });
  expect(memory.objects.filter(isRestorable).length).toBeLessThanOrEqual(isUp ? 0 : 1);
  const { kind } = readStart(sandbox);
  const isOver = kind === 'done' || kind === 'failed';
  expect(isOver || mode === 'Suspended').toBe(true);
  expect(memory.objects.filter(isCopy).length).toBeLessThanOrEqual(isOver ? 0 : 1);
}

const READY = {
  Running: (isRefused: boolean) => (isRefused ? 'RestoreFailed' : 'DependenciesReady'),
  Suspended: () => 'SandboxSuspended',
};
