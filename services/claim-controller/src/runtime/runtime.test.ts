import { sandboxClaims, sandboxes, sandboxTemplates, sandboxWarmPools } from '@sandlot/api-types';
import { secrets } from '@sandlot/kube';
import { envdAccessToken } from '@sandlot/tenancy';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ClaimWorld } from '../../test/harness.ts';
import { Daemons } from '../../test/daemons.ts';

const ADDRESSES = ['127.0.1.1', '127.0.1.2', '127.0.1.3', '127.0.1.4', '127.0.1.5', '127.0.1.6'];
const LATER = '2026-01-01T13:00:00Z';

let daemons: Daemons;
beforeEach(async () => {
  daemons = await Daemons.start(ADDRESSES);
});
afterEach(() => daemons[Symbol.asyncDispose]());

/** With a template that asks for the daemon, and members each with one at an address of its own. */
async function prepared(members: number, { inject = true } = {}): Promise<ClaimWorld> {
  const world = await ClaimWorld.start({ members: 0 });
  world.runtime = daemons.access(world.clock);
  world.api.change(sandboxTemplates, { namespace: 'default', name: 'template' }, ({ spec }) => {
    spec.envVarsInjectionPolicy = 'Allowed';
    spec.runtime = { inject };
  });
  for (const address of ADDRESSES.slice(0, members)) own(world, world.addMember({ address }), address);
  return world;
}

async function started(members: number, how: { readonly inject?: boolean } = {}): Promise<ClaimWorld> {
  const world = await prepared(members, how);
  world.startController('claim-controller', { envsFromSecrets: true });
  await world.watching();
  return world;
}

/** The daemon at the address is that of the Sandbox. */
function own(world: ClaimWorld, name: string, address: string): void {
  daemons.owners.set(address, world.sandbox(name)?.metadata.uid ?? '');
}

const uidOf = (world: ClaimWorld, name: string): string =>
  world.api.object(sandboxes, { namespace: 'default', name })?.metadata.uid ?? '';

