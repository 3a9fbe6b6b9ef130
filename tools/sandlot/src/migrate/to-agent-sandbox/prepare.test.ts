import type { Sandbox, SandboxClaim, SandboxTemplate, SandboxWarmPool } from '@sandlot/api-types';
import { describe, expect, it } from 'vitest';
import { prepareAll } from './prepare.ts';
import type { Found, Prepared } from './prepared.ts';

const metadata = { namespace: 'team-a', name: 'box', uid: 'uid', resourceVersion: '7' };
const guard = { uid: 'uid', resourceVersion: '7' };
const podTemplate = { spec: { containers: [] } } as unknown as Sandbox['spec']['podTemplate'];

const none: Found = { SandboxTemplate: [], SandboxWarmPool: [], Sandbox: [], SandboxClaim: [] };

const prepareSandbox = (spec: Partial<Sandbox['spec']>): readonly Prepared[] =>
  prepareAll({ ...none, Sandbox: [{ metadata, spec: { podTemplate, ...spec } }] });

const prepareClaim = (spec: SandboxClaim['spec'], pools: readonly string[] = []): readonly Prepared[] =>
  prepareAll({
    ...none,
    SandboxClaim: [{ metadata, spec }],
    SandboxWarmPool: pools.map((name): SandboxWarmPool => ({
      metadata: { namespace: 'team-a', name },
      spec: { replicas: 0, sandboxTemplateRef: { name: 'python' } },
    })),
  });

describe('a Sandbox', () => {
  it.each([
    [0, 'Suspended'],
    [1, 'Running'],
  ] as const)('with %i replicas gets the mode %s', (replicas, operatingMode) => {
    expect(prepareSandbox({ replicas })).toMatchObject([
      { from: 'Sandbox team-a/box', patch: { metadata: guard, spec: { replicas: null, operatingMode } }, notes: [] },
    ]);
  });

  it('in the words of v1beta1 stays as it is', () => {
    expect(prepareSandbox({ operatingMode: 'Suspended' })).toEqual([]);
  });

  it('with fields of Sandlot alone reports each of them as lost', () => {
    const [prepared] = prepareSandbox({ suspensionStrategy: { type: 'Hibernate' }, idle: { suspendAfterSeconds: 60 } });
    expect(prepared?.patch).toBeUndefined();
    expect(prepared?.notes.map(({ effect, field }) => [effect, field])).toEqual([
      ['lost', 'spec.suspensionStrategy'],
      ['lost', 'spec.idle'],
    ]);
  });
});

describe('a claim', () => {
  const sandboxTemplateRef = { name: 'python' };

  it.each<[string, SandboxClaim['spec'], string]>([
    ['by template', { sandboxTemplateRef }, 'shadow-pool-python'],
    ['by template, from any pool', { sandboxTemplateRef, warmpool: 'default' }, 'shadow-pool-python'],
    ['by template, from no pool', { sandboxTemplateRef, warmpool: 'none' }, 'shadow-pool-python'],
    ['by template, from one pool', { sandboxTemplateRef, warmpool: 'pythons' }, 'pythons'],
  ])('%s gets a pool, which is made', (...[, spec, name]) => {
    const [prepared] = prepareClaim(spec);
    expect(prepared?.patch).toEqual({
      metadata: guard,
      spec: { sandboxTemplateRef: null, warmpool: null, warmPoolRef: { name } },
    });
    expect(prepared?.pool).toEqual({ namespace: 'team-a', name, template: 'python' });
  });

  it('makes no pool that is there', () => {
    const [prepared] = prepareClaim({ sandboxTemplateRef }, ['shadow-pool-python']);
    expect([prepared?.pool, prepared?.patch === undefined]).toEqual([undefined, false]);
  });

  it('by pool stays as it is', () => {
    expect(prepareClaim({ warmPoolRef: { name: 'pythons' } })).toEqual([]);
  });

  it('for a batch reports that it is to end before', () => {
    const [prepared] = prepareClaim({ warmPoolRef: { name: 'pythons' }, replicas: 3 });
    expect(prepared?.notes).toEqual([
      { effect: 'lost', field: 'spec.replicas', text: expect.stringContaining('end it before') as string },
    ]);
  });
});

it('templates and pools report what agent-sandbox does not have', () => {
  const template = { metadata, spec: { podTemplate, runtime: { inject: true } } } as SandboxTemplate;
  const pool: SandboxWarmPool = {
    metadata,
    spec: { replicas: 1, sandboxTemplateRef: { name: 'box' }, autoscaling: { maxReplicas: 5 } },
  };
  const prepared = prepareAll({ ...none, SandboxTemplate: [template], SandboxWarmPool: [pool] });
  expect(prepared.map(({ from, notes }) => [from, notes.map(({ field }) => field)])).toEqual([
    ['SandboxTemplate team-a/box', ['spec.runtime']],
    ['SandboxWarmPool team-a/box', ['spec.autoscaling']],
  ]);
});
