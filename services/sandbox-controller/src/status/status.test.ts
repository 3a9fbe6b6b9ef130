import { nameHash } from '@sandlot/api-types';
import { describe, expect, it } from 'vitest';
import { getExpiredStatus, buildExpiringStatus, getStatus } from './status.ts';
import { decideStatusWrite } from './decide-status-write.ts';
import {
  EARLIER,
  NOW,
  NOW_MS,
  notebook,
  makePod,
  published,
  buildService,
  buildSnapshot,
} from '../../test/builders.ts';

const authored = notebook({ spec: { service: true } });
const selector = `agents.x-k8s.io/sandbox-name-hash=${nameHash('notebook')}`;

const condition = (type: string, status: 'True' | 'False', [reason, message]: readonly [string, string]) => ({
  type,
  status,
  reason,
  message,
  observedGeneration: 1,
  lastTransitionTime: NOW,
});
const scheduled = condition('PodScheduled', 'True', ['PodScheduled', '']);
const notSuspended = condition('Suspended', 'False', ['NotSuspended', 'Sandbox is not suspended']);

describe('the whole status', () => {
  it('of a Ready Sandbox', () => {
    const pod = makePod(authored, { ips: ['10.0.0.7', 'fd00::7'] });
    expect(getStatus(buildSnapshot({ sandbox: authored, ownedPods: [pod], service: buildService(authored) }))).toEqual({
      conditions: [
        scheduled,
        condition('Ready', 'True', ['DependenciesReady', 'Pod is Ready; Service Exists']),
        notSuspended,
      ],
      service: 'notebook',
      serviceFQDN: 'notebook.team-a.svc.cluster.local',
      selector,
      podIPs: ['10.0.0.7', 'fd00::7'],
      nodeName: 'node-1',
      replicas: 1,
      observedGeneration: 1,
      phase: 'Running',
      startedAt: EARLIER,
    });
  });

  it('of a Sandbox that never had a Pod leaves out everything empty', () => {
    expect(getStatus(buildSnapshot())).toEqual({
      conditions: [condition('Ready', 'False', ['DependenciesNotReady', 'Pod does not exist']), notSuspended],
      observedGeneration: 1,
      phase: 'Pending',
      startedAt: EARLIER,
    });
  });

  it('of a suspended Sandbox keeps selector and Service and shows when it was suspended and who did it', () => {
    const before = published(
      buildSnapshot({ sandbox: authored, ownedPods: [makePod(authored)], service: buildService(authored) }),
    );
    const sandbox = {
      ...before,
      metadata: { ...before.metadata, annotations: { 'sandlot.dev/suspended-by': 'Idle' } },
      spec: { ...before.spec, replicas: 0 },
    };
    expect(getStatus(buildSnapshot({ sandbox, service: buildService(authored) }))).toEqual({
      conditions: [
        condition('Ready', 'False', ['SandboxSuspended', 'Sandbox is suspended']),
        condition('Suspended', 'True', ['PodTerminated', 'Pod has been terminated. Sandbox is suspended']),
      ],
      service: 'notebook',
      serviceFQDN: 'notebook.team-a.svc.cluster.local',
      selector,
      observedGeneration: 1,
      phase: 'Suspended',
      startedAt: EARLIER,
      suspendedAt: NOW,
      suspendedBy: 'Idle',
      keeps: 'Volumes',
    });
  });

  it('of a Sandbox being suspended has no address', () => {
    const sandbox = notebook({ spec: { operatingMode: 'Suspended' } });
    const { podIPs, nodeName, replicas, phase } = getStatus(buildSnapshot({ sandbox, ownedPods: [makePod(sandbox)] }));
    expect({ podIPs, nodeName, replicas, phase }).toEqual({ replicas: 1, phase: 'Suspending' });
  });

  it('of a resumed Sandbox shows since when', () => {
    const suspended = notebook({ spec: { operatingMode: 'Suspended' } });
    const sandbox = { ...published(buildSnapshot({ sandbox: suspended })), spec: authored.spec };
    const next = getStatus(buildSnapshot({ sandbox, nowMs: NOW_MS + 5_000 }));
    expect([next.suspendedAt, next.suspendedBy, next.resumedAt]).toEqual([
      undefined,
      undefined,
      '2026-01-01T12:00:05Z',
    ]);
  });

  it('keeps the fields that other phases of the lifecycle write', () => {
    const status = { lastActivityTime: EARLIER, restarts: { count: 2 }, startup: { completedTime: EARLIER } };
    expect(getStatus(buildSnapshot({ sandbox: notebook({ status }) }))).toMatchObject(status);
  });

  it('of an expiring Sandbox still shows its children', () => {
    const sandbox = published(
      buildSnapshot({ sandbox: authored, ownedPods: [makePod(authored)], service: buildService(authored) }),
    );
    expect(buildExpiringStatus(buildSnapshot({ sandbox }))).toEqual({
      ...sandbox.status,
      conditions: [condition('Ready', 'False', ['SandboxExpired', 'Sandbox has expired']), notSuspended],
      phase: 'Expired',
    });
  });

  it('of a retained expired Sandbox is its conditions alone, and Finished stays', () => {
    const sandbox = published(buildSnapshot({ ownedPods: [makePod(authored, { phase: 'Succeeded' })] }));
    expect(getExpiredStatus(buildSnapshot({ sandbox }))).toEqual({
      conditions: [
        condition('Finished', 'True', ['PodSucceeded', 'Pod completed successfully']),
        condition('Ready', 'False', ['SandboxExpired', 'Sandbox has expired']),
        notSuspended,
      ],
      observedGeneration: 1,
      phase: 'Expired',
    });
  });
});