describe('a claim on a template with the daemon', () => {
  it('is Ready once the daemon knows its token and variables, for two writes and no cold start', async () => {
    await using world = await started(1);
    world.claim('job', { envs: [{ name: 'RUN_ID', value: '42' }] });
    await world.eventually(() => expect(world.isReady('job')).toBe(true));
    expect(world.owned().get('job')).toEqual(['pool-m001']);
    const [told, ...more] = daemons.told;
    const { claim = '' } = told ?? {};
    expect(told).toEqual({
      address: '127.0.1.1',
      sandboxUid: uidOf(world, 'pool-m001'),
      claim,
      envVars: { RUN_ID: '42' },
      exec: true,
      accessToken: envdAccessToken(daemons.tokenKey, claim),
    });
    expect(more).toEqual([]);
    await world.elapse(60_000);
    expect(world.writes().slice(0, 2)).toEqual(['patch sandboxes', 'patch sandboxclaims/status']);
    expect(world.writes()).toEqual([...world.writes().slice(0, 2), 'patch sandboxclaims']);
    expect(daemons.told).toHaveLength(1);
  });

  it('closes the agent-sandbox API of a sandbox that the E2B API made, and of no other', async () => {
    await using world = await started(2);
    const labels = { 'sandlot.dev/sandbox-id': 'id1' };
    for (const name of ['id1', 'namesake']) {
      const metadata = { namespace: 'default', name, labels };
      world.api.seed(sandboxClaims, { metadata, spec: { warmPoolRef: { name: 'pool' } } });
    }
    await world.eventually(() => expect([world.isReady('id1'), world.isReady('namesake')]).toEqual([true, true]));
    const told = new Map(daemons.told.map(({ sandboxUid, exec }) => [sandboxUid, exec]));
    const execOf = (claim: string) => told.get(uidOf(world, world.owned().get(claim)?.[0] ?? ''));
    expect({ id1: execOf('id1'), namesake: execOf('namesake') }).toEqual({ id1: false, namesake: true });
  });

  it('is not Ready while the daemon does not answer, says why, and is as soon as it does', async () => {
    await using world = await started(1);
    daemons.answer = () => 503;
    world.claim('job');
    await world.eventually(() => expect(world.statusOf('job').sandbox?.name).toBe('pool-m001'));
    await world.eventually(() =>
      expect(world.statusOf('job').conditions?.[0]).toMatchObject({
        status: 'False',
        reason: 'SandboxNotReady',
        message: 'Sandbox is not ready: its runtime refused the initialisation with status 503',
      }),
    );
    daemons.answer = () => 204;
    await world.eventually(() => expect(world.isReady('job')).toBe(true));
    expect(world.owned().get('job')).toEqual(['pool-m001']);
  });

  it('gets another Sandbox when the daemon of the first is lost', async () => {
    await using world = await started(2);
    daemons.answer = ({ address }) => (address === '127.0.1.1' ? 500 : 204);
    world.claim('job', { waitReadyTimeout: '5s' });
    await world.eventually(() => expect(world.isReady('job')).toBe(true));
    expect(world.owned().get('job')).toEqual(['pool-m002']);
    expect(world.sandbox('pool-m001')).toBeUndefined();
    expect(world.eventReasons()).toContain('job SandboxInitFailed');
  });

  it('keeps what failed when it is asked to, and stops after five', async () => {
    await using world = await started(5);
    daemons.answer = () => 500;
    world.claim('job', { reserveFailedSandbox: true, createOnNoStock: false, waitReadyTimeout: '2s' });
    await world.eventually(() => expect(world.statusOf('job').phase).toBe('Failed'));
    expect(world.reasonOf('job')).toBe('SandboxInitFailed');
    expect(world.statusOf('job').message).toContain('its runtime refused the initialisation with status 500');
    const kept = world.api.objects(sandboxes).map(({ metadata }) => metadata.labels?.['sandlot.dev/reserved-failed']);
    expect(kept).toEqual(['true', 'true', 'true', 'true', 'true']);
  });

  it('is told again after a resume, before it is Ready again', async () => {
    await using world = await started(1);
    world.claim('job');
    await world.eventually(() => expect(world.isReady('job')).toBe(true));
    world.makeUnready('pool-m001');
    await world.eventually(() => expect(world.isReady('job')).toBe(false));
    daemons.answer = () => 503;
    own(world, 'pool-m001', '127.0.1.2');
    world.makeReady('pool-m001', { address: '127.0.1.2', since: LATER });
    await world.elapse(60_000);
    expect(world.isReady('job')).toBe(false);
    expect(world.owned().get('job')).toEqual(['pool-m001']);
    daemons.answer = () => 204;
    await world.eventually(() => expect(world.isReady('job')).toBe(true));
    expect(daemons.told.map(({ address }) => address)).toEqual(['127.0.1.1', '127.0.1.2']);
  });

  it('costs a new leader nothing, unless the pod changed while nobody looked', async () => {
    await using world = await prepared(2);
    const leader = world.startController();
    await world.watching();
    world.claim('first');
    world.claim('second');
    await world.eventually(() => expect([world.isReady('first'), world.isReady('second')]).toEqual([true, true]));
    const second = world.owned().get('second')?.[0] ?? '';
    await world.kill(leader);
    world.makeReady(second, { address: '127.0.1.3', since: LATER });
    own(world, second, '127.0.1.3');
    world.startController('successor');
    await world.eventually(() => expect(daemons.told.map(({ address }) => address)).toContain('127.0.1.3'));
    await world.elapse(5_000);
    expect(daemons.told).toHaveLength(3);
  });

  it('is served without the daemon when it asks to', async () => {
    await using world = await started(1);
    world.claim('job', { skipInitRuntime: true });
    await world.eventually(() => expect(world.isReady('job')).toBe(true));
    expect(daemons.told).toEqual([]);
  });

  it('waits for a pod as long as it takes, and for the daemon 30 s', async () => {
    await using world = await started(0);
    world.claim('job');
    await world.eventually(() => expect(world.sandbox('job')).toBeDefined());
    await world.elapse(120_000);
    expect(world.owned().get('job')).toEqual(['job']);
    daemons.answer = () => 500;
    own(world, 'job', '127.0.1.1');
    world.makeReady('job', { address: '127.0.1.1' });
    await world.eventually(() => expect(world.eventReasons()).toContain('job SandboxInitFailed'));
  });

  it('tells every Sandbox of a batch before it is shown', async () => {
    await using world = await started(3);
    daemons.answer = ({ address }) => (address === '127.0.1.3' ? 503 : 204);
    world.claim('batch', { replicas: 3, envs: [{ name: 'A', value: '1' }] });
    await world.eventually(() => expect(world.statusOf('batch').claimedReplicas).toBe(2));
    await world.elapse(2_000);
    expect(world.statusOf('batch').claimedReplicas).toBe(2);
    daemons.answer = () => 204;
    await world.eventually(() => expect(world.isReady('batch')).toBe(true));
    expect(daemons.told.map(({ envVars }) => envVars)).toEqual([{ A: '1' }, { A: '1' }, { A: '1' }]);
  });

  it('passes over a member from before the template had the daemon, if it has variables', async () => {
    await using world = await started(0, { inject: false });
    world.addMember({ address: '127.0.1.1' });
    world.api.change(sandboxTemplates, { namespace: 'default', name: 'template' }, ({ spec }) => {
      spec.runtime = { inject: true };
    });
    await world.elapse(100);
    world.claim('job', { envs: [{ name: 'A', value: '1' }] });
    await world.eventually(() => expect(world.owned().get('job')).toEqual(['job']));
    expect(world.sandbox('job')?.spec.podTemplate.spec.containers[0]?.env).toBeUndefined();
  });

  it('is refused variables that the policy of the template does not allow', async () => {
    await using world = await started(1);
    world.api.change(sandboxTemplates, { namespace: 'default', name: 'template' }, ({ spec }) => {
      spec.envVarsInjectionPolicy = 'Disallowed';
    });
    await world.elapse(100);
    world.claim('job', { envs: [{ name: 'A', value: '1' }] });
    await world.eventually(() => expect(world.reasonOf('job')).toBe('EnvVarsInjectionRejected'));
    expect(world.api.objects(sandboxWarmPools)).toHaveLength(1);
    expect(world.owned().size).toBe(0);
  });
});

