import { sandboxTemplates } from '@sandlot/api-types';
import type { SandboxTemplateSpec } from '@sandlot/api-types';
import { POD_DEFAULTS } from '@sandlot/blueprint';
import { secrets } from '@sandlot/kube';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Daemons } from '../../test/daemons.ts';
import { ClaimHarness } from '../../test/harness.ts';

const ADDRESS = '127.0.1.9';
const HOST = 'api.example.com';
const ON_DEMAND = { ...POD_DEFAULTS, egressMode: 'OnDemand' } as const;
const ask = (...headers: readonly object[]) => ({
  'sandlot.dev/network': JSON.stringify({ rules: [{ host: HOST, headers }] }),
});
const PLAIN = ask({ name: 'X-Team', value: 'a' });
const NAMED = ask({ name: 'Authorization', valueFrom: { secretKeyRef: { name: 'key', key: 'token' } } });

let daemons: Daemons;
beforeEach(async () => {
  daemons = await Daemons.start([ADDRESS]);
});
afterEach(() => daemons[Symbol.asyncDispose]());

interface Choices {
  readonly isAvailable?: boolean;
  readonly allowsSecrets?: boolean;
  readonly inject?: boolean;
  readonly egress?: SandboxTemplateSpec['egress'];
}

/** A controller with one warm member that uses the egress proxy. */
async function start({
  isAvailable = true,
  allowsSecrets = true,
  inject = true,
  egress,
}: Choices = {}): Promise<ClaimHarness> {
  const harness = await ClaimHarness.start({ members: 0 });
  harness.podDefaults = ON_DEMAND;
  harness.runtime = daemons.access(harness.clock);
  harness.api.change(sandboxTemplates, { namespace: 'default', name: 'template' }, ({ spec }) => {
    spec.runtime = { inject };
    if (egress !== undefined) spec.egress = egress;
  });
  const name = harness.addMember({ address: ADDRESS });
  daemons.owners.set(ADDRESS, harness.sandbox(name)?.metadata.uid ?? '');
  harness.startController('claim-controller', { egressRules: { isAvailable, allowsSecrets } });
  await harness.watching();
  return harness;
}

const getMessage = (harness: ClaimHarness): string =>
  (harness.getStatus('job').conditions ?? []).map(({ message }) => message).join();

describe('a claim with header rules', () => {
  it('gets a Sandbox whose daemon has a proof for the proxy', async () => {
    await using harness = await start();
    harness.claim('job', {}, PLAIN);
    await harness.eventually(() => expect(harness.isReady('job')).toBe(true));
    const expected = daemons.accepted.map(({ sandboxUid, claim: claimUid }) =>
      daemons.egressProofs.derive({ sandboxUid, claimUid }),
    );
    expect(daemons.accepted.map(({ proof }) => proof)).toEqual(expected);
    expect(expected).toHaveLength(1);
  });

  it.each<[string, Choices, string]>([
    ['where the installation has no credentials', { isAvailable: false }, 'egress.credentials.enabled=true'],
    ['whose template has no daemon', { inject: false }, 'SandboxTemplate "template" has no runtime'],
    ['that name Secrets where that is not allowed', { allowsSecrets: false }, 'egress.credentials.namespaceSecrets'],
  ])('is refused %s, before it takes a Sandbox', async (_what, choices, words) => {
    await using harness = await start(choices);
    harness.claim('job', {}, NAMED);
    await harness.eventually(() => expect(harness.findReason('job')).toBe('EgressNotAvailable'));
    expect(getMessage(harness)).toContain(words);
    expect(harness.owned().get('job')).toBeUndefined();
  });

  it('cannot change what its template says of a host', async () => {
    await using harness = await start({ egress: { rules: [{ host: '*.example.com', methods: ['GET'] }] } });
    harness.claim('job', {}, PLAIN);
    await harness.eventually(() => expect(getMessage(harness)).toContain('has a rule for "api.example.com"'));
    expect(harness.owned().get('job')).toBeUndefined();
  });
});

describe('a Secret that a rule names', () => {
  const seed = (harness: ClaimHarness, metadata: object) =>
    harness.api.seed(secrets, {
      metadata: { namespace: 'default', name: 'key', ...metadata },
      data: { token: 'aHVzaA==' },
    });
  const labels = { 'sandlot.dev/egress-credential': 'true' };

  it.each([
    ['does not exist', undefined, 'EgressSecretMissing'],
    ['is not marked', {}, 'EgressSecretNotMarked'],
    ['lists no hosts', { labels }, 'EgressHostNotCovered'],
    ['lists other hosts', { labels, annotations: { 'sandlot.dev/egress-hosts': 'x.org' } }, 'EgressHostNotCovered'],
  ])('and that %s keeps the claim from taking a Sandbox', async (_what, metadata, reason) => {
    await using harness = await start();
    if (metadata !== undefined) seed(harness, metadata);
    harness.claim('job', {}, NAMED);
    await harness.eventually(() => expect(harness.findReason('job')).toBe(reason));
    expect(getMessage(harness)).toContain('Secret "key"');
    expect(harness.owned().get('job')).toBeUndefined();
  });

  it('lets the claim go on once its owner has marked it, and its value is nowhere in the status', async () => {
    await using harness = await start();
    harness.claim('job', {}, NAMED);
    await harness.eventually(() => expect(harness.findReason('job')).toBe('EgressSecretMissing'));
    seed(harness, { labels, annotations: { 'sandlot.dev/egress-hosts': '*.example.com' } });
    await harness.elapse(10_000);
    await harness.eventually(() => expect(harness.isReady('job')).toBe(true));
    expect(JSON.stringify(harness.getStatus('job'))).not.toMatch(/hush|aHVzaA/u);
  });
});
