import { labels, sandboxClaims, sandboxes, sandboxTemplates, sandboxWarmPools } from '@sandlot/api-types';
import { claim, pool, template } from '@sandlot/api-types/testing';
import { buildMemberSandbox, POD_DEFAULTS } from '@sandlot/blueprint';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ClaimHarness, readyStatus } from '../../test/harness.ts';
import { Daemons } from '../../test/daemons.ts';
import { INIT_LIMITS } from './init-places.ts';

const HOSTILE = '127.0.4.1';
const HONEST = '127.0.4.2';
const CLAIMS = 100;

let daemons: Daemons;
beforeEach(async () => {
  daemons = await Daemons.start([HOSTILE, HONEST]);
  daemons.dripping.add(HOSTILE);
});
afterEach(() => daemons[Symbol.asyncDispose]());

interface Tenant {
  readonly namespace: string;
  /** Name of the template and its pool. */
  readonly name: string;
  readonly address: string;
  readonly members: number;
}

/** A pool of that many Ready members whose daemons are at the address. */
function addPool(harness: ClaimHarness, { namespace, name, address, members }: Tenant): void {
  const metadata = { namespace, name };
  const made = template({ spec: { runtime: { inject: true } } });
  const theTemplate = { ...made, metadata: { ...made.metadata, ...metadata } };
  harness.api.seed(sandboxTemplates, theTemplate);
  const written = pool();
  const spec = { ...written.spec, sandboxTemplateRef: { name } };
  harness.api.seed(sandboxWarmPools, { ...written, metadata, spec });
  const thePool = harness.api.object(sandboxWarmPools, metadata);
  if (thePool === undefined) throw new Error('the pool was not seeded');
  for (let index = 0; index < members; index += 1) {
    const suffix = `m${String(index).padStart(3, '0')}`;
    const member = buildMemberSandbox({ pool: thePool, template: theTemplate, defaults: POD_DEFAULTS, suffix });
    harness.api.seed(sandboxes, { ...member, status: readyStatus({ address }) });
  }
}

function addClaim(harness: ClaimHarness, { namespace, name: poolName }: Tenant, name: string): void {
  const spec = { warmPoolRef: { name: poolName } };
  harness.api.seed(sandboxClaims, { ...claim({ spec }), metadata: { namespace, name } });
}

function isReady(harness: ClaimHarness, namespace: string, name: string): boolean {
  const { conditions = [] } = harness.api.object(sandboxClaims, { namespace, name })?.status ?? {};
  return conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
}

const hostile: Tenant = { namespace: 'hostile', name: 'drips', address: HOSTILE, members: CLAIMS };

/** A hundred claims whose daemons send a byte now and then, all called that may be. */
async function startHostile(...others: readonly Tenant[]): Promise<ClaimHarness> {
  const harness = await ClaimHarness.start();
  harness.runtime = daemons.access(harness.clock);
  daemons.crowd = () => harness.api.objects(sandboxes).map(({ metadata }) => metadata.uid ?? '');
  for (const tenant of [hostile, ...others]) addPool(harness, tenant);
  harness.startController();
  await harness.watching();
  for (let index = 0; index < CLAIMS; index += 1) addClaim(harness, hostile, `c${index}`);
  return harness;
}

const countAdopted = (harness: ClaimHarness): number =>
  harness.api.objects(sandboxes).filter(({ metadata }) => metadata.labels?.[labels.claimUid] !== undefined).length;

describe('claims whose daemons drip bytes', () => {
  it.each([
    ['another namespace', { namespace: 'honest', name: 'answers', address: HONEST, members: 1 }],
    ['another template of their namespace', { namespace: 'hostile', name: 'answers', address: HONEST, members: 1 }],
  ])('do not delay a claim of %s', async (_, honest) => {
    await using harness = await startHostile(honest);
    await harness.eventually(() => expect(daemons.drips.open).toBeGreaterThanOrEqual(8));
    addClaim(harness, honest, 'job');
    await harness.eventually(() => expect(isReady(harness, honest.namespace, 'job')).toBe(true));
    expect(daemons.drips.closed).toBe(0);
    expect(daemons.accepted).toHaveLength(1);
  });

  it('all get their Sandbox, and only so many calls at once', async () => {
    await using harness = await startHostile();
    await harness.eventually(() => expect(countAdopted(harness)).toBe(CLAIMS));
    await harness.eventually(() => expect(daemons.drips.open).toBe(INIT_LIMITS.perTemplate));
    expect(daemons.drips.closed).toBe(0);
    await harness.elapse(10_000);
    expect(daemons.drips.closed).toBeGreaterThanOrEqual(INIT_LIMITS.perTemplate);
    expect(daemons.drips.most).toBeLessThanOrEqual(INIT_LIMITS.perTemplate + daemons.drips.closed);
  });

  it('become Ready when their daemons answer', async () => {
    await using harness = await startHostile();
    await harness.eventually(() => expect(daemons.drips.open).toBe(INIT_LIMITS.perTemplate));
    daemons.dripping.clear();
    await harness.eventually(() => {
      for (let index = 0; index < CLAIMS; index += 1) expect(isReady(harness, 'hostile', `c${index}`)).toBe(true);
    });
    expect(daemons.drips.most).toBe(INIT_LIMITS.perTemplate);
  });
});
