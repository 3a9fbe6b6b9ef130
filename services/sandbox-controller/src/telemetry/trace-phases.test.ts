import type { Event, PersistentVolumeClaim, Pod } from '@sandlot/kube';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { listPhases } from './trace-phases.ts';
import type { Phase, StartFacts } from './trace-phases.ts';

const START_MS = Date.UTC(2026, 0, 1, 12) + 400;
const END_MS = START_MS + 9_000;

/** So many seconds after the second of the start. */
const at = (seconds: number): string => new Date(START_MS - 400 + seconds * 1_000).toISOString().replace('.000Z', 'Z');

const condition = (type: string, seconds: number) =>
  ({ type, status: 'True', lastTransitionTime: at(seconds) }) as const;

interface PodParts {
  readonly conditions?: NonNullable<Pod['status']>['conditions'];
  readonly started?: readonly number[];
  readonly inits?: boolean;
}

function buildPod({ conditions = [], started = [], inits = false }: PodParts = {}): Pod {
  const containerStatuses = started.map((seconds, index) => ({
    name: `c${index}`,
    state: { running: { startedAt: at(seconds) } },
  }));
  return {
    metadata: { name: 'box', uid: 'uid-box', creationTimestamp: at(0) },
    spec: { nodeName: 'node-1', containers: [{ name: 'c0', image: 'ubuntu:24.04' }] },
    status: { conditions, containerStatuses, ...(inits ? { initContainerStatuses: [{ name: 'i' }] } : {}) },
  };
}

function pulled(seconds: number, note: string): Event {
  return {
    metadata: { name: `e${seconds}` },
    eventTime: '',
    type: 'Normal',
    reason: 'Pulled',
    action: '',
    note,
    regarding: {},
    reportingController: 'kubelet',
    reportingInstance: 'node-1',
    deprecatedLastTimestamp: at(seconds),
  };
}

function disk(name: string, created: number, bound: number | undefined): PersistentVolumeClaim {
  const managedFields = [{ manager: 'sandlot', time: at(created) }];
  const binding = bound === undefined ? [] : [{ manager: 'binder', subresource: 'status', time: at(bound) }];
  return {
    metadata: { name, creationTimestamp: at(created), managedFields: [...managedFields, ...binding] },
    spec: {},
    status: { phase: bound === undefined ? 'Pending' : 'Bound' },
  };
}

function facts(parts: Partial<StartFacts> = {}): StartFacts {
  return { pod: buildPod(), events: [], volumes: [], startMs: START_MS, endMs: END_MS, error: undefined, ...parts };
}

/** `name from-to`, in milliseconds after the start. */
function summary(phases: readonly Phase[]): string[] {
  return phases.map(({ name, startMs, endMs }) => `${name} ${startMs - START_MS}-${endMs - START_MS}`);
}

const REPORTED = [condition('PodScheduled', 2), condition('PodReadyToStartContainers', 3), condition('Initialized', 4)];

describe('the phases of a start', () => {
  it.each<[string, Partial<StartFacts>, string[]]>([
    ['without a Pod are all one', { pod: undefined }, ['pod.ready 0-9000']],
    [
      'come from the Pod and its Events',
      {
        pod: buildPod({ conditions: REPORTED, started: [6, 7] }),
        events: [pulled(5, 'Successfully pulled image "ubuntu:24.04" in 1.5s (1.6s including waiting)')],
      },
      [
        'pod.create 0-0',
        'pod.schedule 0-1600',
        'pod.prepare 1600-2600',
        'image.pull 2600-4600',
        'container.start 4600-6600',
        'pod.ready 6600-9000',
      ],
    ],
    [
      'have one more for init containers',
      { pod: buildPod({ conditions: REPORTED, started: [6], inits: true }) },
      [
        'pod.create 0-0',
        'pod.schedule 0-1600',
        'pod.prepare 1600-2600',
        'pod.init 2600-3600',
        'container.start 3600-5600',
        'pod.ready 5600-9000',
      ],
    ],
    [
      'extend the next phase over a phase without a known end',
      { pod: buildPod({ conditions: [condition('PodScheduled', 1), condition('ContainersReady', 5)] }) },
      ['pod.create 0-0', 'pod.schedule 0-600', 'container.start 600-4600', 'pod.ready 4600-9000'],
    ],
    [
      'end with the one that failed',
      { pod: buildPod({ conditions: [condition('PodScheduled', 1)] }), error: 'deleted' },
      ['pod.create 0-0', 'pod.schedule 0-600', 'pod.prepare 600-9000'],
    ],
    [
      'have one for each new disk, beside the others',
      { pod: undefined, volumes: [disk('work', 0, 3), disk('old', -60, -59), disk('unbound', 0, undefined)] },
      ['pod.ready 0-9000', 'pvc.provision 0-2600'],
    ],
  ])('%s', (_, parts, expected) => {
    expect(summary(listPhases(facts(parts)))).toEqual(expected);
  });

  it.each([
    ['was there already', 'Container image "x" already present on machine', { cached: true, ms: undefined }],
    ['was pulled', 'Successfully pulled image "x" in 1m2.5s (2m including waiting)', { cached: false, ms: 62_500 }],
    ['was pulled quickly', 'Successfully pulled image "x" in 84ms (84ms including waiting)', { cached: false, ms: 84 }],
  ])('say whether the image %s', (_, note, { cached, ms }) => {
    const pull = listPhases(facts({ events: [pulled(5, note)] })).find(({ name }) => name === 'image.pull');
    expect(pull?.attributes).toMatchObject({ 'sandlot.image.cached': cached, 'container.image.name': 'ubuntu:24.04' });
    expect(pull?.attributes['sandlot.image.pull_ms']).toBe(ms);
  });

  it('are a chain from the beginning to the end, whatever times the objects show', () => {
    const second = fc.integer({ min: -20, max: 20 });
    fc.assert(
      fc.property(fc.array(second, { minLength: 6, maxLength: 6 }), fc.boolean(), (seconds, inits) => {
        const [scheduled = 0, ready = 0, initialized = 0, started = 0, pull = 0, bound = 0] = seconds;
        const conditions = [
          condition('PodScheduled', scheduled),
          condition('PodReadyToStartContainers', ready),
          condition('Initialized', initialized),
        ];
        const pod = buildPod({ conditions, started: [started], inits });
        const all = listPhases(facts({ pod, events: [pulled(pull, '')], volumes: [disk('work', 0, bound)] }));
        const chain = all.filter(({ name }) => name !== 'pvc.provision');
        const borders = [START_MS, ...chain.map(({ endMs }) => endMs)];
        expect(chain.map(({ startMs }) => startMs)).toEqual(borders.slice(0, -1));
        expect(borders.at(-1)).toBe(END_MS);
        for (const { startMs, endMs } of all) {
          expect(startMs).toBeGreaterThanOrEqual(START_MS);
          expect(endMs).toBeGreaterThanOrEqual(startMs);
          expect(endMs).toBeLessThanOrEqual(END_MS);
        }
      }),
    );
  });
});
