import { sandboxClaims, sandboxes, sandboxTemplates, sandboxWarmPools } from '@sandlot/api-types';
import { secrets } from '@sandlot/kube';
import { identities } from '@sandlot/std/testing';
import { deriveEnvdAccessToken } from '@sandlot/tenancy';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ClaimHarness } from '../../test/harness.ts';
import { Daemons } from '../../test/daemons.ts';

const ADDRESSES = ['127.0.1.1', '127.0.1.2', '127.0.1.3', '127.0.1.4', '127.0.1.5', '127.0.1.6'];
const LATER = '2026-01-01T13:00:00Z';

let daemons: Daemons;
beforeEach(async () => {
  daemons = await Daemons.start(ADDRESSES);
});
afterEach(() => daemons[Symbol.asyncDispose]());

/** Starts with a template that injects the daemon, and members with daemons at addresses of their own. */
async function prepared(members: number, { inject = true } = {}): Promise<ClaimHarness> {
  const harness = await ClaimHarness.start({ members: 0 });
  harness.runtime = daemons.access(harness.clock);
  harness.api.change(sandboxTemplates, { namespace: 'default', name: 'template' }, ({ spec }) => {
    spec.envVarsInjectionPolicy = 'Allowed';
    spec.runtime = { inject };
  });
  for (const address of ADDRESSES.slice(0, members)) own(harness, harness.addMember({ address }), address);
  return harness;
}

async function started(members: number, how: { readonly inject?: boolean } = {}): Promise<ClaimHarness> {
  const harness = await prepared(members, how);
  harness.startController('claim-controller', { envsFromSecrets: true });
  await harness.watching();
  return harness;
}

/** Assigns the daemon at the address to the Sandbox. */
function own(harness: ClaimHarness, name: string, address: string): void {
  daemons.owners.set(address, harness.sandbox(name)?.metadata.uid ?? '');
}

const getUid = (harness: ClaimHarness, name: string): string =>
  harness.api.object(sandboxes, { namespace: 'default', name })?.metadata.uid ?? '';

