import { claim, pool, template } from '@sandlot/api-types/testing';
import type { Container, PodSpec, SandboxTemplateSpec } from '@sandlot/api-types';
import { describe, expect, it } from 'vitest';
import { buildColdSandbox, buildMemberSandbox, createCurrencyTest, getBlueprintHash, POD_DEFAULTS } from './index.ts';
import type { PodDefaults } from './index.ts';

const ON_DEMAND: PodDefaults = { ...POD_DEFAULTS, egressMode: 'OnDemand' };
const LABEL = 'sandlot.dev/egress';

function buildPodSpec(spec: Partial<SandboxTemplateSpec>, defaults = ON_DEMAND): PodSpec {
  return buildMemberSandbox({ pool: pool(), template: template({ spec }), defaults, suffix: 'bcdfg' }).spec.podTemplate
    .spec;
}

function dropOf(container: Partial<Container>): unknown {
  const podTemplate = { spec: { containers: [{ name: 'main', image: 'busybox', ...container }] } };
  return buildPodSpec({ podTemplate }).containers[0]?.securityContext?.capabilities;
}

describe('a Sandbox of a template that leads names to the egress proxy', () => {
  it('has the label, in a pool and cold', () => {
    const made = buildMemberSandbox({ pool: pool(), template: template(), defaults: ON_DEMAND, suffix: 'bcdfg' });
    const cold = buildColdSandbox({ claim: claim(), template: template(), defaults: ON_DEMAND });
    expect([made, cold].map(({ metadata }) => metadata.labels?.[LABEL])).toEqual(['steered', 'steered']);
  });

  it('has no search list, and name servers in whose place the resolver comes', () => {
    expect(buildPodSpec({})).toMatchObject({ dnsPolicy: 'None', dnsConfig: { nameservers: ['8.8.8.8', '1.1.1.1'] } });
    expect(buildPodSpec({}, { ...ON_DEMAND, dnsNameservers: [] }).dnsConfig?.nameservers).toEqual(['127.0.0.1']);
  });

  it('has another blueprint than before, so pools replace their members', () => {
    expect(getBlueprintHash(template(), ON_DEMAND)).not.toBe(getBlueprintHash(template(), POD_DEFAULTS));
    const before = buildMemberSandbox({ pool: pool(), template: template(), defaults: POD_DEFAULTS, suffix: 'bcdfg' });
    expect(createCurrencyTest(ON_DEMAND)(before, template())).toBe(false);
  });

  it('cannot send raw packets', () => {
    expect(dropOf({})).toEqual({ drop: ['NET_RAW'] });
    expect(
      dropOf({ securityContext: { capabilities: { add: ['NET_RAW', 'CAP_NET_RAW', 'SYS_PTRACE'], drop: ['MKNOD'] } } }),
    ).toEqual({ add: ['SYS_PTRACE'], drop: ['MKNOD', 'NET_RAW'] });
    expect(dropOf({ securityContext: { capabilities: { drop: ['ALL'] } } })).toEqual({ drop: ['ALL'] });
  });

  it('drops all capabilities where its template is hardened', () => {
    const [container] = buildPodSpec({ securityDefaults: 'Hardened' }).containers;
    expect(container?.securityContext?.capabilities).toEqual({ drop: ['ALL'] });
  });

  it('keeps a privileged container as it is, which the API server would refuse otherwise', () => {
    expect(dropOf({ securityContext: { privileged: true } })).toBeUndefined();
  });
});

describe('a Sandbox of the template of a snapshot', () => {
  it('asks the resolver as the Sandbox that was saved did, with the same Pod', () => {
    const saved = buildPodSpec({});
    const second = template({ spec: { podTemplate: { spec: saved } } });
    const made = buildMemberSandbox({ pool: pool(), template: second, defaults: ON_DEMAND, suffix: 'bcdfg' });
    expect(made.metadata.labels?.[LABEL]).toBe('steered');
    expect(made.spec.podTemplate.spec).toEqual(saved);
  });
});

describe('a Sandbox of a template that is Direct', () => {
  it('has neither the label nor the DNS of the proxy', () => {
    const direct = template({ spec: { egress: { mode: 'Direct' } } });
    const made = buildMemberSandbox({ pool: pool(), template: direct, defaults: ON_DEMAND, suffix: 'bcdfg' });
    expect(made.metadata.labels).not.toHaveProperty([LABEL]);
    expect(made.spec.podTemplate.spec.dnsConfig).toEqual({ nameservers: ['8.8.8.8', '1.1.1.1'] });
  });
});
