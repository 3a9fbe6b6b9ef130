import { describe, expect, it } from 'vitest';
import type { Snapshot } from '../plan/snapshot.ts';
import {
  NOW,
  NOW_MS,
  STRANGER,
  conditionSummary,
  findMessage,
  notebook,
  makePod,
  published,
  buildService,
  buildSnapshot,
} from '../../test/builders.ts';

const running = notebook();
const suspended = notebook({ spec: { operatingMode: 'Suspended' } });
const NOT_SUSPENDED = 'Suspended=False/NotSuspended';
const SCHEDULED = 'PodScheduled=True/PodScheduled';

/** A Sandbox whose status already shows a Ready Pod. */
const ready = published(buildSnapshot({ sandbox: running, ownedPods: [makePod(running)] }));

describe('conditions', () => {
  const withService = notebook({ spec: { service: true } });
  const rows: readonly (readonly [
    sentence: string,
    snapshot: Snapshot,
    conditions: readonly string[],
    message: string,
  ])[] = [
    [
      'of a Sandbox without a Pod',
      buildSnapshot(),
      ['Ready=False/DependenciesNotReady', NOT_SUSPENDED],
      'Pod does not exist',
    ],
    [
      'of a Pod the scheduler has not seen',
      buildSnapshot({ ownedPods: [makePod(running, { phase: 'Pending', conditions: [] })] }),
      ['PodScheduled=Unknown/PodSchedulingUnknown', 'Ready=False/DependenciesNotReady', NOT_SUSPENDED],
      'Pod exists with phase: Pending',
    ],
    [
      'of a Pod that cannot be scheduled, in the words of the scheduler',
      buildSnapshot({
        ownedPods: [
          makePod(running, {
            phase: 'Pending',
            conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/1 nodes' }],
          }),
        ],
      }),
      ['PodScheduled=False/Unschedulable', 'Ready=False/DependenciesNotReady', NOT_SUSPENDED],
      'Pod exists with phase: Pending',
    ],
    [
      'of a Pod without a scheduling reason',
      buildSnapshot({
        ownedPods: [makePod(running, { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False' }] })],
      }),
      ['PodScheduled=False/PodSchedulingUnknown', 'Ready=False/DependenciesNotReady', NOT_SUSPENDED],
      'Pod exists with phase: Pending',
    ],
    [
      'of a Pod that runs and is not ready',
      buildSnapshot({ ownedPods: [makePod(running, { ready: false })] }),
      [SCHEDULED, 'Ready=False/DependenciesNotReady', NOT_SUSPENDED],
      'Pod is Running but not Ready',
    ],
    [
      'of a Pod that is ready and has no address',
      buildSnapshot({ ownedPods: [makePod(running, { ips: [] })] }),
      [SCHEDULED, 'Ready=False/DependenciesNotReady', NOT_SUSPENDED],
      'Pod is Ready but has no podIPs yet',
    ],
    [
      'of a Pod that is ready',
      buildSnapshot({ ownedPods: [makePod(running)] }),
      [SCHEDULED, 'Ready=True/DependenciesReady', NOT_SUSPENDED],
      'Pod is Ready',
    ],
    [
      'of a ready Pod whose Service is missing',
      buildSnapshot({ sandbox: withService, ownedPods: [makePod(running)] }),
      [SCHEDULED, 'Ready=False/DependenciesNotReady', NOT_SUSPENDED],
      'Pod is Ready; Service does not exist',
    ],
    [
      'of a ready Pod with its Service',
      buildSnapshot({ sandbox: withService, ownedPods: [makePod(running)], service: buildService(running) }),
      [SCHEDULED, 'Ready=True/DependenciesReady', NOT_SUSPENDED],
      'Pod is Ready; Service Exists',
    ],
    [
      'of a Sandbox that leaves service unset and has one in use',
      buildSnapshot({ ownedPods: [makePod(running)], service: buildService(running) }),
      [SCHEDULED, 'Ready=True/DependenciesReady', NOT_SUSPENDED],
      'Pod is Ready; Service Exists',
    ],
    [
      'of a ready Pod that is being deleted',
      buildSnapshot({ ownedPods: [makePod(running, { terminating: true })] }),
      [SCHEDULED, 'Ready=False/DependenciesNotReady', NOT_SUSPENDED],
      'Pod is Running but not Ready',
    ],
    [
      'of a Pod that succeeded',
      buildSnapshot({ ownedPods: [makePod(running, { phase: 'Succeeded' })] }),
      ['Finished=True/PodSucceeded', SCHEDULED, 'Ready=False/PodSucceeded', NOT_SUSPENDED],
      'Pod completed successfully',
    ],
    [
      'of a Pod that failed',
      buildSnapshot({ ownedPods: [makePod(running, { phase: 'Failed' })] }),
      ['Finished=True/PodFailed', SCHEDULED, 'Ready=False/PodFailed', NOT_SUSPENDED],
      'Pod failed',
    ],
    [
      'of a Pod that passes through Failed because it is deleted',
      buildSnapshot({ sandbox: ready, ownedPods: [makePod(running, { phase: 'Failed', terminating: true })] }),
      [SCHEDULED, 'Ready=False/DependenciesNotReady', NOT_SUSPENDED],
      'Pod exists with phase: Failed',
    ],
    [
      'of a finished Pod that is deleted later',
      buildSnapshot({
        sandbox: published(buildSnapshot({ ownedPods: [makePod(running, { phase: 'Failed' })] })),
        ownedPods: [makePod(running, { phase: 'Failed', terminating: true })],
      }),
      ['Finished=True/PodFailed', SCHEDULED, 'Ready=False/PodFailed', NOT_SUSPENDED],
      'Pod failed',
    ],
    [
      'of a suspension in progress',
      buildSnapshot({ sandbox: suspended, ownedPods: [makePod(running, { terminating: true })] }),
      [SCHEDULED, 'Ready=False/SandboxSuspended', 'Suspended=False/PodTerminating'],
      'Sandbox is suspending',
    ],
    [
      'of a complete suspension',
      buildSnapshot({ sandbox: suspended }),
      ['Ready=False/SandboxSuspended', 'Suspended=True/PodTerminated'],
      'Sandbox is suspended',
    ],
    [
      'of a suspended Sandbox with a foreign Pod of its name',
      buildSnapshot({ sandbox: suspended, foreignPod: makePod(running, { owner: STRANGER }) }),
      ['Ready=False/SandboxSuspended', 'Suspended=False/PodNotOwned'],
      'Sandbox is suspending',
    ],
    [
      'of a suspension that cannot be confirmed',
      buildSnapshot({ sandbox: suspended, failures: [{ phase: 'pod', message: 'get pods: boom' }] }),
      ['PodScheduled=Unknown/PodSchedulingUnknown', 'Ready=False/ReconcilerError', 'Suspended=Unknown/PodStateUnknown'],
      'Error seen: get pods: boom',
    ],
    [
      'of two Pods, whatever else failed',
      buildSnapshot({
        sandbox: suspended,
        ownedPods: [makePod(running), makePod(running, { name: 'other' })],
        failures: [{ phase: 'disks', message: 'boom' }],
      }),
      ['PodScheduled=Unknown/PodSchedulingUnknown', 'Ready=False/MultiplePods', 'Suspended=Unknown/PodStateUnknown'],
      'multiple Pods (2) are controlled by this Sandbox; refusing to choose or create a Pod',
    ],
    [
      'of a Pod that the API server refuses as invalid',
      buildSnapshot({ failures: [{ phase: 'pod', message: 'boom', isInvalid: true }] }),
      ['PodScheduled=Unknown/PodSchedulingUnknown', 'Ready=False/InvalidConfiguration', NOT_SUSPENDED],
      'Error seen: boom',
    ],
    [
      'of an invalid Pod beside another error, which may pass',
      buildSnapshot({
        failures: [
          { phase: 'disks', message: 'quota' },
          { phase: 'pod', message: 'boom', isInvalid: true },
        ],
      }),
      ['PodScheduled=Unknown/PodSchedulingUnknown', 'Ready=False/ReconcilerError', NOT_SUSPENDED],
      'Error seen: quota\nboom',
    ],
    [
      'of an error while a Pod is ready',
      buildSnapshot({ ownedPods: [makePod(running)], failures: [{ phase: 'service', message: 'boom' }] }),
      [SCHEDULED, 'Ready=False/ReconcilerError', NOT_SUSPENDED],
      'Error seen: boom',
    ],
  ];

  it.each(rows)('%s', (...[, snapshot, expected, message]) => {
    expect(conditionSummary(snapshot)).toEqual(expected);
    expect(findMessage(snapshot, 'Ready')).toBe(message);
  });

  it.each([
    ['NotSuspended', buildSnapshot(), 'Sandbox is not suspended'],
    ['PodTerminated', buildSnapshot({ sandbox: suspended }), 'Pod has been terminated. Sandbox is suspended'],
    [
      'PodTerminating',
      buildSnapshot({ sandbox: suspended, ownedPods: [makePod(running)] }),
      'Pod is terminating. Sandbox is suspending',
    ],
    [
      'PodNotOwned',
      buildSnapshot({ sandbox: suspended, foreignPod: makePod(running, { owner: STRANGER }) }),
      'Refused to delete pod because it is not owned by this sandbox',
    ],
    [
      'PodStateUnknown',
      buildSnapshot({ sandbox: suspended, failures: [{ phase: 'pod', message: 'boom' }] }),
      'Pod state is unknown. Sandbox suspension cannot be confirmed',
    ],
  ])('have the documented message of %s', (_, snapshot, message) => {
    expect(findMessage(snapshot, 'Suspended')).toBe(message);
  });

  it.each([
    ['reported nothing', [], 'Pod has not reported a PodScheduled condition yet'],
    [
      'reported a reason',
      [{ type: 'PodScheduled', status: 'False' as const, reason: 'Unschedulable', message: 'no room' }],
      'no room',
    ],
  ])('say that a Pod %s about its scheduling', (_, given, message) => {
    const snapshot = buildSnapshot({ ownedPods: [makePod(running, { phase: 'Pending', conditions: given })] });
    expect(findMessage(snapshot, 'PodScheduled')).toBe(message);
  });

  it('move their transition time only when the status changes', () => {
    const snapshot = buildSnapshot({
      sandbox: ready,
      nowMs: NOW_MS + 60_000,
      ownedPods: [makePod(running, { ready: false })],
    });
    const times = new Map(published(snapshot).status?.conditions?.map((c) => [c.type, c.lastTransitionTime]));
    expect(times).toEqual(
      new Map([
        ['PodScheduled', NOW],
        ['Ready', '2026-01-01T12:01:00Z'],
        ['Suspended', NOW],
      ]),
    );
  });

  it('carry the generation of the pass', () => {
    const sandbox = { ...ready, metadata: { ...ready.metadata, generation: 4 } };
    const { status } = published(buildSnapshot({ sandbox, ownedPods: [makePod(running)] }));
    expect(status?.observedGeneration).toBe(4);
    expect(status?.conditions?.map((condition) => condition.observedGeneration)).toEqual([4, 4, 4]);
  });
});
