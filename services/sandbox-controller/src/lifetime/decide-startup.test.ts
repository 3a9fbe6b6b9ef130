import { describe, expect, it } from 'vitest';
import { decide } from '../decide.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import {
  conditionSummary,
  kinds,
  notebook,
  makePod,
  published,
  buildSnapshot,
  getStep,
  NOW,
  WORK,
} from '../../test/builders.ts';
import { getStatus } from '../status/status.ts';

type Parts = NonNullable<Parameters<typeof notebook>[0]>;
type Action = NonNullable<NonNullable<NonNullable<Parts['spec']>['startup']>['action']>;

const created = (action: Action, { spec, ...parts }: Parts = {}) =>
  notebook({ ...parts, spec: { startup: { action }, ...spec } });
const suspendedBy = (by: string) => ({ annotations: { 'sandlot.dev/suspended-by': by } });
const done = { startup: { completedTime: NOW } };
const pool = { apiVersion: 'extensions.agents.x-k8s.io/v1beta1', kind: 'SandboxWarmPool', name: 'p', uid: 'u' };

/** With a Pod whose readiness has been published. */
function ready(action: Action, parts: Parts = {}): Snapshot {
  const sandbox = created(action, parts);
  const ownedPods = [makePod(sandbox)];
  return buildSnapshot({ sandbox: published(buildSnapshot({ sandbox, ownedPods })), ownedPods });
}

describe('the startup action', () => {
  const suspended = { operatingMode: 'Suspended' } as const;
  const rows: readonly (readonly [sentence: string, snapshot: Snapshot, steps: readonly string[]])[] = [
    ['Run creates a Pod', buildSnapshot({ sandbox: created('Run') }), ['createPod']],
    ['Suspended suspends before there is a Pod', buildSnapshot({ sandbox: created('Suspended') }), ['suspendSandbox']],
    [
      'Suspended still creates the disks',
      buildSnapshot({ sandbox: created('Suspended', { spec: { ...suspended, volumeClaimTemplates: [WORK] } }) }),
      ['createDisk'],
    ],
    [
      'Suspended does nothing for a Sandbox that its owner created suspended',
      buildSnapshot({ sandbox: created('Suspended', { spec: suspended }) }),
      ['patchStatus', 'recordEvent'],
    ],
    ['SuspendAfterReady creates a Pod first', buildSnapshot({ sandbox: created('SuspendAfterReady') }), ['createPod']],
    [
      'SuspendAfterReady publishes Ready first',
      buildSnapshot({ sandbox: created('SuspendAfterReady'), ownedPods: [makePod(notebook())] }),
      ['patchSandbox', 'patchStatus'],
    ],
    ['SuspendAfterReady suspends once Ready is visible', ready('SuspendAfterReady'), ['suspendSandbox']],
    ['does not act twice', buildSnapshot({ sandbox: created('Suspended', { status: done }) }), ['createPod']],
    [
      'does not act on a pool member',
      buildSnapshot({
        sandbox: created('Suspended', { metadata: { ownerReferences: [{ ...pool, controller: true }] } }),
      }),
      ['createPod'],
    ],
    [
      'is not repeated when the owner resumes before the status records it',
      buildSnapshot({ sandbox: created('Suspended', { metadata: suspendedBy('Startup') }) }),
      ['createPod'],
    ],
  ];
  it.each(rows)('%s', (_, snapshot, steps) => {
    expect(kinds(snapshot)).toEqual(steps);
  });

  it('is complete once the Sandbox records it, with Suspended True from the start', () => {
    const sandbox = created('Suspended', { spec: suspended, metadata: suspendedBy('Startup') });
    const snapshot = buildSnapshot({ sandbox });
    expect(conditionSummary(snapshot)).toEqual(['Ready=False/SandboxSuspended', 'Suspended=True/PodTerminated']);
    expect(getStatus(snapshot)).toMatchObject({ ...done, phase: 'Suspended', suspendedBy: 'Startup' });
  });

  it('is not complete while SuspendAfterReady waits, suspended by its owner or not', () => {
    expect(getStatus(buildSnapshot({ sandbox: created('SuspendAfterReady') })).startup).toBeUndefined();
    expect(
      getStatus(buildSnapshot({ sandbox: created('SuspendAfterReady', { spec: suspended }) })).startup,
    ).toBeUndefined();
  });

  it('keeps the annotation that proves it until the status records it', () => {
    const sandbox = created('SuspendAfterReady', { metadata: suspendedBy('Startup') });
    const record = (snapshot: Snapshot) => JSON.stringify(getStep(decide(snapshot), 'patchSandbox').patch);
    const unsaid = buildSnapshot({ sandbox, ownedPods: [makePod(sandbox)] });
    expect(record(unsaid)).not.toContain('suspended-by');
    const said = { ...sandbox, status: getStatus(unsaid) };
    expect(record({ ...unsaid, sandbox: said })).toContain('"sandlot.dev/suspended-by":null');
  });
});

describe('an automatic suspension', () => {
  const managedFields = [
    {
      manager: 'kubectl',
      apiVersion: 'agents.x-k8s.io/v1alpha1',
      fieldsV1: { 'f:spec': { 'f:podTemplate': {} } },
    },
  ];
  it.each([
    ['replicas where the Sandbox has it', { spec: { replicas: 1 } }, { replicas: 0 }],
    [
      'operatingMode where the Sandbox has it',
      { spec: { operatingMode: 'Running' as const } },
      { operatingMode: 'Suspended' },
    ],
    ['operatingMode where it has neither', {}, { operatingMode: 'Suspended' }],
    ['replicas where it has neither and its author used v1alpha1', { metadata: { managedFields } }, { replicas: 0 }],
  ])('writes %s, guarded, with the record of who asked', (...[, parts, spec]) => {
    const plan = decide(buildSnapshot({ sandbox: created('Suspended', parts) }));
    expect(getStep(plan, 'suspendSandbox').patch).toEqual({
      metadata: { uid: 'uid-team-a-notebook', resourceVersion: '1', ...suspendedBy('Startup') },
      spec,
    });
  });
});