describe('a claim on a template with the daemon', () => {
  it('becomes Ready once the daemon has its token and variables, with two writes and no cold start', async () => {
    await using harness = await started(1);
    harness.claim('job', { envs: [{ name: 'RUN_ID', value: '42' }] });
    await harness.eventually(() => expect(harness.isReady('job')).toBe(true));
    expect(harness.owned().get('job')).toEqual(['pool-m001']);
    const [accepted, ...more] = daemons.accepted;
    const { claim = '' } = accepted ?? {};
    expect(accepted).toEqual({
      address: '127.0.1.1',
      sandboxUid: getUid(harness, 'pool-m001'),
      claim,
      envVars: { RUN_ID: '42' },
      exec: true,
      accessToken: deriveEnvdAccessToken(daemons.tokenKey, claim),
    });
    expect(more).toEqual([]);
    await harness.elapse(60_000);
    const untilReady = ['patch sandboxes', 'patch sandboxclaims', 'patch sandboxclaims/status'];
    expect(harness.writes()).toEqual([...untilReady, 'patch sandboxclaims']);
    expect(daemons.accepted).toHaveLength(1);
  });

  it('gives the daemon the env of the first container, too, and envs win', async () => {
    await using harness = await started(0);
    harness.api.change(sandboxTemplates, { namespace: 'default', name: 'template' }, ({ spec }) => {
      spec.podTemplate.spec.containers.push({ name: 'side', image: 'side' });
    });
    const first = harness.api.objects(sandboxTemplates)[0]?.spec.podTemplate.spec.containers[0]?.name ?? '';
    const env = [
      { name: 'COLOUR', value: 'green' },
      { name: 'NAMED', value: '', containerName: first },
      { name: 'BOTH', value: 'env' },
      { name: 'OTHER', value: '1', containerName: 'side' },
    ];
    harness.claim('job', { env, envs: [{ name: 'BOTH', value: 'envs' }] });
    await harness.eventually(() => expect(harness.sandbox('job')).toBeDefined());
    own(harness, 'job', '127.0.1.1');
    harness.makeReady('job', { address: '127.0.1.1' });
    await harness.eventually(() => expect(harness.isReady('job')).toBe(true));
    expect(daemons.accepted.map(({ envVars }) => envVars)).toEqual([{ COLOUR: 'green', NAMED: '', BOTH: 'envs' }]);
  });

  it('shows its Sandbox with one write when the daemon answers within a second', async () => {
    await using harness = await started(1);
    const { promise, resolve } = Promise.withResolvers<undefined>();
    daemons.held = promise.then(() => undefined);
    harness.claim('job');
    await harness.elapse(700);
    expect(harness.writes()).toEqual(['patch sandboxes', 'patch sandboxclaims']);
    resolve(undefined);
    await harness.eventually(() => expect(harness.isReady('job')).toBe(true));
    const untilReady = ['patch sandboxes', 'patch sandboxclaims', 'patch sandboxclaims/status'];
    expect(harness.writes().slice(0, 3)).toEqual(untilReady);
  });

  it('shows its Sandbox before the daemon answers when that takes longer', async () => {
    await using harness = await started(1);
    const { promise, resolve } = Promise.withResolvers<undefined>();
    daemons.held = promise.then(() => undefined);
    harness.claim('job');
    await harness.elapse(1_500);
    expect(harness.getStatus('job').sandbox?.name).toBe('pool-m001');
    expect([harness.isReady('job'), harness.findReason('job')]).toEqual([false, 'SandboxNotReady']);
    resolve(undefined);
    await harness.eventually(() => expect(harness.isReady('job')).toBe(true));
  });

  it('closes the agent-sandbox API only in sandboxes that the E2B API creates', async () => {
    await using harness = await started(2);
    const labels = { 'sandlot.dev/sandbox-id': 'id1' };
    for (const name of ['id1', 'namesake']) {
      const metadata = { namespace: 'default', name, labels };
      harness.api.seed(sandboxClaims, { metadata, spec: { warmPoolRef: { name: 'pool' } } });
    }
    await harness.eventually(() => expect([harness.isReady('id1'), harness.isReady('namesake')]).toEqual([true, true]));
    const accepted = new Map(daemons.accepted.map(({ sandboxUid, exec }) => [sandboxUid, exec]));
    const getExec = (claim: string) => accepted.get(getUid(harness, harness.owned().get(claim)?.[0] ?? ''));
    expect({ id1: getExec('id1'), namesake: getExec('namesake') }).toEqual({ id1: false, namesake: true });
  });

  it('is not Ready while the daemon does not answer, reports why, and becomes Ready when it answers', async () => {
    await using harness = await started(1);
    daemons.answer = () => 503;
    harness.claim('job');
    await harness.eventually(() => expect(harness.getStatus('job').sandbox?.name).toBe('pool-m001'));
    await harness.eventually(() =>
      expect(harness.getStatus('job').conditions?.[0]).toMatchObject({
        status: 'False',
        reason: 'SandboxNotReady',
        message: 'Sandbox is not ready: its runtime refused the initialisation with status 503',
      }),
    );
    daemons.answer = () => 204;
    await harness.eventually(() => expect(harness.isReady('job')).toBe(true));
    expect(harness.owned().get('job')).toEqual(['pool-m001']);
  });

  it('is not Ready while a server without the key of the Sandbox has its address, and becomes Ready at the next one', async () => {
    await using harness = await started(1);
    const identity = { publicKeyHash: identities[0].publicKeyHash, ports: [49_983] };
    harness.makeReady('pool-m001', { address: '127.0.1.1', identity });
    await harness.eventually(() => expect(harness.sandbox('pool-m001')?.status?.runtime?.identity).toEqual(identity));
    harness.claim('job');
    await harness.eventually(() =>
      expect(harness.getStatus('job').conditions?.[0]?.message).toContain('does not show its key'),
    );
    expect(daemons.accepted).toEqual([]);
    own(harness, 'pool-m001', '127.0.1.2');
    harness.makeReady('pool-m001', { address: '127.0.1.2', since: LATER });
    await harness.eventually(() => expect(harness.isReady('job')).toBe(true));
    expect(daemons.accepted.map(({ address }) => address)).toEqual(['127.0.1.2']);
  });

  it('gets another Sandbox when the daemon of the first never answers', async () => {
    await using harness = await started(2);
    daemons.answer = ({ address }) => (address === '127.0.1.1' ? 500 : 204);
    harness.claim('job', { waitReadyTimeout: '5s' });
    await harness.eventually(() => expect(harness.isReady('job')).toBe(true));
    expect(harness.owned().get('job')).toEqual(['pool-m002']);
    expect(harness.sandbox('pool-m001')).toBeUndefined();
    expect(harness.eventReasons()).toContain('job SandboxInitFailed');
  });

  it('keeps failed Sandboxes when the claim asks for that, and stops after five', async () => {
    await using harness = await started(5);
    daemons.answer = () => 500;
    harness.claim('job', { reserveFailedSandbox: true, createOnNoStock: false, waitReadyTimeout: '2s' });
    await harness.eventually(() => expect(harness.getStatus('job').phase).toBe('Failed'));
    expect(harness.findReason('job')).toBe('SandboxInitFailed');
    expect(harness.getStatus('job').message).toContain('its runtime refused the initialisation with status 500');
    const kept = harness.api.objects(sandboxes).map(({ metadata }) => metadata.labels?.['sandlot.dev/reserved-failed']);
    expect(kept).toEqual(['true', 'true', 'true', 'true', 'true']);
  });

  it('initialises the daemon again after a resume, before it becomes Ready again', async () => {
    await using harness = await started(1);
    harness.claim('job');
    await harness.eventually(() => expect(harness.isReady('job')).toBe(true));
    harness.makeUnready('pool-m001');
    await harness.eventually(() => expect(harness.isReady('job')).toBe(false));
    daemons.answer = () => 503;
    own(harness, 'pool-m001', '127.0.1.2');
    harness.makeReady('pool-m001', { address: '127.0.1.2', since: LATER });
    await harness.elapse(60_000);
    expect(harness.isReady('job')).toBe(false);
    expect(harness.owned().get('job')).toEqual(['pool-m001']);
    daemons.answer = () => 204;
    await harness.eventually(() => expect(harness.isReady('job')).toBe(true));
    expect(daemons.accepted.map(({ address }) => address)).toEqual(['127.0.1.1', '127.0.1.2']);
  });

  it('is not initialised again by a new leader, unless the pod changed in between', async () => {
    await using harness = await prepared(2);
    const leader = harness.startController();
    await harness.watching();
    harness.claim('first');
    harness.claim('second');
    await harness.eventually(() => expect([harness.isReady('first'), harness.isReady('second')]).toEqual([true, true]));
    const second = harness.owned().get('second')?.[0] ?? '';
    await harness.kill(leader);
    harness.makeReady(second, { address: '127.0.1.3', since: LATER });
    own(harness, second, '127.0.1.3');
    harness.startController('successor');
    await harness.eventually(() => expect(daemons.accepted.map(({ address }) => address)).toContain('127.0.1.3'));
    await harness.elapse(5_000);
    expect(daemons.accepted).toHaveLength(3);
  });

  it('skips the daemon when it asks for that', async () => {
    await using harness = await started(1);
    harness.claim('job', { skipInitRuntime: true });
    await harness.eventually(() => expect(harness.isReady('job')).toBe(true));
    expect(daemons.accepted).toEqual([]);
  });

  it('waits for a pod without a limit, and for the daemon 30 s', async () => {
    await using harness = await started(0);
    harness.claim('job');
    await harness.eventually(() => expect(harness.sandbox('job')).toBeDefined());
    await harness.elapse(120_000);
    expect(harness.owned().get('job')).toEqual(['job']);
    daemons.answer = () => 500;
    own(harness, 'job', '127.0.1.1');
    harness.makeReady('job', { address: '127.0.1.1' });
    await harness.eventually(() => expect(harness.eventReasons()).toContain('job SandboxInitFailed'));
  });

  it('initialises every daemon of a batch before it shows the Sandbox', async () => {
    await using harness = await started(3);
    daemons.answer = ({ address }) => (address === '127.0.1.3' ? 503 : 204);
    harness.claim('batch', { replicas: 3, envs: [{ name: 'A', value: '1' }] });
    await harness.eventually(() => expect(harness.getStatus('batch').claimedReplicas).toBe(2));
    await harness.elapse(2_000);
    expect(harness.getStatus('batch').claimedReplicas).toBe(2);
    daemons.answer = () => 204;
    await harness.eventually(() => expect(harness.isReady('batch')).toBe(true));
    expect(daemons.accepted.map(({ envVars }) => envVars)).toEqual([{ A: '1' }, { A: '1' }, { A: '1' }]);
  });

  it('skips members built before the template had the daemon, if it has variables', async () => {
    await using harness = await started(0, { inject: false });
    harness.addMember({ address: '127.0.1.1' });
    harness.api.change(sandboxTemplates, { namespace: 'default', name: 'template' }, ({ spec }) => {
      spec.runtime = { inject: true };
    });
    await harness.elapse(100);
    harness.claim('job', { envs: [{ name: 'A', value: '1' }] });
    await harness.eventually(() => expect(harness.owned().get('job')).toEqual(['job']));
    expect(harness.sandbox('job')?.spec.podTemplate.spec.containers[0]?.env).toBeUndefined();
  });

  it('is refused when the template’s policy does not allow its variables', async () => {
    await using harness = await started(1);
    harness.api.change(sandboxTemplates, { namespace: 'default', name: 'template' }, ({ spec }) => {
      spec.envVarsInjectionPolicy = 'Disallowed';
    });
    await harness.elapse(100);
    harness.claim('job', { envs: [{ name: 'A', value: '1' }] });
    await harness.eventually(() => expect(harness.findReason('job')).toBe('EnvVarsInjectionRejected'));
    expect(harness.api.objects(sandboxWarmPools)).toHaveLength(1);
    expect(harness.owned().size).toBe(0);
  });
});

