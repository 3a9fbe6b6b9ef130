import { sandboxTemplates } from '@sandlot/api-types';
import { secrets } from '@sandlot/kube';
import { describe, expect, it } from 'vitest';
import { ClaimHarness } from '../../test/harness.ts';

async function started(options: { readonly envsFromSecrets?: boolean } = {}): Promise<ClaimHarness> {
  const harness = await ClaimHarness.start({ members: 2 });
  harness.api.change(sandboxTemplates, { namespace: 'default', name: 'template' }, ({ spec }) => {
    spec.envVarsInjectionPolicy = 'Allowed';
  });
  harness.startController('claim-controller', { envsFromSecrets: options.envsFromSecrets ?? false });
  await harness.watching();
  return harness;
}

const TOKEN = { name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'keys', key: 'token' } } };
const getVariables = (harness: ClaimHarness): unknown =>
  harness.sandbox('job')?.spec.podTemplate.spec.containers[0]?.env;

describe('envs of a claim whose template has no runtime', () => {
  it('become variables of a cold start, although there is stock', async () => {
    await using harness = await started();
    harness.claim('job', { envs: [{ name: 'RUN_ID', value: '42' }] });
    await harness.eventually(() => expect(getVariables(harness)).toEqual([{ name: 'RUN_ID', value: '42' }]));
  });

  it('obey the policy of the template', async () => {
    await using harness = await started();
    harness.claim('job', { envs: [{ name: 'A', value: '1' }], env: [{ name: 'A', value: '2' }] });
    await harness.eventually(() => expect(harness.findReason('job')).toBe('EnvVarsInjectionRejected'));
  });

  it('reach every Sandbox of a batch', async () => {
    await using harness = await started();
    harness.claim('batch', { replicas: 2, envs: [{ name: 'RUN_ID', value: '42' }] });
    await harness.eventually(() => expect(harness.getStatus('batch').claimedReplicas).toBe(2));
    for (const slot of [0, 1]) {
      const { containers } = harness.sandbox(`batch-${slot}`)?.spec.podTemplate.spec ?? { containers: [] };
      expect(containers[0]?.env).toEqual([{ name: 'RUN_ID', value: '42' }]);
    }
  });

  it('from Secrets are refused unless the installation allows them, and the message says how to allow them', async () => {
    await using harness = await started();
    harness.claim('job', { envs: [TOKEN] });
    await harness.eventually(() => expect(harness.findReason('job')).toBe('EnvVarsInjectionRejected'));
    expect(harness.getStatus('job').message).toContain('claimController.envsFromSecrets=true');
  });

  it('from Secrets become references to a Secret that is open to claims, and never hold its value', async () => {
    await using harness = await started({ envsFromSecrets: true });
    harness.claim('job', { envs: [TOKEN] });
    await harness.eventually(() => expect(harness.getStatus('job').message).toContain('Secret "keys" does not exist'));
    const data = { token: 'aHVzaA==' };
    harness.api.seed(secrets, { metadata: { namespace: 'default', name: 'keys' }, data });
    await harness.eventually(() =>
      expect(harness.getStatus('job').message).toContain('Secret "keys" is not open to claims'),
    );
    expect(harness.sandbox('job')).toBeUndefined();
    harness.api.change(secrets, { namespace: 'default', name: 'keys' }, ({ metadata }) => {
      metadata.labels = { 'sandlot.dev/claim-env': 'true' };
    });
    await harness.eventually(() => expect(getVariables(harness)).toEqual([TOKEN]));
    expect(JSON.stringify(harness.sandbox('job'))).not.toContain(data.token);
  });

  it('may refer to an optional Secret that is missing', async () => {
    await using harness = await started({ envsFromSecrets: true });
    const optional = { name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'keys', key: 'token', optional: true } } };
    harness.claim('job', { envs: [optional] });
    await harness.eventually(() => expect(getVariables(harness)).toEqual([optional]));
  });
});
