import type { Sandbox, SandboxClaimSpec, SandboxTemplateSpec } from '@sandlot/api-types';
import { claim, pool, sandbox, template } from '@sandlot/api-types/testing';
import { describe, expect, it } from 'vitest';
import { decide } from './decide.ts';
import type { Plan, Step } from './plan/plan.ts';
import type { ClaimSnapshot } from './plan/snapshot.ts';
import { at, claimSnapshot, NOW } from '../test/snapshot.ts';

const thePool = pool();
const theTemplate = template();

const snapshot = (parts: Partial<ClaimSnapshot> = {}): ClaimSnapshot =>
  claimSnapshot({ source: { kind: 'found', template: theTemplate, pools: [thePool] }, ...parts });

const withSpec = (spec: Partial<SandboxClaimSpec>): Pick<ClaimSnapshot, 'claim'> => ({
  claim: claim({ metadata: { creationTimestamp: at(0) }, spec }),
});
const kinds = (plan: Plan): string[] => plan.map((step) => step.kind);
const only = <K extends Step['kind']>(plan: Plan, kind: K): Extract<Step, { kind: K }> => {
  const step = plan.find((candidate): candidate is Extract<Step, { kind: K }> => candidate.kind === kind);
  if (step === undefined) throw new Error(`no ${kind} in ${kinds(plan).join()}`);
  return step;
};
const stock = (available: number, warming = 0): Pick<ClaimSnapshot, 'offers' | 'warming'> => ({
  offers: available > 0 ? [thePool] : [],
  warming,
});

describe('a claim without a Sandbox', () => {
  const rows: readonly (readonly [string, Partial<ClaimSnapshot>, readonly string[]])[] = [
    ['adopts a warm one when there is one', stock(1), ['adopt']],
    ['creates a cold one when the pool is empty', stock(0), ['create']],
    ['waits a moment for members that are starting', stock(0, 2), ['queueForStock']],
    ['starts cold when members have been starting for two seconds', { ...stock(0, 2), nowMs: NOW + 2_000 }, ['create']],
    [
      'waits for stock when it rules out a cold start',
      { ...stock(0), ...withSpec({ createOnNoStock: false }) },
      ['queueForStock'],
    ],
    [
      'starts cold for container variables, even with stock',
      {
        ...stock(9),
        ...withSpec({ env: [{ name: 'A', value: 'b' }] }),
        source: found({ envVarsInjectionPolicy: 'Allowed' }),
      },
      ['create'],
    ],
    [
      'starts cold for volumes of its own',
      {
        ...stock(9),
        ...withSpec({ volumeClaimTemplates: [{ metadata: { name: 'v' }, spec: {} }] }),
        source: found({ volumeClaimTemplatesPolicy: 'Allowed' }),
      },
      ['create'],
    ],
    [
      'starts cold for disks that no member of the pool has',
      {
        ...stock(9),
        ...withSpec({ dynamicVolumes: [{ mountPath: '/data', persistentVolumeClaimName: 'set' }] }),
        source: found({ dynamicVolumesPolicy: 'Allowed' }),
      },
      ['create'],
    ],
    [
      'retries for a PersistentVolume that does not exist',
      {
        ...stock(9),
        ...withSpec({ dynamicVolumes: [{ mountPath: '/data', persistentVolumeName: 'pv' }] }),
        source: found({ dynamicVolumesPolicy: 'Allowed' }),
        persistentVolumes: new Map([['pv', 'absent']]),
      },
      ['report', 'wait'],
    ],
    [
      'starts cold when it asks for warmpool none',
      { ...stock(9), ...withSpec({ sandboxTemplateRef: { name: 't' }, warmpool: 'none' }) },
      ['create'],
    ],
    [
      'starts cold when its template starts suspended',
      { ...stock(9), source: found({ startup: { action: 'Suspended' } }) },
      ['create'],
    ],
    ['reports a missing pool and retries', { source: { kind: 'missingPool', name: 'p' } }, ['report', 'wait']],
    ['reports a missing template and retries', { source: { kind: 'missingTemplate', name: 't' } }, ['report', 'wait']],
    [
      'leaves a foreign Sandbox of its name alone',
      { ...stock(1), namesake: sandbox({ name: 'claim' }) },
      ['report', 'wait'],
    ],
    [
      'starts cold for a name of its Sandbox, even with stock',
      { ...stock(9), ...withSpec({ sandboxName: 'named' }) },
      ['create'],
    ],
    [
      'starts cold for a name of its Sandbox although it rules out a cold start',
      { ...stock(9), ...withSpec({ sandboxName: 'named', createOnNoStock: false }) },
      ['create'],
    ],
    ['does nothing while it is being deleted', { claim: claim({ metadata: { deletionTimestamp: at(0) } }) }, []],
  ];
  it.each(rows)('%s', (_, parts, wanted) => {
    expect(kinds(decide(snapshot(parts)))).toEqual(wanted);
  });

  it('falls back to a cold start when every candidate is lost', () => {
    expect(only(decide(snapshot(stock(3))), 'adopt').otherwise.kind).toBe('create');
  });

  it.each([
    ['shows its cold Sandbox in the pass that creates it while few claims arrive', false, undefined, 3],
    ['shows its cold Sandbox in a later pass in a burst', true, 2_000, 0],
  ])('%s', (...[, isInBurst, holdMs, following]) => {
    const create = only(decide(snapshot({ isInBurst, committedForMs: 9_000 })), 'create');
    expect([create.holdMs, create.then.length]).toEqual([holdMs, following]);
  });

  it('polls for starting members no longer than its remaining patience', () => {
    const plan = decide(snapshot({ ...stock(0, 1), nowMs: NOW + 1_900 }));
    expect(only(plan, 'queueForStock').retryMs).toBe(100);
  });

  it('creates a cold Sandbox of its own name that it controls', () => {
    const { metadata, spec } = only(decide(snapshot()), 'create').sandbox;
    expect(metadata.name).toBe('claim');
    expect(metadata.ownerReferences).toEqual([
      {
        apiVersion: 'extensions.agents.x-k8s.io/v1beta1',
        kind: 'SandboxClaim',
        name: 'claim',
        uid: 'uid-default-claim',
        controller: true,
        blockOwnerDeletion: true,
      },
    ]);
    expect(metadata.labels).toMatchObject({
      'agents.x-k8s.io/claim-uid': 'uid-default-claim',
      'agents.x-k8s.io/launch-type': 'cold',
    });
    expect(spec.podTemplate.spec.automountServiceAccountToken).toBe(false);
  });
});

