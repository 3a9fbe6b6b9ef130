import type { Sandbox, SandboxTemplate, SandboxTemplateSpec } from '@sandlot/api-types';
import { pool, template } from '@sandlot/api-types/testing';
import { describe, expect, it } from 'vitest';
import { createCurrencyTest, buildMemberSandbox, POD_DEFAULTS } from './index.ts';

const containers = [{ name: 'main', image: 'busybox', resources: { requests: { memory: '1Gi' } } }];
const volume = (storage: string) => ({
  metadata: { name: 'work' },
  spec: { resources: { requests: { storage } } },
});
const base: Partial<SandboxTemplateSpec> = {
  podTemplate: { spec: { containers } },
  volumeClaimTemplates: [volume('1Gi')],
};
const changedTo = (spec: Partial<SandboxTemplateSpec>): SandboxTemplate => template({ spec: { ...base, ...spec } });
const member: Sandbox = buildMemberSandbox({
  pool: pool(),
  template: changedTo({}),
  defaults: POD_DEFAULTS,
  suffix: 'bcdfg',
});

describe('a member', () => {
  const rows: readonly (readonly [string, SandboxTemplate, boolean])[] = [
    ['is current while the template does not change', changedTo({}), true],
    ['is stale when the image changes', changedTo(image('debian')), false],
    ['is stale when its volume changes', changedTo({ volumeClaimTemplates: [volume('2Gi')] }), false],
    ['is stale when a volume is added', changedTo({ volumeClaimTemplates: [volume('1Gi'), volume('1Gi')] }), false],
    ['is stale when the template asks for a Service', changedTo({ service: true }), false],
    ['is stale when the template injects a runtime', changedTo({ runtime: { inject: true } }), false],
    ['is stale when the template names a snapshot', changedTo({ restoreFrom: { snapshotName: 'trained' } }), false],
    ['is stale when the secure defaults change', changedTo({ securityDefaults: 'Hardened' }), false],
    ['is stale when the pool switches to another template', template({ name: 'other', spec: base }), false],
    ['is current when only metadata changes', changedTo(labelled({ team: 'b' })), true],
    ['is current when the lifecycle changes', changedTo({ ttlSeconds: 5, idle: { suspendAfterSeconds: 9 } }), true],
    ['is current when a policy changes', changedTo({ envVarsInjectionPolicy: 'Allowed' }), true],
    ['is current when an amount is only written differently', changedTo(memory('1024Mi')), true],
    ['is current when a default is spelled out', changedTo({ podTemplate: spelledOut() }), true],
  ];
  it.each(rows)('%s', (_, changed, expected) => {
    expect(createCurrencyTest(POD_DEFAULTS)(member, changed)).toBe(expected);
  });

  it('with a hash of another writer is compared by meaning', () => {
    const labels = { ...member.metadata.labels, 'agents.x-k8s.io/sandbox-template-hash': 'otherhash' };
    const foreign = { ...member, metadata: { ...member.metadata, labels } };
    const isCurrent = createCurrencyTest(POD_DEFAULTS);
    expect(isCurrent(foreign, changedTo({}))).toBe(true);
    expect(isCurrent(foreign, changedTo(image('debian')))).toBe(false);
  });

  it('is stale when the template names another snapshot, and current while it names the same', () => {
    const from = (snapshotName: string): SandboxTemplate => changedTo({ restoreFrom: { snapshotName } });
    const restored = buildMemberSandbox({ pool: pool(), template: from('a'), defaults: POD_DEFAULTS, suffix: 'bcdfg' });
    const isCurrent = createCurrencyTest(POD_DEFAULTS);
    expect([from('a'), from('b'), changedTo({})].map((now) => isCurrent(restored, now))).toEqual([true, false, false]);
  });

  it('is stale when agent-sandbox removed its daemon, although its hash is that of the template', () => {
    const injecting = changedTo({ runtime: { inject: true } });
    const made = buildMemberSandbox({ pool: pool(), template: injecting, defaults: POD_DEFAULTS, suffix: 'bcdfg' });
    const stripped = { ...made, spec: { ...made.spec, runtime: undefined } };
    const isCurrent = createCurrencyTest(POD_DEFAULTS);
    expect([isCurrent(made, injecting), isCurrent(stripped, injecting)]).toEqual([true, false]);
  });

  it('is judged under the defaults of the installation', () => {
    const elsewhere = createCurrencyTest({ ...POD_DEFAULTS, dnsNameservers: ['9.9.9.9'] });
    expect(elsewhere(member, changedTo({}))).toBe(false);
  });
});

function image(name: string): Partial<SandboxTemplateSpec> {
  return { podTemplate: { spec: { containers: [{ ...containers[0], name: 'main', image: name }] } } };
}

function memory(amount: string): Partial<SandboxTemplateSpec> {
  const resources = { requests: { memory: amount } };
  return { podTemplate: { spec: { containers: [{ name: 'main', image: 'busybox', resources }] } } };
}

function labelled(labels: Record<string, string>): Partial<SandboxTemplateSpec> {
  return { podTemplate: { metadata: { labels }, spec: { containers } } };
}

function spelledOut(): SandboxTemplateSpec['podTemplate'] {
  return { spec: { containers, restartPolicy: 'Always', terminationGracePeriodSeconds: 30 } };
}
