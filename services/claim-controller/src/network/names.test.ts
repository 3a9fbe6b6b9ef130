import { sandboxTemplates, sandboxWarmPools } from '@sandlot/api-types';
import { buildTemplateNetwork, pool, template } from '@sandlot/api-types/testing';
import type { SandboxTemplateSpec } from '@sandlot/api-types';
import { POD_DEFAULTS } from '@sandlot/blueprint';
import { networkPolicies } from '@sandlot/kube';
import { describe, expect, it } from 'vitest';
import { ClaimHarness, PROXY_RULE } from '../../test/harness.ts';

const NAMES = { 'sandlot.dev/network': '{"denyOut":["0.0.0.0/0"],"allowOut":["example.com","1.1.1.1"]}' };
const ON_DEMAND = { ...POD_DEFAULTS, egressMode: 'OnDemand' } as const;
const PUBLIC = { to: [{ ipBlock: { cidr: '0.0.0.0/0', except: ['10.0.0.0/8'] } }] };

/** A template, and the policy that the warmpool-controller writes for it. */
async function start(spec: Partial<SandboxTemplateSpec> = {}): Promise<ClaimHarness> {
  const harness = await ClaimHarness.start({ secured: false });
  const written = template({ spec });
  const { status, policy } = buildTemplateNetwork(written);
  const rules = { podSelector: {}, policyTypes: ['Ingress', 'Egress'], egress: [PUBLIC, PROXY_RULE] };
  harness.api.seed(networkPolicies, { ...policy, spec: rules });
  harness.api.seed(sandboxTemplates, { ...written, status });
  harness.api.seed(sandboxWarmPools, pool());
  return harness;
}

describe('a claim that lists names', () => {
  it('reaches the proxy and its addresses alone', async () => {
    await using harness = await start();
    harness.podDefaults = ON_DEMAND;
    const member = harness.addMember();
    harness.startController();
    await harness.watching();
    harness.claim('job', {}, NAMES);
    await harness.eventually(() => expect(harness.owned().get('job')).toEqual([member]));
    const policy = harness.api.object(networkPolicies, { namespace: 'default', name: 'job-network' });
    expect(policy?.spec?.egress).toEqual([{ to: [{ ipBlock: { cidr: '1.1.1.1/32' } }] }, PROXY_RULE]);
  });

  it('gets no member that does not ask the egress resolver, but a cold Sandbox that does', async () => {
    await using harness = await start();
    const before = harness.addMember();
    harness.podDefaults = ON_DEMAND;
    harness.startController();
    await harness.watching();
    harness.claim('job', {}, NAMES);
    await harness.eventually(() => expect(harness.owned().get('job')).toEqual(['job']));
    expect(harness.sandbox('job')?.metadata.labels).toMatchObject({ 'sandlot.dev/egress': 'steered' });
    harness.claim('other');
    await harness.eventually(() => expect(harness.owned().get('other')).toEqual([before]));
  });

  it.each([
    ['where the installation has no proxy', {}, POD_DEFAULTS, 'egress.enabled=true'],
    ['where its template is Direct', { egress: { mode: 'Direct' } }, ON_DEMAND, 'SandboxTemplate "template"'],
  ] as const)('is refused %s, before it takes a Sandbox', async (...[, spec, defaults, words]) => {
    await using harness = await start(spec);
    harness.podDefaults = defaults;
    harness.addMember();
    harness.startController();
    harness.claim('job', {}, NAMES);
    await harness.eventually(() => expect(harness.findReason('job')).toBe('EgressNotAvailable'));
    expect(
      harness
        .getStatus('job')
        .conditions?.map(({ message }) => message)
        .join(),
    ).toContain(words);
    expect(harness.owned().get('job')).toBeUndefined();
  });
});
