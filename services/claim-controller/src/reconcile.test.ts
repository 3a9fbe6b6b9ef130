import { sandboxClaims, sandboxes, sandboxTemplates, sandboxWarmPools } from '@sandlot/api-types';
import { pool, sandbox, template } from '@sandlot/api-types/testing';
import { describe, expect, it } from 'vitest';
import { ClaimHarness } from '../test/harness.ts';

const W1 = 'patch sandboxes';
const W2 = 'patch sandboxclaims/status';
const NOTES = 'patch sandboxclaims';

async function bound(members: number): Promise<ClaimHarness> {
  const harness = await ClaimHarness.start({ members });
  harness.startController();
  await harness.watching();
  harness.claim('job');
  await harness.eventually(() => expect(harness.isReady('job')).toBe(true));
  return harness;
}

const bindings = (harness: ClaimHarness): unknown[] =>
  harness.bus.published.filter(({ type }) => type === 'claim.bound');

describe('a warm bind', () => {
  it('costs exactly two writes on the latency path and one beside the first', async () => {
    await using harness = await bound(3);
    expect(harness.writes()).toEqual([W1, NOTES, W2]);
    await harness.elapse(1_000);
    expect(harness.writes()).toEqual([W1, NOTES, W2]);
  });

  it('shows the Sandbox, annotates the claim and publishes events', async () => {
    await using harness = await bound(1);
    expect(harness.getStatus('job')).toMatchObject({
      phase: 'Completed',
      claimedReplicas: 1,
      readyReplicas: 1,
      sandbox: { name: 'pool-m001', podIPs: ['10.0.0.1'] },
    });
    await harness.eventually(() => expect(harness.eventReasons()).toEqual(['job SandboxAdopted']));
    const notes = await harness.eventually(() => {
      expect(Object.keys(harness.getAnnotations('job'))).toHaveLength(3);
      return harness.getAnnotations('job');
    });
    expect(notes['agents.x-k8s.io/sandbox-name']).toBe('pool-m001');
    expect(notes['agents.x-k8s.io/controller-first-observed-at']).toMatch(/^2026-01-01T12:00:00\.\d{9}Z$/);
    expect(notes['agents.x-k8s.io/claim-first-ready-at']).toMatch(/^2026-01-01T12:00:00\.\d{9}Z$/);
    const claimEvents = (): unknown[] => harness.bus.published.filter(({ type }) => type.startsWith('claim.'));
    await harness.eventually(() => expect(claimEvents()).toHaveLength(2));
    expect(claimEvents()).toMatchObject([
      { type: 'claim.submitted', data: { name: 'job', pool: 'pool' } },
      { type: 'claim.bound', data: { name: 'job', pool: 'pool', launchType: 'warm', sandbox: { name: 'pool-m001' } } },
    ]);
  });

  it('writes no Event when the installation disables them', async () => {
    await using harness = await ClaimHarness.start({ members: 1 });
    harness.startController('claim-controller', { recordsEvents: false });
    harness.claim('job');
    await harness.eventually(() => expect(harness.isReady('job')).toBe(true));
    await harness.elapse(2_000);
    expect(harness.eventReasons()).toEqual([]);
  });

  it('reports the pool that lost a member for a claim by template', async () => {
    await using harness = await ClaimHarness.start({ members: 1 });
    harness.startController();
    harness.claim('job', { sandboxTemplateRef: { name: 'template' } });
    await harness.eventually(() => expect(harness.isReady('job')).toBe(true));
    await harness.eventually(() =>
      expect(bindings(harness)).toMatchObject([{ data: { pool: 'pool', template: 'template', launchType: 'warm' } }]),
    );
  });

  it('gives each of two claims for one candidate its own Sandbox, one of them cold', async () => {
    await using harness = await ClaimHarness.start({ members: 1 });
    harness.makeAllReady();
    harness.startController();
    for (const name of ['a', 'b']) harness.claim(name);
    await harness.eventually(() => expect([harness.isReady('a'), harness.isReady('b')]).toEqual([true, true]));
    const names = [harness.getStatus('a').sandbox?.name, harness.getStatus('b').sandbox?.name];
    expect(names.filter((name) => name === 'pool-m001')).toHaveLength(1);
    expect(new Set(names).size).toBe(2);
  });
});

