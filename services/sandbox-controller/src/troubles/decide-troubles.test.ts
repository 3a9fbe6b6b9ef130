import type { ContainerStatus, PersistentVolumeClaim, Pod } from '@sandlot/kube';
import { describe, expect, it } from 'vitest';
import { decide } from '../decide.ts';
import { requeueAtMs } from '../lifetime/decide-requeue.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import { getStatus } from '../status/status.ts';
import type { Trouble } from '../plan/steps.ts';
import { EARLIER, NOW_MS, WORK, buildDisk, notebook, makePod, published, buildSnapshot } from '../../test/builders.ts';
import type { PodParts, SnapshotParts } from '../../test/builders.ts';
import { reducePod } from '../wiring/transform.ts';

const sandbox = notebook({ spec: { volumeClaimTemplates: [WORK] } });
const disk = (phase: 'Pending' | 'Bound' | 'Lost'): PersistentVolumeClaim => ({
  ...buildDisk(sandbox),
  spec: { storageClassName: 'fast', volumeName: 'pv-7' },
  status: { phase },
});

/** `seconds` before the moment of the test. */
const ago = (seconds: number): string => new Date(NOW_MS - seconds * 1_000).toISOString();

/** The Sandbox with this Pod as the cache keeps it; its status says what is to be said already. */
function settled(pod: Pod, parts: SnapshotParts = {}): Snapshot {
  const snapshot = buildSnapshot({ sandbox, disks: [disk('Bound')], ownedPods: [reducePod(pod)], ...parts });
  return { ...snapshot, sandbox: published(snapshot) };
}

const listTroubles = (snapshot: Snapshot): Trouble[] =>
  decide(snapshot).flatMap((step) => (step.kind === 'reportTrouble' ? [step.trouble] : []));
const sentences = (snapshot: Snapshot): string[] =>
  listTroubles(snapshot).map(({ note: { type, reason, message } }) => `${type} ${reason}: ${message}`);

function withContainers(
  pod: Pod,
  statuses: Pick<NonNullable<Pod['status']>, 'containerStatuses' | 'initContainerStatuses'>,
): Pod {
  return { ...pod, status: { ...pod.status, ...statuses } };
}

function waiting(reason: string, message?: string): ContainerStatus {
  return { name: 'main', image: 'busybox', restartCount: 0, state: { waiting: { reason, message } } };
}

function restarted(reason: string, finishedAt: string, state: ContainerStatus['state'] = {}): ContainerStatus {
  const lastState = { terminated: { reason, exitCode: 137, finishedAt } };
  return { name: 'main', image: 'busybox', restartCount: 3, state, lastState };
}

const pending = makePod(sandbox, { phase: 'Pending' });
const running = makePod(sandbox);
const main = (status: ContainerStatus, pod = pending): Snapshot =>
  settled(withContainers(pod, { containerStatuses: [status] }));

