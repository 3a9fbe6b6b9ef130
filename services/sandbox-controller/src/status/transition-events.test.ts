import { describe, expect, it } from 'vitest';
import { STRANGER, notebook, makePod, published, buildSnapshot } from '../../test/builders.ts';
import { buildExpiringStatus, getStatus } from './status.ts';
import { listTransitionNotes } from './transition-events.ts';

const running = notebook();
const suspended = notebook({ spec: { operatingMode: 'Suspended' } });
const ready = buildSnapshot({ ownedPods: [makePod(running)] });
const readyStatus = getStatus(ready);
const two = buildSnapshot({ ownedPods: [makePod(running), makePod(running, { name: 'other' })] });
const sleeping = buildSnapshot({ sandbox: suspended });

describe('Events', () => {
  it.each([
    ['are not recorded for a start', undefined, readyStatus, []],
    ['warn once about two Pods', readyStatus, getStatus(two), ['Warning MultiplePods']],
    ['are not repeated', getStatus(two), getStatus(two), []],
    ['report a suspension', readyStatus, getStatus(sleeping), ['Normal Suspended']],
    [
      'report a resume',
      getStatus(sleeping),
      getStatus(buildSnapshot({ sandbox: { ...published(sleeping), spec: running.spec } })),
      ['Normal Resumed'],
    ],
    [
      'warn about a Pod that keeps a suspension from being complete',
      readyStatus,
      getStatus(buildSnapshot({ sandbox: suspended, foreignPod: makePod(running, { owner: STRANGER }) })),
      ['Warning PodNotOwned'],
    ],
    [
      'report an expiry',
      readyStatus,
      buildExpiringStatus(buildSnapshot({ sandbox: published(ready) })),
      ['Normal SandboxExpired'],
    ],
    [
      'report a Pod that completed',
      readyStatus,
      getStatus(buildSnapshot({ ownedPods: [makePod(running, { phase: 'Succeeded' })] })),
      ['Normal PodSucceeded'],
    ],
    [
      'warn about a Pod that failed',
      readyStatus,
      getStatus(buildSnapshot({ ownedPods: [makePod(running, { phase: 'Failed' })] })),
      ['Warning PodFailed'],
    ],
    [
      'warn about an error',
      readyStatus,
      getStatus(buildSnapshot({ failures: [{ phase: 'pod', message: 'quota' }] })),
      ['Warning ReconcilerError'],
    ],
    [
      'warn about another error',
      getStatus(buildSnapshot({ failures: [{ phase: 'pod', message: 'quota' }] })),
      getStatus(buildSnapshot({ failures: [{ phase: 'pod', message: 'forbidden' }] })),
      ['Warning ReconcilerError'],
    ],
    [
      'do not repeat an error',
      getStatus(buildSnapshot({ failures: [{ phase: 'pod', message: 'quota' }] })),
      getStatus(buildSnapshot({ failures: [{ phase: 'pod', message: 'quota' }] })),
      [],
    ],
    ['report a Pod that is suddenly gone', readyStatus, getStatus(buildSnapshot()), ['Normal PodDeleted']],
    [
      'are not recorded for a Pod that is no longer Ready',
      readyStatus,
      getStatus(buildSnapshot({ ownedPods: [makePod(running, { ready: false })] })),
      [],
    ],
  ])('%s', (...[, before, next, expected]) => {
    expect(
      listTransitionNotes({ spec: running.spec, status: before }, next).map(({ type, reason }) => `${type} ${reason}`),
    ).toEqual(expected);
  });

  it('say what to do', () => {
    const [note] = listTransitionNotes({ spec: running.spec, status: readyStatus }, getStatus(two));
    expect(note?.message).toContain('refusing to choose or create a Pod. Delete all but one of them');
  });
});
