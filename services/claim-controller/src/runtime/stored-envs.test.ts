import { sandboxClaims, sandboxTemplates } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { namespaces, secrets } from '@sandlot/kube';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Daemons } from '../../test/daemons.ts';
import { ClaimHarness } from '../../test/harness.ts';

const ENVS = 'sandlot-system-envs';
const STORED = { name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'sandlot.dev/envs', key: 'env-0' } } };
const VALUE = Buffer.from('hunter2').toString('base64');

let daemons: Daemons;
beforeEach(async () => {
  daemons = await Daemons.start(['127.0.1.1']);
});
afterEach(() => daemons[Symbol.asyncDispose]());

async function started({ inject = true, hasApi = true } = {}): Promise<ClaimHarness> {
  const harness = await ClaimHarness.start({ members: 0 });
  harness.runtime = daemons.access(harness.clock);
  harness.api.seed(namespaces, { metadata: { name: ENVS } });
  harness.api.change(sandboxTemplates, { namespace: 'default', name: 'template' }, ({ spec }) => {
    spec.envVarsInjectionPolicy = 'Allowed';
    spec.runtime = { inject };
  });
  const member = harness.addMember({ address: '127.0.1.1' });
  daemons.owners.set('127.0.1.1', harness.sandbox(member)?.metadata.uid ?? '');
  harness.startController('claim-controller', hasApi ? { envsNamespace: ENVS } : {});
  await harness.watching();
  return harness;
}

/** Stores the variables of a claim as the API does; `uid` and `name` are those of the claim. */
function store(harness: ClaimHarness, { uid = '', name = '' }: SandboxClaim['metadata']): void {
  const metadata = {
    namespace: ENVS,
    name: `envs-${uid}`,
    annotations: { 'sandlot.dev/stored-for': `default/${name}` },
  };
  harness.api.seed(secrets, { metadata, data: { 'env-0': VALUE } });
}

const getClaim = (harness: ClaimHarness, name: string): SandboxClaim['metadata'] =>
  harness.api.object(sandboxClaims, { namespace: 'default', name })?.metadata ?? {};
const listStored = (harness: ClaimHarness): string[] =>
  harness.api.objects(secrets).map(({ metadata }) => metadata.name ?? '');

describe('variables that the API stored', () => {
  it('reach the daemon, although claims may not name Secrets, and go with the claim', async () => {
    await using harness = await started();
    harness.claim('job', { envs: [STORED] });
    const { uid = '' } = getClaim(harness, 'job');
    store(harness, { uid, name: 'job' });
    await harness.eventually(() => expect(harness.isReady('job')).toBe(true));
    expect(daemons.accepted.map(({ envVars }) => envVars)).toEqual([{ TOKEN: 'hunter2' }]);
    expect(listStored(harness)).toEqual([`envs-${uid}`]);
    const endMs = harness.clock.now();
    harness.api.remove(sandboxClaims, { namespace: 'default', name: 'job' });
    await harness.eventually(() => expect(listStored(harness)).toEqual([]));
    // Not only at the next look for what was missed, which comes after minutes.
    expect(harness.clock.now() - endMs).toBeLessThan(60_000);
  });

  it('never reach another claim, which can only name its own', async () => {
    await using harness = await started();
    harness.claim('victim', { envs: [STORED], createOnNoStock: false });
    store(harness, { uid: getClaim(harness, 'victim').uid, name: 'victim' });
    harness.claim('thief', { envs: [STORED] });
    await harness.eventually(() =>
      expect(harness.getStatus('thief').message).toContain('the API has not stored the variables of this claim'),
    );
    const name = `envs-${getClaim(harness, 'victim').uid ?? ''}`;
    harness.claim('reader', { envs: [{ name: 'A', valueFrom: { secretKeyRef: { name, key: 'env-0' } } }] });
    await harness.eventually(() => expect(harness.findReason('reader')).toBe('EnvVarsInjectionRejected'));
    const victim = getClaim(harness, 'victim').uid;
    expect(daemons.accepted.filter(({ claim }) => claim !== victim)).toEqual([]);
  });

  it.each([
    ['the template has no daemon', { inject: false }, 'has no daemon that could receive the variables'],
    ['no API is installed', { hasApi: false }, 'this installation runs no API'],
  ])('are refused with a reason if %s', async (_, options, message) => {
    await using harness = await started(options);
    harness.claim('job', { envs: [STORED] });
    await harness.eventually(() => expect(harness.findReason('job')).toBe('EnvVarsInjectionRejected'));
    expect(harness.getStatus('job').message).toContain(message);
  });

  it('of claims that ended while no controller ran are deleted at its start, and no others', async () => {
    await using harness = await ClaimHarness.start({ members: 0 });
    harness.api.seed(namespaces, { metadata: { name: ENVS } });
    harness.claim('alive', { envs: [STORED] });
    const { uid = '' } = getClaim(harness, 'alive');
    store(harness, { uid, name: 'alive' });
    store(harness, { uid: 'old-uid', name: 'alive' });
    store(harness, { uid: 'gone-uid', name: 'gone' });
    const foreign = {
      'of-the-operator': undefined,
      'envs-unmarked': undefined,
      'envs-odd': 'default/gone/extra',
      // Read as one of ours, it would name the variables of the claim that runs.
      [`copy-${uid}`]: 'default/gone',
    };
    for (const [name, storedFor] of Object.entries(foreign)) {
      const marks = storedFor === undefined ? {} : { annotations: { 'sandlot.dev/stored-for': storedFor } };
      harness.api.seed(secrets, { metadata: { namespace: ENVS, name, ...marks }, data: {} });
    }
    harness.startController('claim-controller', { envsNamespace: ENVS });
    const kept = [`envs-${uid}`, ...Object.keys(foreign)].sort();
    await harness.eventually(() => expect(listStored(harness)).not.toContain('envs-gone-uid'));
    await harness.elapse(5_000);
    expect(listStored(harness).sort()).toEqual(kept);
    const looks = harness.api.requests().filter(({ verb, resource }) => verb === 'get' && resource === 'sandboxclaims');
    // The cache knows the claim that runs; it answers for its variables without a request.
    expect(looks).toHaveLength(2);
  });

  it('of a claim that the cache does not show yet are kept', async () => {
    await using harness = await ClaimHarness.start({ members: 0 });
    harness.api.seed(namespaces, { metadata: { name: ENVS } });
    harness.api.faults.staleLists({ resource: 'sandboxclaims' });
    harness.api.faults.stallWatches({ resource: 'sandboxclaims' });
    harness.claim('new', { envs: [STORED] });
    const { uid = '' } = getClaim(harness, 'new');
    store(harness, { uid, name: 'new' });
    harness.startController('claim-controller', { envsNamespace: ENVS });
    const isLook = { verb: 'get', resource: 'sandboxclaims' };
    await harness.eventually(() => expect(harness.api.requests()).toContainEqual(expect.objectContaining(isLook)));
    await harness.elapse(5_000);
    expect(listStored(harness)).toEqual([`envs-${uid}`]);
  });
});

