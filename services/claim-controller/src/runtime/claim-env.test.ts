import { sandboxTemplates } from '@sandlot/api-types';
import { secrets } from '@sandlot/kube';
import { describe, expect, it } from 'vitest';
import { ClaimWorld } from '../../test/harness.ts';

async function started(options: { readonly envsFromSecrets?: boolean } = {}): Promise<ClaimWorld> {
  const world = await ClaimWorld.start({ members: 2 });
  world.api.change(sandboxTemplates, { namespace: 'default', name: 'template' }, ({ spec }) => {
    spec.envVarsInjectionPolicy = 'Allowed';
  });
  world.startController('claim-controller', { envsFromSecrets: options.envsFromSecrets ?? false });
  await world.watching();
  return world;
}

const TOKEN = { name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'keys', key: 'token' } } };
const variablesOf = (world: ClaimWorld): unknown => world.sandbox('job')?.spec.podTemplate.spec.containers[0]?.env;

describe('envs of a claim whose template has no runtime', () => {
  it('become variables of a cold start, although there is stock', async () => {
    await using world = await started();
    world.claim('job', { envs: [{ name: 'RUN_ID', value: '42' }] });
    await world.eventually(() => expect(variablesOf(world)).toEqual([{ name: 'RUN_ID', value: '42' }]));
  });

  it('obey the policy of the template', async () => {
    await using world = await started();
    world.claim('job', { envs: [{ name: 'A', value: '1' }], env: [{ name: 'A', value: '2' }] });
    await world.eventually(() => expect(world.reasonOf('job')).toBe('EnvVarsInjectionRejected'));
  });

  it('go to every Sandbox of a batch', async () => {
    await using world = await started();
    world.claim('batch', { replicas: 2, envs: [{ name: 'RUN_ID', value: '42' }] });
    await world.eventually(() => expect(world.statusOf('batch').claimedReplicas).toBe(2));
    for (const slot of [0, 1]) {
      const { containers } = world.sandbox(`batch-${slot}`)?.spec.podTemplate.spec ?? { containers: [] };
      expect(containers[0]?.env).toEqual([{ name: 'RUN_ID', value: '42' }]);
    }
  });

  it('from Secrets are refused unless the installation allows them, and the message says how', async () => {
    await using world = await started();
    world.claim('job', { envs: [TOKEN] });
    await world.eventually(() => expect(world.reasonOf('job')).toBe('EnvVarsInjectionRejected'));
    expect(world.statusOf('job').message).toContain('claimController.envsFromSecrets=true');
  });

  it('from Secrets refer to a Secret that is there and open to claims, and never hold its value', async () => {
    await using world = await started({ envsFromSecrets: true });
    world.claim('job', { envs: [TOKEN] });
    await world.eventually(() => expect(world.statusOf('job').message).toContain('Secret "keys" does not exist'));
    const data = { token: 'aHVzaA==' };
    world.api.seed(secrets, { metadata: { namespace: 'default', name: 'keys' }, data });
    await world.eventually(() =>
      expect(world.statusOf('job').message).toContain('Secret "keys" is not open to claims'),
    );
    expect(world.sandbox('job')).toBeUndefined();
    world.api.change(secrets, { namespace: 'default', name: 'keys' }, ({ metadata }) => {
      metadata.labels = { 'sandlot.dev/claim-env': 'true' };
    });
    await world.eventually(() => expect(variablesOf(world)).toEqual([TOKEN]));
    expect(JSON.stringify(world.sandbox('job'))).not.toContain(data.token);
  });

  it('need no Secret that may be missing', async () => {
    await using world = await started({ envsFromSecrets: true });
    const optional = { name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'keys', key: 'token', optional: true } } };
    world.claim('job', { envs: [optional] });
    await world.eventually(() => expect(variablesOf(world)).toEqual([optional]));
  });
});
