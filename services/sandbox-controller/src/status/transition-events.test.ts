import { describe, expect, it } from 'vitest';
import { STRANGER, notebook, podOf, published, snapshotOf } from '../../test/builders.ts';
import { expiringStatusOf, statusOf } from './status.ts';
import { transitionNotes } from './transition-events.ts';

const running = notebook();
const suspended = notebook({ spec: { operatingMode: 'Suspended' } });
const ready = snapshotOf({ ownedPods: [podOf(running)] });
const readyStatus = statusOf(ready);
const two = snapshotOf({ ownedPods: [podOf(running), podOf(running, { name: 'other' })] });
const sleeping = snapshotOf({ sandbox: suspended });

describe('Events', () => {
  it.each([
    ['are not recorded for a start', undefined, readyStatus, []],
    ['warn once about two Pods', readyStatus, statusOf(two), ['Warning MultiplePods']],
    ['are not repeated', statusOf(two), statusOf(two), []],
    ['report a suspension', readyStatus, statusOf(sleeping), ['Normal Suspended']],
    [
      'report a resume',
      statusOf(sleeping),
      statusOf(snapshotOf({ sandbox: { ...published(sleeping), spec: running.spec } })),
      ['Normal Resumed'],
    ],
    [
      'warn about a Pod that keeps a suspension from being complete',
      readyStatus,
      statusOf(snapshotOf({ sandbox: suspended, foreignPod: podOf(running, { owner: STRANGER }) })),
      ['Warning PodNotOwned'],
    ],
    [
      'report an expiry',
      readyStatus,
      expiringStatusOf(snapshotOf({ sandbox: published(ready) })),
      ['Normal SandboxExpired'],
    ],
    [
      'report a Pod that completed',
      readyStatus,
      statusOf(snapshotOf({ ownedPods: [podOf(running, { phase: 'Succeeded' })] })),
      ['Normal PodSucceeded'],
    ],
    [
      'warn about a Pod that failed',
      readyStatus,
      statusOf(snapshotOf({ ownedPods: [podOf(running, { phase: 'Failed' })] })),
      ['Warning PodFailed'],
    ],
    [
      'warn about an error',
      readyStatus,
      statusOf(snapshotOf({ failures: [{ phase: 'pod', message: 'quota' }] })),
      ['Warning ReconcilerError'],
    ],
    [
      'warn about another error',
      statusOf(snapshotOf({ failures: [{ phase: 'pod', message: 'quota' }] })),
      statusOf(snapshotOf({ failures: [{ phase: 'pod', message: 'forbidden' }] })),
      ['Warning ReconcilerError'],
    ],
    [
      'do not repeat an error',
      statusOf(snapshotOf({ failures: [{ phase: 'pod', message: 'quota' }] })),
      statusOf(snapshotOf({ failures: [{ phase: 'pod', message: 'quota' }] })),
      [],
    ],
    ['report a Pod that is suddenly gone', readyStatus, statusOf(snapshotOf()), ['Normal PodDeleted']],
    [
      'are not recorded for a Pod that is no longer Ready',
      readyStatus,
      statusOf(snapshotOf({ ownedPods: [podOf(running, { ready: false })] })),
      [],
    ],
  ])('%s', (...[, before, next, expected]) => {
    expect(
      transitionNotes({ spec: running.spec, status: before }, next).map(({ type, reason }) => `${type} ${reason}`),
    ).toEqual(expected);
  });

  it('say what to do', () => {
    const [note] = transitionNotes({ spec: running.spec, status: readyStatus }, statusOf(two));
    expect(note?.message).toContain('refusing to choose or create a Pod. Delete all but one of them');
  });
});