describe('a claim that has to wait', () => {
  it.each([
    ['pool', 'WarmPoolNotFound', { warmPoolRef: { name: 'pool' } }],
    ['template', 'TemplateNotFound', { sandboxTemplateRef: { name: 'template' } }],
  ] as const)('reports a missing %s, and continues when it appears', async (_, reason, spec) => {
    await using harness = await ClaimHarness.start();
    harness.makeAllReady();
    harness.startController();
    await harness.watching();
    harness.claim('job', spec);
    await harness.eventually(() => expect(harness.findReason('job')).toBe(reason));
    await harness.elapse(500);
    expect(harness.writes()).toEqual([W2]);
    harness.api.seed(sandboxWarmPools, pool());
    harness.api.seed(sandboxTemplates, template());
    await harness.eventually(() => expect(harness.isReady('job')).toBe(true));
    expect(harness.getStatus('job').message).toBeUndefined();
  });

  it('waits without a report for members without an address, and adopts them', async () => {
    await using harness = await ClaimHarness.start({ members: 0 });
    const member = harness.addMember({ addressed: false });
    harness.startController();
    await harness.watching();
    harness.claim('job');
    await harness.elapse(700);
    expect(harness.writes()).toEqual([]);
    harness.makeReady(member);
    await harness.eventually(() => expect(harness.getStatus('job').sandbox?.name).toBe(member));
  });

  it('starts cold when no member gets an address within two seconds', async () => {
    await using harness = await ClaimHarness.start({ members: 0 });
    harness.addMember({ addressed: false });
    harness.startController();
    await harness.watching();
    harness.claim('job');
    await harness.eventually(() => expect(harness.getStatus('job').sandbox?.name).toBe('job'));
    expect(harness.clock.monotonic()).toBeGreaterThanOrEqual(2_000);
    expect(harness.findReason('job')).toBe('SandboxNotReady');
  });

  it('waits for stock when it asks to, and is served in order', async () => {
    await using harness = await ClaimHarness.start({ members: 0 });
    harness.startController();
    await harness.watching();
    for (const name of ['first', 'second', 'third']) {
      harness.claim(name, { createOnNoStock: false });
      await harness.eventually(() => expect(harness.findReason(name)).toBe('WaitingForStock'));
    }
    for (const name of ['first', 'second', 'third']) {
      const member = harness.addMember();
      await harness.eventually(() => expect(harness.getStatus(name).sandbox?.name).toBe(member));
    }
    expect(harness.owned().size).toBe(3);
  });
});

describe('a claim that comes later', () => {
  it('does not overtake a waiting claim: it starts cold although there is stock', async () => {
    await using harness = await ClaimHarness.start({ members: 0 });
    harness.startController();
    await harness.watching();
    harness.claim('patient', { createOnNoStock: false });
    await harness.eventually(() => expect(harness.findReason('patient')).toBe('WaitingForStock'));
    harness.api.seed(sandboxClaims, {
      ...harness.api.objects(sandboxClaims)[0],
      metadata: { namespace: 'default', name: 'later' },
      spec: { warmPoolRef: { name: 'pool' } },
    });
    const member = harness.addMember();
    await harness.eventually(() => expect(harness.getStatus('later').sandbox?.name).toBe('later'));
    await harness.eventually(() => expect(harness.getStatus('patient').sandbox?.name).toBe(member));
  });
});

describe('a cold start', () => {
  it('publishes the Sandbox that an earlier try created', async () => {
    await using harness = await ClaimHarness.start({ members: 0 });
    harness.api.faults.errorAfterCommit({ match: { verb: 'create', resource: 'sandboxes' }, answer: { status: 500 } });
    harness.startController();
    harness.claim('job');
    await harness.eventually(() => expect(harness.getStatus('job').sandbox?.name).toBe('job'));
    expect(harness.api.objects(sandboxes)).toHaveLength(1);
    await harness.eventually(() => expect(bindings(harness)).toMatchObject([{ data: { launchType: 'cold' } }]));
  });

  it('reports a foreign Sandbox that has its name, and continues when that is gone', async () => {
    await using harness = await ClaimHarness.start({ members: 0 });
    harness.api.seed(sandboxes, sandbox({ name: 'job' }));
    harness.startController();
    await harness.watching();
    harness.claim('job');
    await harness.eventually(() => expect(harness.findReason('job')).toBe('ReconcilerError'));
    expect(harness.getStatus('job').message).toContain('sandbox "job" is not controlled by claim "job"');
    harness.api.remove(sandboxes, { namespace: 'default', name: 'job' });
    await harness.eventually(() => expect(harness.getStatus('job').sandbox?.name).toBe('job'));
  });

  it('is pending on a foreign Sandbox that the watch does not show yet, then reports it', async () => {
    await using harness = await ClaimHarness.start({ members: 0 });
    harness.startController();
    await harness.watching();
    const stalled = harness.api.faults.stallWatches({ resource: 'sandboxes' });
    harness.api.seed(sandboxes, sandbox({ name: 'job' }));
    harness.claim('job');
    await harness.eventually(() => expect(harness.findReason('job')).toBe('SandboxCreatePending'));
    stalled.end();
    await harness.eventually(() => expect(harness.findReason('job')).toBe('ReconcilerError'));
  });
});

