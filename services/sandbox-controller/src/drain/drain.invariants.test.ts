import { isRestorable, memoryStates, labels, needsHibernation, resolveMode } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import type { Pod } from '@sandlot/kube';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HIBERNATE, KEEP_RUNNING } from '../../test/hibernations.ts';
import { SimulatedSandbox } from '../../test/simulated-sandbox.ts';
import { findMark } from '../hibernate/hibernations.ts';
import type { Step } from '../plan/steps.ts';

type Check = (step: Step) => void;
type Event = (simulated: SimulatedSandbox, check: Check) => void;

const edit =
  (change: Partial<Sandbox['spec']>): Event =>
  (simulated) =>
    simulated.edit((spec) => ({ ...spec, ...change }));
const pass: Event = (simulated, check) => void simulated.pass(Infinity, check);
const run: Event = (simulated) => simulated.report('Running', true);
const save: Event = ({ memory, pods, nowMs }) => memory.save(pods, true, nowMs);
const announce: Event = ({ memory, pods, nowMs }) => memory.announce(pods, nowMs);
const restore: Event = (simulated) => simulated.restore();
const end: Event = (simulated) => simulated.finishTermination();
const catchUp: Event = ({ memory }) => memory.catchUp();
const release: Event = ({ memory }) => memory.release();
const upload: Event = ({ memory, nowMs }) => memory.upload(nowMs);
const cordon: Event = (simulated) => simulated.cordon();
const uncordon: Event = (simulated) => simulated.uncordon();
const withdraw: Event = ({ memory, pods }) => memory.settle(pods, 'Withdrawn');

/** An eviction that the budget allows takes no memory that could still be saved. */
const evict: Event = (simulated) => {
  for (const pod of simulated.evict()) {
    if (pod.status?.phase !== 'Running' || !simulated.memory.hasRun(pod)) continue;
    expect(pod.metadata.labels?.[labels.memory]).not.toBe(memoryStates.protected);
  }
};

const trouble: fc.Arbitrary<Event> = fc.oneof(
  fc.integer({ min: 0, max: 3 }).map(
    (steps): Event =>
      (simulated, check) =>
        void simulated.pass(steps, check),
  ),
  fc.constantFrom<Event>(
    ({ memory, pods, nowMs }) => memory.save(pods, false, nowMs),
    ({ memory, pods }) => memory.settle(pods, 'Failed'),
    withdraw,
    release,
    ({ memory }) => memory.loseData(),
    ({ memory }) => memory.forgetFailures(),
    ({ memory, nowMs }) => memory.deleteAll(nowMs),
    (simulated) => simulated.deletePods(false),
    (simulated) => simulated.deletePods(true),
    (simulated) => simulated.report('Failed', false),
    edit({ suspensionStrategy: { type: 'Stop' } }),
    edit(HIBERNATE),
    edit(KEEP_RUNNING),
    (simulated) => void (simulated.hasBucket = !simulated.hasBucket),
    (simulated) => void (simulated.hasTurn = !simulated.hasTurn),
    (simulated) => void (simulated.rejecting = simulated.rejecting === undefined ? 'hibernation' : undefined),
  ),
  fc.integer({ min: 1, max: 700_000 }).map(
    (ms): Event =>
      (simulated) =>
        void (simulated.nowMs += ms),
  ),
);

const event: fc.Arbitrary<Event> = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(pass, catchUp) },
  { weight: 8, arbitrary: fc.constantFrom(run, save, announce, restore, end, upload) },
  { weight: 5, arbitrary: fc.constantFrom(cordon, cordon, uncordon, evict) },
  { weight: 2, arbitrary: fc.constantFrom(edit({ operatingMode: 'Suspended' }), edit({ operatingMode: 'Running' })) },
  { weight: 2, arbitrary: trouble },
);