describe('a claim that can never be served as written', () => {
  const rows: readonly (readonly [string, Partial<ClaimSnapshot>, string, string])[] = [
    [
      'variables under policy Disallowed',
      withSpec({ env: [{ name: 'A', value: 'b' }] }),
      'EnvVarsInjectionRejected',
      'environment variable injection rejected: environment variable injection is not allowed by the template policy',
    ],
    [
      'volumes under policy Disallowed',
      withSpec({ volumeClaimTemplates: [{ metadata: { name: 'v' }, spec: {} }] }),
      'VolumeClaimTemplatesError',
      'failed to merge volume claim templates: volume claim templates are disallowed by the template',
    ],
    [
      'a label without a domain',
      withSpec({ additionalPodMetadata: { labels: { team: 'a' } } }),
      'InvalidMetadata',
      'invalid additionalPodMetadata: failed to validate label "team": label "team" must have a domain prefix' +
        " (e.g. 'sandbox.users.io/my-label') to prevent opting into unintended policy domains",
    ],
  ];
  it.each(rows)('reports %s, even with stock, and does not retry', (...[, parts, reason, message]) => {
    expect(decide(snapshot({ ...stock(5), ...parts }))).toEqual([
      { kind: 'report', report: { reason, message, final: true } },
    ]);
  });
});

