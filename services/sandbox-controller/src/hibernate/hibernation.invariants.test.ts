import { isRestorable, needsHibernation, resolveMode } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import type { Pod } from '@sandlot/kube';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HIBERNATE, KEEP_RUNNING } from '../../test/hibernations.ts';
import { SimulatedSandbox } from '../../test/simulated-sandbox.ts';
import type { Step } from '../plan/steps.ts';
import { findMark, isDataLost } from './hibernations.ts';

type Spec = Sandbox['spec'];
type Check = (step: Step) => void;
type Event = (simulated: SimulatedSandbox, check: Check) => void;

const edit =
  (change: Partial<Spec>): Event =>
  (simulated) =>
    simulated.edit((spec) => ({ ...spec, ...change }));
const suspend = edit({ operatingMode: 'Suspended' });
const wake = edit({ operatingMode: 'Running' });
const pass: Event = (simulated, check) => void simulated.pass(Infinity, check);
const run: Event = (simulated) => simulated.report('Running', true);
const save: Event = ({ memory, pods }) => memory.save(pods, true);
const announce: Event = ({ memory, pods, nowMs }) => memory.announce(pods, nowMs);
const restore: Event = (simulated) => simulated.restore();
const end: Event = (simulated) => simulated.finishTermination();
const catchUp: Event = ({ memory }) => memory.catchUp();

/** What goes wrong, besides the moments at which all of it happens. */
const trouble: fc.Arbitrary<Event> = fc.oneof(
  fc.integer({ min: 0, max: 3 }).map(
    (steps): Event =>
      (simulated, check) =>
        void simulated.pass(steps, check),
  ),
  fc.constantFrom<Event>(
    ({ memory, pods }) => memory.save(pods, false),
    ({ memory, pods }) => memory.settle(pods, 'Failed'),
    ({ memory, pods }) => memory.settle(pods, 'Withdrawn'),
    ({ memory }) => memory.loseData(),
    ({ memory }) => memory.forgetFailures(),
    ({ memory }) => memory.release(),
    (simulated) => simulated.deletePods(false),
    (simulated) => simulated.deletePods(true),
    (simulated) => simulated.report('Failed', false),
    edit({ suspensionStrategy: { type: 'Stop' } }),
    edit(HIBERNATE),
    edit(KEEP_RUNNING),
    edit({ podFailurePolicy: { restart: 'Always', backoffSeconds: 1 } }),
    (simulated) => void (simulated.rejecting = simulated.rejecting === undefined ? 'hibernation' : undefined),
  ),
  fc.integer({ min: 1, max: 70_000 }).map(
    (ms): Event =>
      (simulated) =>
        void (simulated.nowMs += ms),
  ),
);

const event: fc.Arbitrary<Event> = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(pass, catchUp) },
  { weight: 8, arbitrary: fc.constantFrom(run, save, announce, restore, end) },
  { weight: 3, arbitrary: fc.constantFrom(suspend, wake) },
  { weight: 2, arbitrary: trouble },
);

function start(): SimulatedSandbox {
  const simulated = new SimulatedSandbox(true);
  edit(HIBERNATE)(simulated, () => undefined);
  return simulated;
}

/** What must hold after every single step of the controller. */
function checkStep(simulated: SimulatedSandbox, step: Step): void {
  expect(simulated.pods.length).toBeLessThanOrEqual(1);
  for (const times of simulated.memory.restores.values()) expect(times).toBe(1);
  if (step.kind === 'createPod') checkCreation(simulated, step.pod);
  if (step.kind === 'deletePod') checkDeletion(simulated, step.pod);
}

/** A Pod continues from the memory of the Pod that ran last, so memory and disks agree; no other one leaves memory behind. */
function checkCreation({ memory }: SimulatedSandbox, pod: Pod): void {
  const restorable = memory.objects.filter(isRestorable);
  const mark = findMark(pod);
  if (mark === undefined) {
    expect(restorable).toEqual([]);
    return;
  }
  const from = restorable.find(({ metadata }) => metadata.uid === mark);
  expect(from?.status?.source?.podUID).toBe(memory.ran.at(-1));
  expect(memory.restores.has(mark)).toBe(false);
}

/** A Pod with memory goes only when that is saved, or cannot be and its owner accepts that, or by the strategy Stop. */
function checkDeletion({ memory, sandbox, pods: [pod] }: SimulatedSandbox, asked: Pod): void {
  if (pod === undefined || sandbox === undefined || !memory.hasRun(asked) || pod.status?.phase !== 'Running') return;
  const own = memory.objects.filter(({ status }) => status?.source?.podUID === asked.metadata.uid);
  // A saved Pod stands still. The cache may not show yet that the data of the save is gone with its Node.
  if (own.some((save) => save.status?.phase === 'Ready' || isDataLost(save))) return;
  expect(resolveMode(sandbox.spec)).toBe('Suspended');
  if (!needsHibernation(sandbox.spec)) return;
  expect(own.some(({ status }) => status?.phase === 'Failed')).toBe(true);
  expect(sandbox.spec.suspensionStrategy?.hibernate?.onFailure).not.toBe('KeepRunning');
}

/** Everybody does what is left to do, until nothing changes. */
function settle(simulated: SimulatedSandbox, check: Check): void {
  simulated.rejecting = undefined;
  const withdraw: Event = ({ memory, pods }) => memory.settle(pods, 'Withdrawn');
  const free: Event = ({ memory }) => memory.release();
  for (let round = 0; round < 8; round += 1) {
    simulated.nowMs += 61_000;
    for (const happens of [
      withdraw,
      catchUp,
      pass,
      run,
      save,
      catchUp,
      pass,
      end,
      pass,
      announce,
      restore,
      run,
      catchUp,
      pass,
      free,
    ]) {
      happens(simulated, check);
    }
  }
}

function play(history: readonly Event[]): SimulatedSandbox {
  const simulated = start();
  const check: Check = (step) => checkStep(simulated, step);
  for (const happens of history) happens(simulated, check);
  return simulated;
}

const histories = fc.array(event, { minLength: 10, maxLength: 80 });

describe('after any history, a Sandbox that hibernates', { timeout: 600_000 }, () => {
  it('never continues twice from one memory, nor from an old one, and never loses one unasked', () => {
    fc.assert(
      fc.property(histories, (history) => void play(history)),
      { numRuns: 1_000 },
    );
  });

  it.each([
    ['runs when it is woken, and does not stand still', wake, 'Running'],
    ['is asleep when it is suspended, with one memory at most', suspend, 'Suspended'],
  ] as const)('%s', (_, last, mode) => {
    fc.assert(
      fc.property(histories, (history) => {
        const simulated = play(history);
        const check: Check = (step) => checkStep(simulated, step);
        edit({ podFailurePolicy: { restart: 'Always', backoffSeconds: 1 }, ...HIBERNATE })(simulated, check);
        last(simulated, check);
        settle(simulated, check);
        const { memory, pods, sandbox } = simulated;
        expect(resolveMode(sandbox?.spec ?? {})).toBe(mode);
        expect(pods).toHaveLength(mode === 'Running' ? 1 : 0);
        for (const pod of pods)
          expect([memory.hasRun(pod), memory.frozen.has(pod.metadata.uid ?? '')]).toEqual([true, false]);
        expect(memory.objects.filter(isRestorable).length).toBeLessThanOrEqual(mode === 'Running' ? 0 : 1);
      }),
      { numRuns: 500 },
    );
  });
});