describe('a claim whose Sandbox has a daemon that trusts another key', () => {
  const deleted = (harness: ClaimHarness): number =>
    harness.api.writes().filter(({ verb, resource }) => verb === 'delete' && resource === 'sandboxes').length;

  it('goes on with the next member at once, and the first is deleted', async () => {
    await using harness = await started(2);
    daemons.strangers.add('127.0.1.1');
    const startMs = harness.clock.now();
    harness.claim('job');
    await harness.eventually(() => expect(harness.isReady('job')).toBe(true));
    expect(harness.clock.now() - startMs).toBeLessThan(5_000);
    expect(harness.owned().get('job')).toEqual(['pool-m002']);
    expect(harness.sandbox('pool-m001')).toBeUndefined();
    await harness.eventually(() => expect(harness.eventReasons()).toContain('job SandboxInitFailed'));
  });

  it('gets the next member in each slot of a batch', async () => {
    await using harness = await started(4);
    for (const address of ['127.0.1.1', '127.0.1.2']) daemons.strangers.add(address);
    harness.claim('batch', { replicas: 2 });
    await harness.eventually(() => expect(harness.isReady('batch')).toBe(true));
    expect([...harness.slots('batch').values()].flat().sort()).toEqual(['pool-m003', 'pool-m004']);
  });

  it('starts cold after two such members, because all of the pool may be so', async () => {
    await using harness = await started(5);
    harness.address = '127.0.1.6';
    for (const address of ADDRESSES.slice(0, 5)) daemons.strangers.add(address);
    harness.makeAllReady();
    daemons.crowd = () => [getUid(harness, 'job')];
    harness.claim('job');
    await harness.eventually(() => expect(harness.isReady('job')).toBe(true));
    expect(harness.owned().get('job')).toEqual(['job']);
    expect(deleted(harness)).toBe(2);
  });

  it('starts no cold one when the claim rules that out, and takes the next member', async () => {
    await using harness = await started(4);
    for (const address of ADDRESSES.slice(0, 3)) daemons.strangers.add(address);
    harness.claim('job', { createOnNoStock: false });
    await harness.eventually(() => expect(harness.isReady('job')).toBe(true));
    expect(harness.owned().get('job')).toEqual(['pool-m004']);
    expect(deleted(harness)).toBe(3);
  });

  it('fails after five tries when every daemon says so, and ever more slowly', async () => {
    await using harness = await started(1);
    harness.address = '127.0.1.6';
    for (const address of ADDRESSES) daemons.strangers.add(address);
    harness.makeAllReady();
    const startMs = harness.clock.now();
    harness.claim('job');
    await harness.eventually(() => expect(harness.getStatus('job').phase).toBe('Failed'));
    expect(harness.clock.now() - startMs).toBeGreaterThan(400 + 800 + 1_600);
    expect(harness.findReason('job')).toBe('SandboxInitFailed');
    expect(harness.getStatus('job').message).toContain('cannot be used: its runtime trusts another key');
    await harness.elapse(60_000);
    expect(deleted(harness)).toBe(5);
  });

  it('keeps a Sandbox that it has shown Ready', async () => {
    await using harness = await started(2);
    harness.claim('job');
    await harness.eventually(() => expect(harness.isReady('job')).toBe(true));
    daemons.strangers.add('127.0.1.1');
    harness.makeReady('pool-m001', { address: '127.0.1.1', since: LATER });
    await harness.eventually(() => expect(harness.isReady('job')).toBe(false));
    await harness.elapse(60_000);
    expect(harness.owned().get('job')).toEqual(['pool-m001']);
    expect(deleted(harness)).toBe(0);
  });
});