describe('variables from Secrets', () => {
  const TOKEN = { name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'keys', key: 'token' } } };
  const SPARE = { name: 'SPARE', valueFrom: { secretKeyRef: { name: 'none', key: 'x', optional: true } } };
  const metadata = { namespace: 'default', name: 'keys', labels: { 'sandlot.dev/claim-env': 'true' } };
  const value = 'a value that nobody may see';

  it('reach the daemon and no object', async () => {
    await using world = await started(1);
    world.api.seed(secrets, { metadata, data: { token: Buffer.from(value).toString('base64') } });
    world.claim('job', { envs: [TOKEN, SPARE] });
    await world.eventually(() => expect(world.isReady('job')).toBe(true));
    expect(daemons.told[0]?.envVars).toEqual({ TOKEN: value });
    await world.elapse(5_000);
    const written = JSON.stringify(world.api.writes());
    expect(written).not.toContain(value);
    expect(written).not.toContain(Buffer.from(value).toString('base64'));
  });

  it('of a claim of the API come right after it: they are waited for, and nothing is reported meanwhile', async () => {
    await using world = await started(1);
    const labels = { 'sandlot.dev/sandbox-id': 'id1' };
    const claim = { metadata: { namespace: 'default', name: 'id1', labels }, spec: { warmPoolRef: { name: 'pool' } } };
    world.api.seed(sandboxClaims, { ...claim, spec: { ...claim.spec, envs: [TOKEN] } });
    await world.elapse(1_000);
    expect(world.owned().size).toBe(0);
    expect(world.statusOf('id1').message).toBeUndefined();
    world.api.seed(secrets, { metadata, data: { token: Buffer.from(value).toString('base64') } });
    await world.eventually(() => expect(world.isReady('id1')).toBe(true));
    expect(daemons.told[0]?.envVars).toEqual({ TOKEN: value });
  });

  it('of a claim of the API that never come are reported', async () => {
    await using world = await started(1);
    const labels = { 'sandlot.dev/sandbox-id': 'id1' };
    const spec = { warmPoolRef: { name: 'pool' }, envs: [TOKEN] };
    world.api.seed(sandboxClaims, { metadata: { namespace: 'default', name: 'id1', labels }, spec });
    await world.elapse(6_000);
    await world.eventually(() => expect(world.statusOf('id1').message).toContain('Secret "keys" does not exist'));
  });

  it('are looked for before a Sandbox is taken', async () => {
    await using world = await started(1);
    world.api.seed(secrets, { metadata, data: { other: '' } });
    world.claim('job', { envs: [TOKEN] });
    await world.eventually(() =>
      expect(world.statusOf('job').message).toContain('Secret "keys" has no key "token"; add it'),
    );
    expect(world.owned().size).toBe(0);
    expect(daemons.told).toEqual([]);
  });
});
