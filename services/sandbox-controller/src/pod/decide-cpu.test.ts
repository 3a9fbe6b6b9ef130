import { sandboxMessages as messages } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import type { ContainerStatus, Pod } from '@sandlot/kube';
import { describe, expect, it } from 'vitest';
import { makePod, notebook } from '../../test/builders.ts';
import { reducePod } from '../wiring/transform.ts';
import { decideCpu, findResizeWait } from './decide-cpu.ts';

const MARK = 'sandlot.dev/inplace-cpu';
const ASKED = 'request=1,limit=2';
const GIVEN = { requests: { cpu: '1' }, limits: { cpu: '2000m' } };
const SMALL = { requests: { cpu: '100m' }, limits: { cpu: '200m' } };
const marked: Sandbox = notebook({ metadata: { annotations: { [MARK]: ASKED } } });

type Resources = NonNullable<ContainerStatus['resources']>;

interface Parts {
  readonly mark?: string;
  readonly spec?: Resources;
  readonly status?: Resources;
  readonly conditions?: readonly (readonly [type: string, reason: string])[];
}

/** A Pod whose first container comes after one that admission added. */
function resizedPod({ mark = ASKED, spec = GIVEN, status = GIVEN, conditions = [] }: Parts = {}): Pod {
  const reported = conditions.map(([type, reason]) => ({ type, reason, status: 'True' as const, message: 'words' }));
  const pod = makePod(marked, { annotations: mark === '' ? {} : { [MARK]: mark }, conditions: reported });
  const sidecar = { name: 'a-sidecar', image: 'proxy', resources: SMALL };
  const containerStatuses = [
    { name: 'a-sidecar', resources: SMALL },
    { name: 'main', resources: status },
  ];
  return {
    ...pod,
    spec: { ...pod.spec, containers: [sidecar, { name: 'main', image: 'busybox', resources: spec }] },
    status: { ...pod.status, containerStatuses },
  };
}

describe('the CPU of a live Pod', () => {
  it.each<[string, Sandbox, Pod, number]>([
    ['is left alone when no claim requested any', notebook(), makePod(notebook()), 0],
    ['is changed once a claim requests it', marked, resizedPod({ mark: '' }), 1],
    ['is changed again when the request changes', marked, resizedPod({ mark: 'request=2' }), 1],
    ['is left alone once the API server has accepted it', marked, resizedPod(), 0],
    ['is left alone when another writer has changed it since', marked, resizedPod({ spec: SMALL }), 0],
    ['is left alone in a Pod that ended', marked, makePod(marked, { phase: 'Failed' }), 0],
    ['is left alone in a Pod that is being deleted', marked, makePod(marked, { terminating: true }), 0],
  ])('%s', (...[, sandbox, pod, steps]) => {
    expect(decideCpu(sandbox, pod)).toHaveLength(steps);
  });

  it.each<[string, Parts, string, string]>([
    ['before it was asked for', { mark: '' }, 'ResizePending', messages.resizeUnconfirmed],
    ['while the node shows the old one', { status: SMALL }, 'ResizePending', messages.resizeUnconfirmed],
    ['while the node shows none', { status: {} }, 'ResizePending', messages.resizeUnconfirmed],
    [
      'while the node sets it',
      { status: SMALL, conditions: [['PodResizeInProgress', '']] },
      'ResizePending',
      messages.resizeUnconfirmed,
    ],
    [
      'while the node has no room',
      { status: SMALL, conditions: [['PodResizePending', 'Deferred']] },
      'ResizePending',
      messages.resizeDeferred,
    ],
    [
      'while the runtime fails',
      { status: SMALL, conditions: [['PodResizeInProgress', 'Error']] },
      'ResizePending',
      messages.resizeFailing,
    ],
    [
      'when the node can never give it',
      { status: SMALL, conditions: [['PodResizePending', 'Infeasible']] },
      'ResizeInfeasible',
      messages.resizeInfeasible('words'),
    ],
    [
      'when a first resize still runs and the next is impossible',
      {
        status: SMALL,
        conditions: [
          ['PodResizeInProgress', ''],
          ['PodResizePending', 'Infeasible'],
        ],
      },
      'ResizeInfeasible',
      messages.resizeInfeasible('words'),
    ],
  ])('is missing %s', (...[, parts, reason, message]) => {
    expect(findResizeWait(marked, resizedPod(parts))).toEqual({ reason, message });
  });

  it.each<[string, Parts]>([
    ['the node has set it', {}],
    ['the node has set it and a condition is late', { conditions: [['PodResizeInProgress', '']] }],
    ['another writer has asked for something else since', { spec: SMALL, status: SMALL }],
  ])('is there when %s', (_, parts) => {
    expect(findResizeWait(marked, resizedPod(parts))).toBeUndefined();
  });

  it('reads the same from the cache as from the whole Pod', () => {
    for (const parts of [{}, { status: SMALL }, { status: {} }, { spec: SMALL }, { mark: '' }]) {
      const pod = resizedPod(parts);
      expect(findResizeWait(marked, reducePod(pod))).toEqual(findResizeWait(marked, pod));
    }
  });
});