describe('variables of a claim in a namespace that the release serves no longer', () => {
  it('are kept, and asked for once in each sweep', async () => {
    await using harness = await ClaimHarness.start({ members: 0 });
    harness.api.seed(namespaces, { metadata: { name: ENVS } });
    const isLook = { verb: 'get', resource: 'sandboxclaims' } as const;
    harness.api.faults.failNext({ match: isLook, answer: { status: 403 }, times: 10 });
    store(harness, { uid: 'theirs', name: 'theirs' });
    harness.startController('claim-controller', { envsNamespace: ENVS });
    await harness.eventually(() => expect(harness.api.requests()).toContainEqual(expect.objectContaining(isLook)));
    await harness.elapse(60_000);
    expect(
      harness.api.requests().filter(({ verb, resource }) => verb === 'get' && resource === 'sandboxclaims'),
    ).toHaveLength(1);
    expect(listStored(harness)).toEqual(['envs-theirs']);
  });
});

describe('a Secret of the namespace that belongs to a claim', () => {
  it('is closed to every other claim, although its label opens it', async () => {
    await using harness = await ClaimHarness.start({ members: 2 });
    harness.api.change(sandboxTemplates, { namespace: 'default', name: 'template' }, ({ spec }) => {
      spec.envVarsInjectionPolicy = 'Allowed';
    });
    harness.startController('claim-controller', { envsFromSecrets: true });
    await harness.watching();
    harness.claim('victim');
    const { uid = '' } = getClaim(harness, 'victim');
    const owner = { apiVersion: 'extensions.agents.x-k8s.io/v1beta1', kind: 'SandboxClaim', name: 'victim', uid };
    const metadata = {
      namespace: 'default',
      name: 'victim-env',
      labels: { 'sandlot.dev/claim-env': 'true' },
      ownerReferences: [owner],
    };
    harness.api.seed(secrets, { metadata, data: { 'env-0': VALUE } });
    const stolen = { name: 'A', valueFrom: { secretKeyRef: { name: 'victim-env', key: 'env-0' } } };
    harness.claim('thief', { envs: [stolen] });
    await harness.eventually(() =>
      expect(harness.getStatus('thief').message).toContain('Secret "victim-env" belongs to claim "victim"'),
    );
    expect(harness.sandbox('thief')).toBeUndefined();
  });
});