describe('refusals', () => {
  it('of the API server are final when the object is invalid, and quote its message', async () => {
    await using harness = await ClaimHarness.start({ members: 0 });
    const match = { verb: 'create', resource: 'sandboxes' } as const;
    harness.api.faults.failNext({ match, answer: { status: 422, message: 'spec.podTemplate is wrong' } });
    harness.startController();
    await harness.watching();
    harness.claim('job');
    await harness.eventually(() => expect(harness.getStatus('job').message).toContain('spec.podTemplate is wrong'));
    expect(harness.findReason('job')).toBe('InvalidConfiguration');
    expect(harness.getStatus('job').phase).toBe('Failed');
    await harness.elapse(5_000);
    expect(harness.writes()).toEqual(['create sandboxes', W2]);
  });

  it('of the API server are retried when the request is forbidden, such as by a quota', async () => {
    await using harness = await ClaimHarness.start({ members: 0 });
    const match = { verb: 'create', resource: 'sandboxes' } as const;
    harness.api.faults.failNext({ match, answer: { status: 403, message: 'exceeded quota' } });
    harness.startController();
    harness.claim('job');
    await harness.eventually(() => expect(harness.getStatus('job').message).toContain('exceeded quota'));
    await harness.eventually(() => expect(harness.getStatus('job').sandbox?.name).toBe('job'));
  });

  it('by a policy are written once and not retried until the claim changes', async () => {
    await using harness = await ClaimHarness.start({ members: 1 });
    harness.startController();
    await harness.watching();
    harness.claim('job', { env: [{ name: 'A', value: 'b' }] });
    await harness.eventually(() => expect(harness.findReason('job')).toBe('EnvVarsInjectionRejected'));
    await harness.elapse(5_000);
    expect(harness.writes()).toEqual([W2]);
    harness.api.change(sandboxClaims, { namespace: 'default', name: 'job' }, ({ spec, metadata }) => {
      delete spec.env;
      metadata.generation = 2;
    });
    await harness.eventually(() => expect(harness.isReady('job')).toBe(true));
  });

  it('of pod metadata reach a bound claim too, which keeps its Sandbox', async () => {
    await using harness = await bound(1);
    const relabel = (labels: Record<string, string>): void =>
      void harness.api.change(sandboxClaims, { namespace: 'default', name: 'job' }, ({ spec, metadata }) => {
        spec.additionalPodMetadata = { labels };
        metadata.generation = (metadata.generation ?? 1) + 1;
      });
    relabel({ team: 'a' });
    await harness.eventually(() => expect(harness.findReason('job')).toBe('InvalidMetadata'));
    expect(harness.getStatus('job').sandbox?.name).toBe('pool-m001');
    relabel({ 'sandbox.users.io/team': 'a' });
    await harness.eventually(() => expect(harness.isReady('job')).toBe(true));
    await harness.eventually(() =>
      expect(harness.sandbox('pool-m001')?.spec.podTemplate.metadata?.labels).toMatchObject({
        'sandbox.users.io/team': 'a',
      }),
    );
  });
});