describe('the start of the lifetime', () => {
  const pool = {
    apiVersion: 'extensions.agents.x-k8s.io/v1beta1',
    kind: 'SandboxWarmPool',
    name: 'p',
    uid: 'u',
    controller: true,
  };
  const warm = { labels: { 'agents.x-k8s.io/launch-type': 'warm' } };
  it.each([
    ['is the creation', notebook(), EARLIER],
    ['is absent for a pool member', notebook({ metadata: { ownerReferences: [pool] } }), undefined],
    ['is the first pass that sees the adoption', notebook({ metadata: warm }), NOW],
    ['does not move once it is published', notebook({ metadata: warm, status: { startedAt: EARLIER } }), EARLIER],
    ['does not start anew after an expiry', notebook({ metadata: warm, status: { phase: 'Expired' } }), EARLIER],
  ])('%s', (_, sandbox, startedAt) => {
    expect(getStatus(buildSnapshot({ sandbox })).startedAt).toBe(startedAt);
  });
});

describe('writing the status', () => {
  const pending = makePod(authored, { phase: 'Pending', created: NOW });
  const quiet = { kind: 'hold', untilMs: NOW_MS + 2_000 };
  const write = (snapshot: ReturnType<typeof buildSnapshot>) => decideStatusWrite(snapshot, getStatus(snapshot));

  it('holds the first status of a Pod that was just created', () => {
    expect(write(buildSnapshot({ ownedPods: [pending] }))).toEqual(quiet);
  });

  it('holds the progress of a quiet start', () => {
    const sandbox = published(buildSnapshot());
    expect(write(buildSnapshot({ sandbox, ownedPods: [pending] }))).toEqual(quiet);
  });

  it('holds the status of a Pod that a slow pass has just created', () => {
    const created = '2026-01-01T12:00:03Z';
    const young = makePod(authored, { phase: 'Pending', created });
    expect(write(buildSnapshot({ ownedPods: [young] }))).toEqual({ kind: 'hold', untilMs: NOW_MS + 5_000 });
  });

  describe('after an adoption', () => {
    const pool = { apiVersion: 'extensions.agents.x-k8s.io/v1beta1', kind: 'SandboxWarmPool', name: 'p', uid: 'u' };
    const member = notebook({ metadata: { ownerReferences: [{ ...pool, controller: true }] } });
    const pod = makePod(member);
    const { status } = published(buildSnapshot({ sandbox: member, ownedPods: [pod] }));
    const adopted = (spec = {}) =>
      notebook({ metadata: { generation: 2, labels: { 'agents.x-k8s.io/launch-type': 'warm' } }, spec, status });
    const statusHoldUntilMs = NOW_MS + 3_000;

    it('holds the status write', () => {
      const snapshot = buildSnapshot({ sandbox: adopted(), ownedPods: [pod], statusHoldUntilMs });
      expect(write(snapshot)).toEqual({ kind: 'hold', untilMs: statusHoldUntilMs });
    });

    it.each([
      ['when many are not adopted at the moment', buildSnapshot({ sandbox: adopted(), ownedPods: [pod] })],
      ['once the hold is over', buildSnapshot({ sandbox: adopted(), ownedPods: [pod], statusHoldUntilMs: NOW_MS })],
      [
        'when its time to live begins with it',
        buildSnapshot({ sandbox: adopted({ ttlSeconds: 60 }), ownedPods: [pod], statusHoldUntilMs }),
      ],
      [
        'when its idle time begins with it',
        buildSnapshot({ sandbox: adopted({ idle: { suspendAfterSeconds: 60 } }), ownedPods: [pod], statusHoldUntilMs }),
      ],
      ['when its Pod is lost', buildSnapshot({ sandbox: adopted(), ownedPods: [], statusHoldUntilMs })],
    ])('writes it %s', (_, snapshot) => {
      expect(write(snapshot).kind).toBe('write');
    });
  });

  it('holds longer in a burst of starts', () => {
    const snapshot = buildSnapshot({ nowMs: NOW_MS + 9_000, quietMs: 10_000, ownedPods: [pending] });
    expect(write(snapshot)).toEqual({ kind: 'hold', untilMs: NOW_MS + 10_000 });
  });

  it.each([
    [
      'an unschedulable Pod, in a burst too',
      buildSnapshot({
        nowMs: NOW_MS + 2_000,
        quietMs: 10_000,
        ownedPods: [
          makePod(authored, {
            phase: 'Pending',
            created: NOW,
            conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }],
          }),
        ],
      }),
    ],
    ['a start that takes longer', buildSnapshot({ nowMs: NOW_MS + 2_000, ownedPods: [pending] })],
    ['a Pod that is Ready', buildSnapshot({ ownedPods: [makePod(authored, { created: NOW })] })],
    ['an error', buildSnapshot({ ownedPods: [pending], failures: [{ phase: 'service', message: 'boom' }] })],
    [
      'a deadline that comes before the quiet time ends',
      buildSnapshot({ sandbox: notebook({ spec: { shutdownTime: '2026-01-01T12:00:01Z' } }), ownedPods: [pending] }),
    ],
    [
      'the loss of a Pod that was Ready',
      buildSnapshot({ sandbox: published(buildSnapshot({ ownedPods: [makePod(authored)] })), ownedPods: [pending] }),
    ],
    [
      'the generation of an edit',
      buildSnapshot({
        sandbox: { ...published(buildSnapshot()), metadata: { ...notebook().metadata, generation: 2 } },
        ownedPods: [pending],
      }),
    ],
    [
      'a Pod whose clock is far ahead',
      buildSnapshot({ ownedPods: [makePod(authored, { phase: 'Pending', created: '2027-01-01T00:00:00Z' })] }),
    ],
  ])('writes at once for %s', (_, snapshot) => {
    expect(write(snapshot).kind).toBe('write');
  });

  it('does not write the node alone until the Sandbox is Ready', () => {
    const before = published(buildSnapshot({ ownedPods: [makePod(authored, { phase: 'Pending', node: '' })] }));
    const bound = buildSnapshot({ sandbox: before, ownedPods: [makePod(authored, { phase: 'Pending' })] });
    expect(write(bound).kind).toBe('none');
    const ready = published(buildSnapshot({ ownedPods: [makePod(authored)] }));
    const moved = buildSnapshot({ sandbox: ready, ownedPods: [makePod(authored, { node: 'node-2' })] });
    expect(write(moved)).toEqual({
      kind: 'write',
      patch: { metadata: { uid: 'uid-team-a-notebook' }, status: { nodeName: 'node-2' } },
    });
  });

  it('sends changed fields, null for removed ones, and no resourceVersion', () => {
    const ready = published(buildSnapshot({ ownedPods: [makePod(authored)], service: buildService(authored) }));
    const sandbox = { ...ready, spec: { ...ready.spec, operatingMode: 'Suspended' as const } };
    const snapshot = buildSnapshot({ sandbox });
    expect(write(snapshot)).toEqual({
      kind: 'write',
      patch: {
        metadata: { uid: 'uid-team-a-notebook' },
        status: {
          conditions: getStatus(snapshot).conditions,
          service: null,
          serviceFQDN: null,
          podIPs: null,
          nodeName: null,
          replicas: null,
          phase: 'Suspended',
          suspendedAt: NOW,
          suspendedBy: 'User',
          keeps: 'Volumes',
        },
      },
    });
  });
});