describe('variables from Secrets', () => {
  const TOKEN = { name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'keys', key: 'token' } } };
  const SPARE = { name: 'SPARE', valueFrom: { secretKeyRef: { name: 'none', key: 'x', optional: true } } };
  const metadata = { namespace: 'default', name: 'keys', labels: { 'sandlot.dev/claim-env': 'true' } };
  const value = 'a value that must stay secret';

  it('reach the daemon and appear in no object', async () => {
    await using harness = await started(1);
    harness.api.seed(secrets, { metadata, data: { token: Buffer.from(value).toString('base64') } });
    harness.claim('job', { envs: [TOKEN, SPARE] });
    await harness.eventually(() => expect(harness.isReady('job')).toBe(true));
    expect(daemons.accepted[0]?.envVars).toEqual({ TOKEN: value });
    await harness.elapse(5_000);
    const written = JSON.stringify(harness.api.writes());
    expect(written).not.toContain(value);
    expect(written).not.toContain(Buffer.from(value).toString('base64'));
  });

  it('of an API claim may follow right after it: the claim waits without a report', async () => {
    await using harness = await started(1);
    const labels = { 'sandlot.dev/sandbox-id': 'id1' };
    const claim = { metadata: { namespace: 'default', name: 'id1', labels }, spec: { warmPoolRef: { name: 'pool' } } };
    harness.api.seed(sandboxClaims, { ...claim, spec: { ...claim.spec, envs: [TOKEN] } });
    await harness.elapse(1_000);
    expect(harness.owned().size).toBe(0);
    expect(harness.getStatus('id1').message).toBeUndefined();
    harness.api.seed(secrets, { metadata, data: { token: Buffer.from(value).toString('base64') } });
    await harness.eventually(() => expect(harness.isReady('id1')).toBe(true));
    expect(daemons.accepted[0]?.envVars).toEqual({ TOKEN: value });
  });

  it('of an API claim are reported when their Secret never appears', async () => {
    await using harness = await started(1);
    const labels = { 'sandlot.dev/sandbox-id': 'id1' };
    const spec = { warmPoolRef: { name: 'pool' }, envs: [TOKEN] };
    harness.api.seed(sandboxClaims, { metadata: { namespace: 'default', name: 'id1', labels }, spec });
    await harness.elapse(6_000);
    await harness.eventually(() => expect(harness.getStatus('id1').message).toContain('Secret "keys" does not exist'));
  });

  it('are checked before the claim adopts a Sandbox', async () => {
    await using harness = await started(1);
    harness.api.seed(secrets, { metadata, data: { other: '' } });
    harness.claim('job', { envs: [TOKEN] });
    await harness.eventually(() =>
      expect(harness.getStatus('job').message).toContain('Secret "keys" has no key "token"; add it'),
    );
    expect(harness.owned().size).toBe(0);
    expect(daemons.accepted).toEqual([]);
  });
});