describe('a container', () => {
  const crash = { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 5m0s restarting failed container' } };
  const rows: readonly (readonly [sentence: string, snapshot: Snapshot, reportedTroubles: readonly string[]])[] = [
    ['that is being created is no trouble', main(waiting('ContainerCreating')), []],
    ['that waits for init containers is no trouble', main(waiting('PodInitializing')), []],
    ['that runs is no trouble', main({ name: 'main', state: { running: {} } }, running), []],
    [
      'whose image cannot be pulled is reported with its image, the words of the kubelet and what to do',
      main(waiting('ErrImagePull', 'manifest unknown')),
      [
        'Warning ImagePullFailed: Container "main" (image "busybox") does not start: ErrImagePull: manifest unknown. ' +
          'Check the name and tag of the image, its registry, and imagePullSecrets of the Pod template',
      ],
    ],
    [
      'whose configuration is missing is reported with what is missing',
      main(waiting('CreateContainerConfigError', 'secret "keys" not found')),
      [
        'Warning ContainerConfigInvalid: Container "main" (image "busybox") does not start: CreateContainerConfigError: ' +
          'secret "keys" not found. Check the ConfigMaps, Secrets and security settings that the Pod template refers to',
      ],
    ],
    [
      'that cannot run is reported',
      main(waiting('RunContainerError', 'exec: "nope": executable file not found')),
      [
        'Warning ContainerNotStarting: Container "main" (image "busybox") does not start: RunContainerError: exec: ' +
          '"nope": executable file not found. Check its command, and what it logged: kubectl logs --previous',
      ],
    ],
    [
      'that ran out of memory in a Pod that stays is reported with how it ended',
      main(restarted('OOMKilled', ago(5), { running: {} }), running),
      [
        'Warning ContainerRestarted: Container "main" (image "busybox") ended (OOMKilled, exit code 137) and is started ' +
          'again in its Pod. Raise its memory limit, or have it use less',
      ],
    ],
    [
      'that keeps failing is reported by how it ended, not by the changing words of the back-off',
      main(restarted('Error', ago(5), crash), running),
      [
        'Warning ContainerRestarted: Container "main" (image "busybox") ended (Error, exit code 137) and is started ' +
          'again in its Pod. What it logged: kubectl logs --previous',
      ],
    ],
    ['that ended long ago is not reported by a new controller', main(restarted('OOMKilled', ago(700)), running), []],
    [
      'that initialises the Pod is called an init container',
      settled(withContainers(pending, { initContainerStatuses: [{ ...waiting('ErrImagePull'), name: 'setup' }] })),
      [
        'Warning ImagePullFailed: Init container "setup" (image "busybox") does not start: ErrImagePull. ' +
          'Check the name and tag of the image, its registry, and imagePullSecrets of the Pod template',
      ],
    ],
  ];
  it.each(rows)('%s', (_, snapshot, expected) => {
    expect(sentences(snapshot)).toEqual(expected);
  });

  it('is reported once, whether the kubelet fails or backs off, and again after ten minutes', () => {
    const snapshot = main(waiting('ErrImagePull', 'manifest unknown'));
    const key = listTroubles(snapshot)[0]?.key ?? '';
    const later = {
      ...main(waiting('ImagePullBackOff', 'Back-off pulling image')),
      reportedTroubles: new Map([[key, NOW_MS + 1]]),
    };
    expect(sentences(later)).toEqual([]);
    expect(requeueAtMs(later)).toBe(NOW_MS + 1);
    expect(sentences({ ...later, nowMs: NOW_MS + 1 })).toHaveLength(1);
  });

  it('that ended is reported once for each end, without a requeue', () => {
    const snapshot = main(restarted('OOMKilled', ago(5)), running);
    const reported1 = new Map([[listTroubles(snapshot)[0]?.key ?? '', NOW_MS + 1]]);
    expect(requeueAtMs({ ...snapshot, reportedTroubles: reported1 })).toBeUndefined();
    const again = main({ ...restarted('OOMKilled', ago(1)), restartCount: 4 }, running);
    expect(sentences({ ...again, reportedTroubles: reported1 })).toHaveLength(1);
  });

  it('that changes its reason to wait costs no status write', () => {
    const before = main(waiting('ContainerCreating'));
    const after = main(waiting('ErrImagePull', 'manifest unknown'));
    expect(getStatus(after)).toEqual(getStatus(before));
    expect(decide(after).map(({ kind }) => kind)).toEqual(['reportTrouble']);
  });
});

describe('a Pod', () => {
  const unscheduled = (message: string, seconds: number): PodParts => ({
    phase: 'Pending',
    conditions: [
      { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message, lastTransitionTime: ago(seconds) },
    ],
  });
  const scheduled = (seconds: number): PodParts => ({
    phase: 'Pending',
    conditions: [{ type: 'PodScheduled', status: 'True', lastTransitionTime: ago(seconds) }],
  });
  /** As after a restore of etcd: the node does not know the Pod any more, and its volume is gone. */
  const startedAnew = (seconds: number, finishedAt?: string): Pod => {
    const conditions: PodParts['conditions'] = [
      { type: 'PodScheduled', status: 'True', lastTransitionTime: ago(700) },
      { type: 'Ready', status: 'False', lastTransitionTime: ago(seconds) },
    ];
    const { state } = waiting('ContainerCreating');
    const lastState = { terminated: { reason: 'ContainerStatusUnknown', exitCode: 137, finishedAt } };
    return withContainers(makePod(sandbox, { conditions }), {
      containerStatuses: [{ name: 'main', restartCount: 1, state, lastState }],
    });
  };
  const gone = makePod(sandbox, { terminating: true });
  const evicted = makePod(sandbox, {
    terminating: true,
    conditions: [{ type: 'DisruptionTarget', status: 'True', reason: 'EvictionByEvictionAPI', message: 'drained' }],
  });
  const late = (metadata: Partial<Pod['metadata']> = {}): Pod => ({
    ...gone,
    metadata: { ...gone.metadata, deletionTimestamp: ago(31), ...metadata },
  });
  const NO_CPU = '0/3 nodes are available: 3 Insufficient cpu.';
  const rows: readonly (readonly [sentence: string, snapshot: Snapshot, reportedTroubles: readonly RegExp[]])[] = [
    ['that the scheduler has just seen is no trouble', settled(makePod(sandbox, unscheduled(NO_CPU, 4))), []],
    [
      'that is unschedulable is reported in the words of the scheduler',
      settled(makePod(sandbox, unscheduled(NO_CPU, 5))),
      [
        /^Warning PodUnschedulable: No node takes the Pod: 0\/3 nodes are available: 3 Insufficient cpu\.\. Ask for less/,
      ],
    ],
    [
      'that is to be restored is reported with the choice that its owner has',
      settled(makePod(sandbox, { ...unscheduled(NO_CPU, 5), annotations: { 'sandlot.dev/restore-snapshot': 'uid' } })),
      [/cpu\.\. Only a node that can have the saved memory of the Sandbox will do: .* suspensionStrategy\.type Stop$/],
    ],
    ['that has been on its node for a moment is no trouble', settled(makePod(sandbox, scheduled(29))), []],
    [
      'that has been on its node for long is reported with its cause',
      settled(makePod(sandbox, scheduled(30))),
      [/^Warning PodNotStarting: Pod does not start on node "node-1"/],
    ],
    ['that is started anew is no trouble for a moment', settled(startedAnew(29)), []],
    [
      'that has run, and that its node has not started anew for long, is reported with its cause',
      settled(startedAnew(30)),
      [/^Warning PodNotStarting: Pod does not start on node "node-1"/],
    ],
    [
      'whose end was seen and that its node has not started anew for long is reported with both',
      settled(startedAnew(30, ago(40))),
      [/^Warning ContainerRestarted: /, /^Warning PodNotStarting: /],
    ],
    [
      'that a user deleted is reported',
      settled(gone),
      [/^Normal PodDeleted: Pod was deleted by somebody else\. A new one follows on the same volumes$/],
    ],
    [
      'that was evicted is reported with the reason',
      settled(evicted),
      [
        /^Warning PodEvicted: Pod was evicted \(EvictionByEvictionAPI: drained\)\. A new one follows on the same volumes$/,
      ],
    ],
    [
      'that the controller deletes to suspend the Sandbox is not reported',
      settled(gone, { sandbox: notebook({ spec: { operatingMode: 'Suspended' } }) }),
      [],
    ],
    [
      'that the controller deletes for a restart is not reported',
      settled(makePod(sandbox, { phase: 'Failed', terminating: true }), {
        sandbox: notebook({
          spec: { podFailurePolicy: { restart: 'OnFailure' } },
          status: { restarts: { nextRestartTime: EARLIER } },
        }),
      }),
      [],
    ],
    [
      'that its node does not stop is reported, never force-deleted',
      settled(late(), { sandbox: notebook({ spec: { operatingMode: 'Suspended' } }) }),
      [/^Warning PodStuckTerminating: Pod "notebook" should have ended and has not been stopped by node "node-1"/],
    ],
    [
      'that a finalizer holds is reported with the finalizer',
      settled(late({ finalizers: ['example.com/hold'] }), {
        sandbox: notebook({ spec: { operatingMode: 'Suspended' } }),
      }),
      [/is held by finalizers \(example\.com\/hold\)\. The controller that added them must remove them$/],
    ],
  ];
  it.each(rows)('%s', (_, snapshot, expected) => {
    expect(sentences(snapshot)).toEqual(expected.map((pattern) => expect.stringMatching(pattern) as string));
  });

  it('is requeued for the time when its trouble is due', () => {
    expect(requeueAtMs(settled(makePod(sandbox, unscheduled(NO_CPU, 1))))).toBe(NOW_MS + 4_000);
    expect(requeueAtMs(settled(makePod(sandbox, scheduled(1))))).toBe(NOW_MS + 29_000);
    expect(requeueAtMs(settled(makePod(sandbox)))).toBeUndefined();
  });
});

describe('a disk', () => {
  const MISSING = 'storageclass.storage.k8s.io "fast" not found';
  const waitingFor = (message: string, phase: 'Pending' | 'Bound' = 'Pending', seconds = 5): Snapshot => {
    const conditions = [
      {
        type: 'PodScheduled',
        status: 'False' as const,
        reason: 'Unschedulable',
        message,
        lastTransitionTime: ago(seconds),
      },
    ];
    return settled(makePod(sandbox, { phase: 'Pending', conditions }), { disks: [disk(phase)] });
  };

  it('that keeps a Pod waiting is reported with its class and its cause', () => {
    const [trouble] = listTroubles(waitingFor(MISSING));
    expect(trouble).toMatchObject({
      note: {
        reason: 'VolumeNotBound',
        message: 'PersistentVolumeClaim "work-notebook" of class "fast" has no volume',
      },
      causedBy: { metadata: { name: 'work-notebook' } },
      otherwise: MISSING,
    });
  });

  it.each([
    ['a moment ago is no trouble', waitingFor(MISSING, 'Pending', 4), []],
    [
      'is not blamed when it is bound',
      waitingFor('node(s) had volume node affinity conflict', 'Bound'),
      ['PodUnschedulable'],
    ],
    ['is not blamed for something else', waitingFor('3 Insufficient cpu.'), ['PodUnschedulable']],
    ['that lost its volume is reported', settled(running, { disks: [disk('Lost')] }), ['VolumeLost']],
    ['that waits while the Pod runs is no trouble', settled(running, { disks: [disk('Pending')] }), []],
  ])('%s', (_, snapshot, expected) => {
    expect(listTroubles(snapshot).map(({ note }) => note.reason)).toEqual(expected);
  });

  it('that lost its volume is reported with its class and its volume', () => {
    expect(sentences(settled(running, { disks: [disk('Lost')] }))[0]).toContain(
      'PersistentVolumeClaim "work-notebook" of class "fast" is lost: its volume "pv-7" is gone',
    );
  });
});