function checkStep(simulated: SimulatedSandbox, step: Step): void {
  expect(simulated.pods.length).toBeLessThanOrEqual(1);
  for (const times of simulated.memory.restores.values()) expect(times).toBe(1);
  if (step.kind === 'createPod') checkCreation(simulated, step.pod);
  if (step.kind === 'deletePod') checkDeletion(simulated, step.pod);
}

/** A Pod continues from the memory of the Pod that ran last; no other one leaves memory behind. */
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

/** A Sandbox that runs, hibernates and has memory loses its Pod only when that is saved. */
function checkDeletion({ memory, sandbox, pods: [pod] }: SimulatedSandbox, asked: Pod): void {
  if (sandbox === undefined || pod?.status?.phase !== 'Running' || !memory.hasRun(asked)) return;
  if (resolveMode(sandbox.spec) === 'Suspended' || !needsHibernation(sandbox.spec)) return;
  const own = memory.objects.filter(({ status }) => status?.source?.podUID === asked.metadata.uid);
  expect(own.some(({ status }) => status?.savedAt !== undefined)).toBe(true);
}

function play(history: readonly Event[]): SimulatedSandbox {
  const simulated = new SimulatedSandbox(true, true);
  const check: Check = (step) => checkStep(simulated, step);
  for (const happens of [edit(HIBERNATE), pass, run, pass, ...history]) happens(simulated, check);
  return simulated;
}

/** `happens` again and again, a minute apart, until the node is empty. Returns whether that came true. */
function drain(simulated: SimulatedSandbox, happens: readonly Event[]): boolean {
  const check: Check = (step) => checkStep(simulated, step);
  simulated.hasTurn = true;
  simulated.rejecting = undefined;
  cordon(simulated, check);
  for (let minute = 0; minute < 45; minute += 1) {
    for (const each of happens) each(simulated, check);
    if (simulated.isAway()) return true;
    simulated.nowMs += 60_000;
  }
  return false;
}

const histories = fc.array(event, { minLength: 10, maxLength: 80 });

describe('after any history, a Sandbox whose node may be emptied', { timeout: 600_000 }, () => {
  it('never continues twice from one memory, nor from an old one, and loses none that could be saved', () => {
    fc.assert(
      fc.property(histories, (history) => void play(history)),
      { numRuns: 1_000 },
    );
  });

  it.each<readonly [string, readonly Event[]]>([
    ['everybody does their part', [catchUp, pass, save, catchUp, pass, upload, catchUp, pass, evict, end, release]],
    ['no save ever ends', [catchUp, pass, evict, release]],
    ['no save ever ends, and no data is ever erased', [catchUp, pass, evict]],
    ['uploads never end', [catchUp, pass, save, catchUp, pass, evict, end]],
  ])('lets the node go in the end when %s', (_, happens) => {
    fc.assert(
      fc.property(histories, (history) => {
        expect(drain(play(history), happens)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  it('goes on elsewhere and does not stand still', () => {
    fc.assert(
      fc.property(histories, (history) => {
        const simulated = play(history);
        const check: Check = (step) => checkStep(simulated, step);
        edit({ ...HIBERNATE, operatingMode: 'Running', podFailurePolicy: { restart: 'Always', backoffSeconds: 1 } })(
          simulated,
          check,
        );
        const settle = [withdraw, catchUp, pass, run, save, upload, catchUp, pass, end, pass, announce, restore, run];
        drain(simulated, [...settle, catchUp, pass, release, evict]);
        for (let round = 0; round < 12; round += 1) {
          simulated.nowMs += 61_000;
          for (const happens of [...settle, catchUp, pass, release]) happens(simulated, check);
        }
        const { memory, pods } = simulated;
        expect(pods).toHaveLength(1);
        for (const pod of pods) {
          expect([memory.hasRun(pod), memory.frozen.has(pod.metadata.uid ?? '')]).toEqual([true, false]);
          expect(pod.metadata.labels?.[labels.memory]).toBe(memoryStates.protected);
        }
      }),
      { numRuns: 500 },
    );
  });
});
