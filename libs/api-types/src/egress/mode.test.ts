import { describe, expect, it } from 'vitest';
import { template } from '../../test/index.ts';
import type { SandboxTemplateSpec } from '../objects.ts';
import { getEgressMode } from './mode.ts';
import type { EgressMode } from './modes.ts';

const containers = [{ name: 'main', image: 'busybox' }];

describe('the egress mode of a template', () => {
  it.each<[string, Partial<SandboxTemplateSpec>, EgressMode | undefined, EgressMode]>([
    ['is that of the installation', {}, 'OnDemand', 'OnDemand'],
    ['is its own', { egress: { mode: 'Proxied' } }, 'OnDemand', 'Proxied'],
    ['is Direct without a proxy, although it asks for more', { egress: { mode: 'Proxied' } }, undefined, 'Direct'],
    ['is Direct with rules of its own', { networkPolicy: { egress: [] } }, 'Proxied', 'Direct'],
    [
      'is what it asks for with rules of its own',
      { networkPolicy: {}, egress: { mode: 'OnDemand' } },
      'Direct',
      'OnDemand',
    ],
    [
      'is Direct with a DNS of its own',
      { podTemplate: { spec: { containers, dnsPolicy: 'Default' } } },
      'OnDemand',
      'Direct',
    ],
    [
      'is Direct on the network of its node, although it asks for more',
      { podTemplate: { spec: { containers, hostNetwork: true } }, egress: { mode: 'Proxied' } },
      'OnDemand',
      'Direct',
    ],
    [
      'is Direct when nothing manages its NetworkPolicy',
      { networkPolicyManagement: 'Unmanaged' },
      'OnDemand',
      'Direct',
    ],
  ])('%s', (...[, spec, installation, expected]) => {
    expect(getEgressMode(template({ spec }), installation)).toBe(expected);
  });
});