describe('a bound claim', () => {
  it('passes changes of its template’s pod metadata on to the Sandbox', async () => {
    await using harness = await bound(1);
    harness.api.change(sandboxTemplates, { namespace: 'default', name: 'template' }, ({ spec, metadata }) => {
      spec.podTemplate.metadata = { labels: { team: 'b' } };
      metadata.generation = 2;
    });
    await harness.eventually(() =>
      expect(harness.sandbox('pool-m001')?.spec.podTemplate.metadata?.labels).toMatchObject({ team: 'b' }),
    );
  });

  it('passes them on although the write meets a conflict', async () => {
    await using harness = await bound(1);
    await harness.elapse(10_000);
    harness.api.faults.failNext({ match: { verb: 'patch', resource: 'sandboxes' }, answer: { status: 409 } });
    harness.api.change(sandboxTemplates, { namespace: 'default', name: 'template' }, ({ spec, metadata }) => {
      spec.podTemplate.metadata = { labels: { team: 'b' } };
      metadata.generation = 2;
    });
    await harness.eventually(() =>
      expect(harness.sandbox('pool-m001')?.spec.podTemplate.metadata?.labels).toMatchObject({ team: 'b' }),
    );
  });

  it('gets another Sandbox when the user deletes the first', async () => {
    await using harness = await bound(2);
    harness.api.remove(sandboxes, { namespace: 'default', name: 'pool-m001' });
    await harness.eventually(() => expect(harness.getStatus('job').sandbox?.name).toBe('pool-m002'));
    await harness.eventually(() =>
      expect(harness.getAnnotations('job')['agents.x-k8s.io/sandbox-name']).toBe('pool-m002'),
    );
    await harness.eventually(() => expect(bindings(harness)).toHaveLength(2));
  });

  it('gets another Sandbox when the first is deleted while the watch is silent', async () => {
    await using harness = await ClaimHarness.start({ members: 0 });
    harness.startController();
    await harness.watching();
    const stalled = harness.api.faults.stallWatches({ resource: 'sandboxes' });
    harness.claim('job');
    await harness.eventually(() => expect(harness.getStatus('job').sandbox?.name).toBe('job'));
    const first = harness.sandbox('job')?.metadata.uid;
    harness.api.remove(sandboxes, { namespace: 'default', name: 'job' });
    harness.api.faults.expireResourceVersions();
    harness.api.faults.dropWatches({ resource: 'sandboxes' });
    stalled.end();
    await harness.eventually(() => {
      expect(harness.sandbox('job')).toBeDefined();
      expect(harness.sandbox('job')?.metadata.uid).not.toBe(first);
    });
  });

  it('follows the readiness of its Sandbox without flapping', async () => {
    await using harness = await ClaimHarness.start({ members: 0 });
    harness.startController();
    await harness.watching();
    const seen: string[] = [];
    harness.api.onChange(sandboxClaims, () => {
      const reason = harness.findReason('job');
      if (reason !== undefined && seen.at(-1) !== reason) seen.push(reason);
    });
    harness.claim('job');
    await harness.eventually(() => expect(harness.getStatus('job').sandbox?.name).toBe('job'));
    harness.makeReady('job');
    await harness.eventually(() => expect(harness.isReady('job')).toBe(true));
    await harness.elapse(1_000);
    expect(seen).toEqual(['SandboxNotReady', 'DependenciesReady']);
  });

  it('causes no write while nothing changes', async () => {
    await using harness = await bound(1);
    await harness.elapse(1_000);
    const before = harness.writes().length;
    await harness.elapse(20_000);
    expect(harness.writes()).toHaveLength(before);
  });

  it('gets its annotations later when the first write fails', async () => {
    await using harness = await ClaimHarness.start({ members: 1 });
    const fault = harness.failBookkeeping();
    harness.startController();
    harness.claim('job');
    await harness.eventually(() => expect(harness.isReady('job')).toBe(true));
    await harness.elapse(1_000);
    expect(harness.getAnnotations('job')).toEqual({});
    fault.end();
    await harness.eventually(() =>
      expect(harness.getAnnotations('job')['agents.x-k8s.io/sandbox-name']).toBe('pool-m001'),
    );
  });
});

describe('the end of a claim', () => {
  const inOneMinute = '2026-01-01T12:01:00Z';

  it.each(['Delete', 'DeleteForeground'] as const)(
    'under %s deletes claim and Sandbox, never early',
    async (shutdownPolicy) => {
      await using harness = await ClaimHarness.start({ members: 1 });
      harness.startController();
      harness.claim('job', { lifecycle: { shutdownTime: inOneMinute, shutdownPolicy } });
      await harness.eventually(() => expect(harness.isReady('job')).toBe(true));
      harness.api.onChange(sandboxClaims, () => {
        if (harness.findReason('job') === 'ClaimExpired')
          expect(harness.clock.now()).toBeGreaterThanOrEqual(Date.parse(inOneMinute));
      });
      await harness.eventually(() => {
        expect(harness.api.objects(sandboxClaims)).toEqual([]);
        expect(harness.api.objects(sandboxes)).toEqual([]);
      });
      await harness.eventually(() =>
        expect(harness.eventReasons().filter((event) => event === 'job ClaimExpired')).toHaveLength(2),
      );
    },
  );

  it('under Retain deletes the Sandbox and keeps the claim with its report', async () => {
    await using harness = await ClaimHarness.start({ members: 2 });
    harness.startController();
    harness.claim('job', { lifecycle: { shutdownTime: inOneMinute, shutdownPolicy: 'Retain' } });
    await harness.eventually(() => expect(harness.isReady('job')).toBe(true));
    await harness.eventually(() => {
      expect(harness.getStatus('job')).toMatchObject({ phase: 'Expired', claimedReplicas: 0 });
      expect(harness.getStatus('job').sandbox).toBeUndefined();
    });
    await harness.elapse(2_000);
    expect(harness.owned().size).toBe(0);
    expect(harness.findReason('job')).toBe('ClaimExpired');
  });

  it('before it is bound leaves it without a Sandbox', async () => {
    await using harness = await ClaimHarness.start({ members: 1 });
    harness.startController();
    await harness.watching();
    harness.claim('job', { lifecycle: { shutdownTime: '2026-01-01T11:00:00Z', shutdownPolicy: 'Retain' } });
    await harness.eventually(() => expect(harness.findReason('job')).toBe('ClaimExpired'));
    await harness.elapse(1_000);
    expect(harness.owned().size).toBe(0);
  });
});
