import type { PodSpec, SandboxTemplateSpec } from '@sandlot/api-types';
import { template } from '@sandlot/api-types/builders';
import { describe, expect, it } from 'vitest';
import { blueprintOf, POD_DEFAULTS } from './index.ts';
import type { PodDefaults } from './index.ts';

const PUBLIC_DNS = { dnsPolicy: 'None', dnsConfig: { nameservers: ['8.8.8.8', '1.1.1.1'] } };
const TOKENLESS = { automountServiceAccountToken: false };

interface Row {
  readonly spec?: Partial<PodSpec>;
  readonly template?: Partial<SandboxTemplateSpec>;
  readonly defaults?: Partial<PodDefaults>;
}

function podSpecOf({ spec = {}, template: parts = {}, defaults = {} }: Row): PodSpec {
  const podTemplate = { spec: { containers: [{ name: 'main' }], ...spec } };
  return blueprintOf(template({ spec: { podTemplate, ...parts } }), { ...POD_DEFAULTS, ...defaults }).podTemplate.spec;
}

describe('a pod made through a template', () => {
  const containers = [{ name: 'main' }];
  const rows: readonly (readonly [string, Row, Partial<PodSpec>])[] = [
    ['gets no token and resolvers it can reach', {}, { ...TOKENLESS, ...PUBLIC_DNS }],
    [
      'keeps a token that its template asks for',
      { spec: { automountServiceAccountToken: true } },
      { automountServiceAccountToken: true, ...PUBLIC_DNS },
    ],
    [
      'keeps the DNS policy of its template',
      { spec: { dnsPolicy: 'ClusterFirst' } },
      { ...TOKENLESS, dnsPolicy: 'ClusterFirst' },
    ],
    [
      'keeps what else its template says about DNS',
      { spec: { dnsConfig: { searches: ['corp'] } } },
      { ...TOKENLESS, dnsPolicy: 'None', dnsConfig: { searches: ['corp'], nameservers: ['8.8.8.8', '1.1.1.1'] } },
    ],
    [
      'uses the cluster DNS when nobody manages its network',
      { template: { networkPolicyManagement: 'Unmanaged' } },
      TOKENLESS,
    ],
    ['uses the cluster DNS when its template has network rules', { template: { networkPolicy: {} } }, TOKENLESS],
    ['uses the cluster DNS when the installation names no resolvers', { defaults: { dnsNameservers: [] } }, TOKENLESS],
  ];
  it.each(rows)('%s', (_, row, expected) => {
    expect(podSpecOf(row)).toEqual({ containers, ...expected });
  });
});

describe('a hardened pod', () => {
  const hardened = { securityDefaults: 'Hardened', dnsNameservers: [] } as const;
  const confined = { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } };

  it('is confined in every field that its template leaves open', () => {
    const spec = { initContainers: [{ name: 'init' }] };
    expect(podSpecOf({ spec, defaults: { ...hardened, runtimeClassName: 'gvisor' } })).toEqual({
      ...TOKENLESS,
      enableServiceLinks: false,
      securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
      runtimeClassName: 'gvisor',
      containers: [{ name: 'main', securityContext: confined }],
      initContainers: [{ name: 'init', securityContext: confined }],
    });
  });

  it('keeps every field that its template sets', () => {
    const set = {
      containers: [
        {
          name: 'main',
          securityContext: { allowPrivilegeEscalation: true, capabilities: { add: ['NET_ADMIN'] }, runAsUser: 0 },
        },
      ],
      securityContext: { seccompProfile: { type: 'Unconfined' } },
      enableServiceLinks: true,
      runtimeClassName: 'kata',
      automountServiceAccountToken: true,
    };
    expect(podSpecOf({ spec: set, defaults: { ...hardened, runtimeClassName: 'gvisor' } })).toEqual(set);
  });

  it.each([
    ['Compat', 'Hardened', true],
    ['Hardened', 'Compat', false],
    ['Hardened', undefined, true],
    ['Compat', undefined, false],
  ] as const)('under %s with a template that says %s: %s', (installed, stated, expected) => {
    const spec = podSpecOf({
      defaults: { securityDefaults: installed },
      template: stated === undefined ? {} : { securityDefaults: stated },
    });
    expect(spec.securityContext !== undefined).toBe(expected);
  });
});