describe('a claim with a Sandbox', () => {
  const mine = (name: string, created = at(0)): Sandbox => sandbox({ name, metadata: { creationTimestamp: created } });

  it('starts its time, shows it, syncs its metadata and annotates the claim later', () => {
    expect(kinds(decide(snapshot({ owned: [mine('a')], ...stock(5) })))).toEqual([
      'startTime',
      'publish',
      'syncMetadata',
      'annotate',
    ]);
  });

  it('shows a cold one of a burst later, and holds nothing else', () => {
    const cold = sandbox({ metadata: { labels: { 'agents.x-k8s.io/launch-type': 'cold' } } });
    const annotations = { 'sandlot.dev/on-timeout': 'pause', 'sandlot.dev/end-at': at(500) };
    const ending = claim({ metadata: { annotations }, spec: { lifecycle: { shutdownTime: at(900) } } });
    const plan = decide(snapshot({ claim: ending, owned: [cold], isInBurst: true, committedForMs: 400 }));
    expect(kinds(plan)).toEqual(['startTime', 'hold', 'syncMetadata', 'wait', 'wait']);
    expect(plan.flatMap((step) => ('ms' in step ? step.ms : []))).toEqual([1_600, 500, 900]);
  });

  it('shows a cold one of a burst at once when it has two', () => {
    const labels = { 'agents.x-k8s.io/launch-type': 'cold' };
    const owned = ['a', 'b'].map((name) => sandbox({ name, metadata: { labels } }));
    const plan = decide(snapshot({ owned, isInBurst: true, committedForMs: 0 }));
    expect(kinds(plan)).toEqual(['startTime', 'publish', 'deleteSandbox', 'syncMetadata', 'annotate']);
  });

  it('keeps it when its pool or template has gone', () => {
    const plan = decide(snapshot({ owned: [mine('a')], source: { kind: 'missingPool', name: 'p' } }));
    expect(kinds(plan)).toEqual(['startTime', 'publish', 'annotate']);
  });

  it('keeps the published one of two and deletes the other', () => {
    const published = claim({ status: { sandbox: { name: 'b' } } });
    const plan = decide(snapshot({ claim: published, owned: [mine('a', at(-9_000)), mine('b')] }));
    expect(only(plan, 'publish').sandbox.metadata.name).toBe('b');
    expect(only(plan, 'deleteSandbox').sandbox.metadata.name).toBe('a');
  });

  it('keeps the oldest of two when none is published', () => {
    const plan = decide(snapshot({ owned: [mine('young'), mine('old', at(-9_000))] }));
    expect(only(plan, 'publish').sandbox.metadata.name).toBe('old');
    expect(only(plan, 'deleteSandbox').sandbox.metadata.name).toBe('young');
  });
});

describe('the end of a claim', () => {
  const ending = (policy: 'Delete' | 'DeleteForeground' | 'Retain', announced: boolean): ClaimSnapshot => {
    const expired = {
      type: 'Ready',
      status: 'False',
      reason: 'ClaimExpired',
      message: '',
      lastTransitionTime: at(0),
    } as const;
    const lifecycle = { shutdownTime: at(-1), shutdownPolicy: policy };
    const status = announced ? { conditions: [expired] } : {};
    return snapshot({ claim: claim({ spec: { lifecycle }, status }), owned: [sandbox({ name: 'a' })] });
  };

  it('is reported first, and requeues at once', () => {
    expect(decide(ending('Delete', false))).toEqual([
      { kind: 'expire', message: 'Claim expired. Sandbox cleanup initiated.', first: true, sandboxGone: false },
      { kind: 'wait', ms: 0, reason: 'expired' },
    ]);
  });

  it.each([
    ['Delete', ['deleteClaim']],
    ['DeleteForeground', ['deleteClaim']],
    ['Retain', ['deleteSandbox', 'expire']],
  ] as const)('then follows the policy %s', (policy, wanted) => {
    expect(kinds(decide(ending(policy, true)))).toEqual(wanted);
  });

  it('is never early: until then the claim requeues for it', () => {
    const living = claim({ spec: { lifecycle: { shutdownTime: at(5_000), shutdownPolicy: 'Delete' } } });
    const plan = decide(snapshot({ claim: living, owned: [sandbox()] }));
    expect(plan.at(-1)).toEqual({ kind: 'wait', ms: 5_000, reason: 'the claim expires' });
  });

  it('is the earlier of shutdown time and time after Finished', () => {
    const finished = {
      type: 'Finished',
      status: 'True',
      reason: 'PodSucceeded',
      message: '',
      lastTransitionTime: at(-60_000),
    } as const;
    const lifecycle = { shutdownTime: at(90_000), ttlSecondsAfterFinished: 100, shutdownPolicy: 'Delete' } as const;
    const plan = decide(
      snapshot({ claim: claim({ spec: { lifecycle }, status: { conditions: [finished] } }), owned: [sandbox()] }),
    );
    expect(only(plan, 'wait').ms).toBe(40_000);
  });
});

function found(spec: Partial<SandboxTemplateSpec>): ClaimSnapshot['source'] {
  return { kind: 'found', template: template({ spec }), pools: [thePool] };
}
