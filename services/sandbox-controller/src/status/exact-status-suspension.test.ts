import type { SandboxStatus } from '@sandlot/api-types';
import { describe, expect, it } from 'vitest';
import type { Snapshot } from '../plan/snapshot.ts';
import {
  LATER,
  LATER_MS,
  asleep,
  awake,
  base,
  condition,
  falling,
  finished,
  having,
  named,
  notReady,
  onNode,
  ready,
  scheduled,
  selector,
  aMinuteLater,
  waiting,
  withPod,
} from '../../test/exact-status.ts';
import { getExpiredStatus, buildExpiringStatus, getStatus } from './status.ts';
import { EARLIER, NOW, STRANGER, notebook, makePod, buildService, buildSnapshot } from '../../test/builders.ts';

const plain = notebook();
const running = having({});
const suspend = { operatingMode: 'Suspended' } as const;
const suspended = aMinuteLater(running, suspend);
const service = buildService(plain);

const states: readonly (readonly [sentence: string, snapshot: Snapshot, status: SandboxStatus])[] = [
  [
    'a Sandbox that is being suspended has no address and no node',
    aMinuteLater(running, suspend, { ownedPods: [makePod(plain, { terminating: true })] }),
    {
      ...withPod,
      phase: 'Suspending',
      conditions: [scheduled, notReady('SandboxSuspended', 'Sandbox is suspending', LATER), falling()],
    },
  ],
  [
    'a suspension that a finalizer holds does not change',
    aMinuteLater(
      aMinuteLater(running, suspend, { ownedPods: [makePod(plain, { terminating: true })] }),
      {},
      { ownedPods: [makePod(plain, { terminating: true })] },
    ),
    {
      ...withPod,
      phase: 'Suspending',
      conditions: [scheduled, notReady('SandboxSuspended', 'Sandbox is suspending', LATER), falling()],
    },
  ],
  [
    'a suspended Sandbox keeps its selector, and shows when it was suspended and who did it',
    suspended,
    {
      ...base,
      selector,
      phase: 'Suspended',
      suspendedAt: LATER,
      suspendedBy: 'User',
      keeps: 'Volumes',
      conditions: [notReady('SandboxSuspended', 'Sandbox is suspended', LATER), asleep(LATER)],
    },
  ],
  [
    'a suspended Sandbox keeps its Service',
    aMinuteLater(having({}, { service: true }, { service }), suspend, { service }),
    {
      ...base,
      ...named,
      selector,
      phase: 'Suspended',
      suspendedAt: LATER,
      suspendedBy: 'User',
      keeps: 'Volumes',
      conditions: [notReady('SandboxSuspended', 'Sandbox is suspended', LATER), asleep(LATER)],
    },
  ],
  [
    'a suspended Sandbox reports a foreign Pod of its name, and nothing else of it',
    buildSnapshot({ sandbox: notebook({ spec: suspend }), foreignPod: makePod(plain, { owner: STRANGER }) }),
    {
      ...base,
      selector,
      phase: 'Suspending',
      conditions: [
        notReady('SandboxSuspended', 'Sandbox is suspending'),
        condition('Suspended', 'False', [
          'PodNotOwned',
          'Refused to delete pod because it is not owned by this sandbox',
        ]),
      ],
    },
  ],
  [
    'a Sandbox to be suspended whose Pod cannot be read',
    buildSnapshot({ sandbox: notebook({ spec: suspend }), failures: [{ phase: 'pod', message: 'forbidden' }] }),
    {
      ...base,
      phase: 'Suspending',
      conditions: [
        condition('PodScheduled', 'Unknown', [
          'PodSchedulingUnknown',
          'Pod state is unknown. Pod scheduling cannot be determined',
        ]),
        notReady('ReconcilerError', 'Error seen: forbidden'),
        condition('Suspended', 'Unknown', [
          'PodStateUnknown',
          'Pod state is unknown. Sandbox suspension cannot be confirmed',
        ]),
      ],
    },
  ],
  [
    'a resumed Sandbox shows since when',
    aMinuteLater(suspended, { operatingMode: 'Running' }),
    {
      ...base,
      selector,
      phase: 'Pending',
      resumedAt: LATER,
      conditions: [waiting('Pod does not exist', LATER), awake(LATER)],
    },
  ],
  [
    'a Sandbox that its startup action suspended records the action',
    buildSnapshot({
      sandbox: notebook({
        metadata: { annotations: { 'sandlot.dev/suspended-by': 'Startup' } },
        spec: { ...suspend, startup: { action: 'Suspended' } },
      }),
    }),
    {
      ...base,
      phase: 'Suspended',
      suspendedAt: NOW,
      suspendedBy: 'Startup',
      keeps: 'Volumes',
      startup: { completedTime: NOW },
      conditions: [notReady('SandboxSuspended', 'Sandbox is suspended'), asleep()],
    },
  ],
  [
    'a Sandbox to be suspended after its first Ready is an ordinary Ready Sandbox before',
    having({}, { startup: { action: 'SuspendAfterReady' } }),
    { ...onNode, phase: 'Running', conditions: [scheduled, ready(), awake()] },
  ],
  [
    'a Sandbox suspended for idleness keeps the time of its last activity',
    buildSnapshot({
      sandbox: notebook({
        metadata: { annotations: { 'sandlot.dev/suspended-by': 'Idle' } },
        spec: { ...suspend, idle: { suspendAfterSeconds: 60 } },
        status: { lastActivityTime: EARLIER, selector },
      }),
    }),
    {
      ...base,
      selector,
      phase: 'Suspended',
      suspendedAt: NOW,
      suspendedBy: 'Idle',
      keeps: 'Volumes',
      lastActivityTime: EARLIER,
      conditions: [notReady('SandboxSuspended', 'Sandbox is suspended'), asleep()],
    },
  ],
];

