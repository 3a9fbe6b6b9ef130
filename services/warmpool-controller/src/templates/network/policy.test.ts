import { template } from '@sandlot/api-types/testing';
import { describe, expect, it } from 'vitest';
import { buildRules, buildTemplatePolicy } from './policy.ts';
import { NETWORK } from '../../../test/template-harness.ts';

const EXCEPT_IPV4 = [
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '169.254.0.0/16',
  '0.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
];
const EXCEPT_IPV6 = [
  'fc00::/7',
  'fe80::/10',
  '::/8',
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '100::/64',
  '2001::/32',
  '2001:db8::/32',
  '2002::/16',
  'fec0::/10',
  'ff00::/8',
];

const metadata = {
  namespace: 'default',
  name: 'python-agent-network-policy',
  labels: { 'sandlot.dev/protects': 'template' },
  annotations: { 'sandlot.dev/template-uid': 'uid-default-python-agent' },
  ownerReferences: [],
};
const selected = {
  podSelector: {
    matchLabels: { 'agents.x-k8s.io/sandbox-template-ref-hash': 'b713719b' },
    matchExpressions: [{ key: 'sandlot.dev/network', operator: 'DoesNotExist' }],
  },
  policyTypes: ['Ingress', 'Egress'],
};
const fromRelease = (component: string) => ({
  namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'sandlot-system' } },
  podSelector: { matchLabels: { 'app.kubernetes.io/component': component } },
});

describe('the NetworkPolicy of a template', () => {
  const getPolicy = (spec: Parameters<typeof template>[0], network = NETWORK) => {
    const made = template({ name: 'python-agent', ...spec });
    return buildTemplatePolicy(made, buildRules(made, network));
  };

  it('admits no Pod by its labels alone, which the Pods of any template may have', () => {
    const { ingress } = getPolicy({}).spec;
    expect(ingress.length).toBeGreaterThan(0);
    for (const { from = [] } of ingress) {
      // A rule without peers admits everyone.
      expect(from.length).toBeGreaterThan(0);
      for (const { namespaceSelector } of from)
        expect(Object.keys(namespaceSelector?.matchLabels ?? {})).toEqual(['kubernetes.io/metadata.name']);
    }
  });

  it('admits the router, the gateway and the claim-controller, and allows egress to the internet', () => {
    expect(getPolicy({})).toEqual({
      metadata,
      spec: {
        ...selected,
        ingress: [
          {
            from: [
              {
                namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'agent-sandbox-system' } },
                podSelector: { matchLabels: { app: 'sandbox-router' } },
              },
              fromRelease('gateway'),
            ],
          },
          { from: [fromRelease('claim-controller')], ports: [{ port: 49983, protocol: 'TCP' }] },
        ],
        egress: [
          {
            to: [
              { ipBlock: { cidr: '0.0.0.0/0', except: EXCEPT_IPV4 } },
              { ipBlock: { cidr: '::/0', except: EXCEPT_IPV6 } },
            ],
          },
        ],
      },
    });
  });

  it('blocks the extra CIDRs of each family once, and adds the extra egress rules', () => {
    const extraBlockedCIDRs = ['34.118.224.0/20', '10.0.0.0/8', '2600:1900::/28'];
    const extraEgress = [{ to: [{ ipBlock: { cidr: '10.0.0.10/32' } }], ports: [{ port: 53, protocol: 'UDP' }] }];
    expect(getPolicy({}, { ...NETWORK, extraBlockedCIDRs, extraEgress }).spec.egress).toEqual([
      {
        to: [
          { ipBlock: { cidr: '0.0.0.0/0', except: [...EXCEPT_IPV4, '34.118.224.0/20'] } },
          { ipBlock: { cidr: '::/0', except: [...EXCEPT_IPV6, '2600:1900::/28'] } },
        ],
      },
      ...extraEgress,
    ]);
  });

  it('has the rules of its template as given, without those of the installation', () => {
    const networkPolicy = { ingress: [{}], egress: [{ ports: [{ port: 443 }] }] };
    const extraEgress = [{ ports: [{ port: 53 }] }];
    expect(getPolicy({ spec: { networkPolicy } }, { ...NETWORK, extraEgress })).toEqual({
      metadata,
      spec: { ...selected, ...networkPolicy },
    });
  });

  it.each([
    ['no list', {}],
    ['empty lists', { ingress: [], egress: [] }],
  ])('denies everything to a template with rules and %s', (_, networkPolicy) => {
    expect(getPolicy({ spec: { networkPolicy } }).spec).toEqual({ ...selected, ingress: [], egress: [] });
  });
});
