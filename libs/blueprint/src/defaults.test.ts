import type { PodSpec, SandboxTemplateSpec } from '@sandlot/api-types';
import { template } from '@sandlot/api-types/testing';
import { describe, expect, it } from 'vitest';
import { buildBlueprint, POD_DEFAULTS } from './index.ts';
import type { PodDefaults } from './index.ts';

const PUBLIC_DNS = { dnsPolicy: 'None', dnsConfig: { nameservers: ['8.8.8.8', '1.1.1.1'] } };
const TOKENLESS = { automountServiceAccountToken: false };

interface Row {
  readonly spec?: Partial<PodSpec>;
  readonly template?: Partial<SandboxTemplateSpec>;
  readonly defaults?: Partial<PodDefaults>;
}

function getPodSpec({ spec = {}, template: parts = {}, defaults = {} }: Row): PodSpec {
  const podTemplate = { spec: { containers: [{ name: 'main' }], ...spec } };
  return buildBlueprint(template({ spec: { podTemplate, ...parts } }), { ...POD_DEFAULTS, ...defaults }).podTemplate
    .spec;
}

describe('a pod of a template', () => {
  const containers = [{ name: 'main' }];
  const rows: readonly (readonly [string, Row, Partial<PodSpec>])[] = [
    ['gets no token, and resolvers that it can reach', {}, { ...TOKENLESS, ...PUBLIC_DNS }],
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
      'keeps the other DNS settings of its template',
      { spec: { dnsConfig: { searches: ['corp'] } } },
      { ...TOKENLESS, dnsPolicy: 'None', dnsConfig: { searches: ['corp'], nameservers: ['8.8.8.8', '1.1.1.1'] } },
    ],
    [
      'uses the cluster DNS when its network is unmanaged',
      { template: { networkPolicyManagement: 'Unmanaged' } },
      TOKENLESS,
    ],
    ['uses the cluster DNS when its template has network rules', { template: { networkPolicy: {} } }, TOKENLESS],
    [
      'keeps name servers of its template',
      { spec: { dnsConfig: { nameservers: ['9.9.9.9'] } } },
      { ...TOKENLESS, dnsPolicy: 'None', dnsConfig: { nameservers: ['9.9.9.9'] } },
    ],
    [
      'gets neither resources nor a runtime class from the installation',
      { defaults: { resources: { limits: { cpu: '1' } }, runtimeClassName: 'gvisor', dnsNameservers: [] } },
      TOKENLESS,
    ],
    ['uses the cluster DNS when the installation names no resolvers', { defaults: { dnsNameservers: [] } }, TOKENLESS],
  ];
  it.each(rows)('%s', (_, row, expected) => {
    expect(getPodSpec(row)).toEqual({ containers, ...expected });
  });
});

describe('a hardened pod', () => {
  const hardened = { securityDefaults: 'Hardened', dnsNameservers: [] } as const;
  const confined = { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } };

  it('is hardened in every field that its template leaves unset', () => {
    const spec = { initContainers: [{ name: 'init' }] };
    expect(getPodSpec({ spec, defaults: { ...hardened, runtimeClassName: 'gvisor' } })).toEqual({
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
          securityContext: { allowPrivilegeEscalation: true, capabilities: { drop: ['KILL'] }, runAsUser: 0 },
        },
      ],
      securityContext: { seccompProfile: { type: 'Unconfined' } },
      enableServiceLinks: true,
      runtimeClassName: 'kata',
      automountServiceAccountToken: true,
    };
    expect(getPodSpec({ spec: set, defaults: { ...hardened, runtimeClassName: 'gvisor' } })).toEqual(set);
  });

  type Context = NonNullable<PodSpec['containers'][number]['securityContext']>;
  const contexts: readonly (readonly [string, Context, Context])[] = [
    [
      'drops all capabilities but those that its template adds',
      { capabilities: { add: ['NET_ADMIN'] } },
      { ...confined, capabilities: { add: ['NET_ADMIN'], drop: ['ALL'] } },
    ],
    [
      'keeps all capabilities that its template adds as ALL',
      { capabilities: { add: ['ALL'] } },
      { allowPrivilegeEscalation: false, capabilities: { add: ['ALL'] } },
    ],
    ['stays wholly privileged, because the API server refuses half of it', { privileged: true }, { privileged: true }],
    [
      'may escalate with CAP_SYS_ADMIN, because the API server demands it',
      { capabilities: { add: ['CAP_SYS_ADMIN'] } },
      { capabilities: { add: ['CAP_SYS_ADMIN'], drop: ['ALL'] } },
    ],
    [
      'keeps the other settings of its template',
      { runAsNonRoot: true, readOnlyRootFilesystem: true },
      { ...confined, runAsNonRoot: true, readOnlyRootFilesystem: true },
    ],
  ];
  it.each(contexts)('has a container that %s', (_, securityContext, expected) => {
    const { containers, initContainers } = getPodSpec({
      spec: { containers: [{ name: 'main', securityContext }], initContainers: [{ name: 'init', securityContext }] },
      defaults: hardened,
    });
    expect([containers[0]?.securityContext, initContainers?.[0]?.securityContext]).toEqual([expected, expected]);
  });

  it('gets no field on Windows that the API server refuses there', () => {
    const spec = getPodSpec({ spec: { os: { name: 'windows' } }, defaults: hardened });
    expect(spec).toEqual({
      ...TOKENLESS,
      os: { name: 'windows' },
      enableServiceLinks: false,
      containers: [{ name: 'main' }],
    });
  });

  const resources = { requests: { cpu: '100m', memory: '64Mi' }, limits: { memory: '256Mi' } };
  type Resources = PodSpec['containers'][number]['resources'];
  const amounts: readonly (readonly [string, Resources, Resources])[] = [
    ['states no resources', undefined, resources],
    ['states a request', { requests: { memory: '1Gi' } }, { requests: { cpu: '100m', memory: '1Gi' } }],
    ['states a limit', { limits: { memory: '32Mi' } }, { requests: { cpu: '100m' }, limits: { memory: '32Mi' } }],
    [
      'states another resource',
      { limits: { 'nvidia.com/gpu': 1 } },
      { ...resources, limits: { memory: '256Mi', 'nvidia.com/gpu': 1 } },
    ],
    ['states both amounts of all', { requests: { cpu: 1, memory: '1Gi' } }, { requests: { cpu: 1, memory: '1Gi' } }],
  ];
  it.each(amounts)('has the resources of the installation where a container %s', (_, given, expected) => {
    const container = given === undefined ? { name: 'main' } : { name: 'main', resources: given };
    const { containers, initContainers } = getPodSpec({
      spec: { containers: [container], initContainers: [container] },
      defaults: { ...hardened, resources },
    });
    expect([containers[0]?.resources, initContainers?.[0]?.resources]).toEqual([expected, expected]);
  });

  it('gets no resources of the installation when its template sets resources of the whole pod', () => {
    const spec = { resources: { limits: { memory: '1Gi' } } };
    const { containers } = getPodSpec({ spec, defaults: { ...hardened, resources } });
    expect(containers[0]?.resources).toBeUndefined();
  });

  it.each([
    ['Compat', 'Hardened', true],
    ['Hardened', 'Compat', false],
    ['Hardened', undefined, true],
    ['Compat', undefined, false],
  ] as const)('under %s with a template that says %s: %s', (installed, stated, expected) => {
    const spec = getPodSpec({
      defaults: { securityDefaults: installed },
      template: stated === undefined ? {} : { securityDefaults: stated },
    });
    expect(spec.securityContext !== undefined).toBe(expected);
  });
});