describe('the whole status of', () => {
  it.each(states)('%s', (_, snapshot, expected) => {
    expect(getStatus(snapshot)).toEqual(expected);
  });
});

describe('the whole status at the end of', () => {
  const expiry = notReady('SandboxExpired', 'Sandbox has expired', LATER);
  const expiring = (snapshot: Snapshot): Snapshot =>
    aMinuteLater(snapshot, { shutdownTime: NOW, shutdownPolicy: 'Retain' }, { ownedPods: snapshot.ownedPods });

  it('a Sandbox that expires still shows its Pod, in the first pass', () => {
    expect(buildExpiringStatus(expiring(running))).toEqual({
      ...onNode,
      phase: 'Expired',
      conditions: [expiry, awake()],
    });
  });

  it('a retained Sandbox is its conditions alone', () => {
    expect(getExpiredStatus(expiring(running))).toEqual({
      observedGeneration: 1,
      phase: 'Expired',
      conditions: [expiry, awake()],
    });
  });

  it('a retained Sandbox keeps the conditions Finished and Suspended', () => {
    expect(getExpiredStatus(expiring(having({ phase: 'Failed' })))).toEqual({
      observedGeneration: 1,
      phase: 'Expired',
      conditions: [finished('PodFailed', 'Pod failed'), { ...expiry, lastTransitionTime: NOW }, awake()],
    });
    expect(getExpiredStatus(expiring(suspended)).conditions).toEqual([
      { ...expiry, lastTransitionTime: LATER },
      asleep(LATER),
    ]);
  });

  it('a Sandbox that comes back has the status of a new one with its old conditions', () => {
    const over = expiring(running);
    const sandbox = {
      ...over.sandbox,
      status: getExpiredStatus(over),
      spec: { ...plain.spec, shutdownTime: undefined },
    };
    expect(getStatus(buildSnapshot({ sandbox, nowMs: LATER_MS }))).toEqual({
      ...base,
      phase: 'Pending',
      conditions: [waiting('Pod does not exist', LATER), awake()],
    });
  });
});
