import { nameHash } from '@sandlot/api-types';
import { claim, pool, template } from '@sandlot/api-types/testing';
import { describe, expect, it } from 'vitest';
import { getBlueprintHash, buildColdSandbox, buildMemberSandbox, POD_DEFAULTS } from './index.ts';

const written = template({
  name: 'python',
  spec: {
    podTemplate: {
      metadata: {
        labels: { team: 'a', 'agents.x-k8s.io/claim-uid': 'forged', 'sandlot.dev/x': 'y' },
        annotations: { note: 'n', 'opentelemetry.io/trace-context': 'forged' },
      },
      spec: { containers: [{ name: 'main', image: 'busybox' }] },
    },
    volumeClaimTemplates: [{ metadata: { name: 'work' }, spec: { accessModes: ['ReadWriteOnce'] } }],
    service: true,
    ttlSeconds: 60,
    idle: { suspendAfterSeconds: 5 },
    suspensionStrategy: { type: 'Hibernate', hibernate: { contents: 'Files' } },
  },
});
const OF_PYTHON = {
  'agents.x-k8s.io/sandbox-template-ref': 'python',
  'sandlot.dev/network-policy': 'python-network-policy',
};
const podSpec = {
  containers: [{ name: 'main', image: 'busybox' }],
  automountServiceAccountToken: false,
  dnsPolicy: 'None',
  dnsConfig: { nameservers: ['8.8.8.8', '1.1.1.1'] },
};
const hash = getBlueprintHash(written, POD_DEFAULTS);

describe('a pool member', () => {
  const member = (name = 'fast') =>
    buildMemberSandbox({
      pool: pool({ name, namespace: 'team-a' }),
      template: written,
      defaults: POD_DEFAULTS,
      suffix: 'bcdfg',
    });

  it('carries the labels of its pool and the blueprint of its template, but not its lifecycle', () => {
    expect(member()).toEqual({
      apiVersion: 'agents.x-k8s.io/v1beta1',
      kind: 'Sandbox',
      metadata: {
        name: 'fast-bcdfg',
        namespace: 'team-a',
        labels: {
          'agents.x-k8s.io/warm-pool-sandbox': nameHash('fast'),
          'agents.x-k8s.io/sandbox-template-ref-hash': nameHash('python'),
          'agents.x-k8s.io/sandbox-template-hash': hash,
          'agents.x-k8s.io/sandbox-pod-template-hash': hash,
          'agents.x-k8s.io/created-by': 'controller',
        },
        annotations: { ...OF_PYTHON, 'agents.x-k8s.io/pod-name': 'fast-bcdfg' },
        ownerReferences: [
          {
            apiVersion: 'extensions.agents.x-k8s.io/v1beta1',
            kind: 'SandboxWarmPool',
            name: 'fast',
            uid: 'uid-team-a-fast',
            controller: true,
            blockOwnerDeletion: true,
          },
        ],
      },
      spec: {
        podTemplate: {
          metadata: {
            labels: {
              team: 'a',
              'agents.x-k8s.io/warm-pool-sandbox': nameHash('fast'),
              'agents.x-k8s.io/sandbox-template-ref-hash': nameHash('python'),
              'agents.x-k8s.io/created-by': 'controller',
            },
            annotations: { note: 'n', 'cluster-autoscaler.kubernetes.io/safe-to-evict': 'true' },
          },
          spec: podSpec,
        },
        volumeClaimTemplates: [{ metadata: { name: 'work' }, spec: { accessModes: ['ReadWriteOnce'] } }],
        service: true,
      },
    });
  });

  it.each([
    ['fast', 'fast-bcdfg'],
    ['p'.repeat(57), `${'p'.repeat(57)}-bcdfg`],
    ['p'.repeat(253), `${'p'.repeat(57)}-bcdfg`],
    [`${'p'.repeat(55)}.-tail`, `${'p'.repeat(55)}-bcdfg`],
  ])('of pool %s is named %s, which fits a host name', (name, expected) => {
    expect(member(name).metadata.name).toBe(expected);
    expect(expected.length).toBeLessThanOrEqual(63);
  });

  it('leaves safe-to-evict to a template that sets it', () => {
    const pinned = template({
      spec: {
        podTemplate: {
          metadata: { annotations: { 'cluster-autoscaler.kubernetes.io/safe-to-evict': 'false' } },
          spec: { containers: [] },
        },
      },
    });
    const { spec } = buildMemberSandbox({ pool: pool(), template: pinned, defaults: POD_DEFAULTS, suffix: 'b' });
    expect(spec.podTemplate.metadata?.annotations).toEqual({
      'cluster-autoscaler.kubernetes.io/safe-to-evict': 'false',
    });
  });

  it('needs no NetworkPolicy if its template manages none', () => {
    const open = { ...written, spec: { ...written.spec, networkPolicyManagement: 'Unmanaged' as const } };
    const made = buildMemberSandbox({ pool: pool(), template: open, defaults: POD_DEFAULTS, suffix: 'bcdfg' });
    expect(made.metadata.annotations).not.toHaveProperty(['sandlot.dev/network-policy']);
  });
});

describe('a cold start', () => {
  const job = claim({
    name: 'job',
    metadata: { labels: { 'agents.x-k8s.io/created-by': 'my-tool' } },
    spec: {
      additionalPodMetadata: {
        labels: { 'sandbox.users.io/user': 'ana', 'agents.x-k8s.io/claim-uid': 'forged' },
        annotations: { 'sandlot.dev/suspended-by': 'forged', first: 'run' },
      },
    },
  });

  it('has the name of the claim, which controls it, and the lifecycle of the template', () => {
    expect(buildColdSandbox({ claim: job, template: written, defaults: POD_DEFAULTS })).toEqual({
      apiVersion: 'agents.x-k8s.io/v1beta1',
      kind: 'Sandbox',
      metadata: {
        name: 'job',
        namespace: 'default',
        labels: {
          'agents.x-k8s.io/claim-uid': 'uid-default-job',
          'agents.x-k8s.io/sandbox-template-ref-hash': nameHash('python'),
          'agents.x-k8s.io/launch-type': 'cold',
          'agents.x-k8s.io/created-by': 'my-tool',
        },
        annotations: { ...OF_PYTHON, 'agents.x-k8s.io/pod-name': 'job' },
        ownerReferences: [
          {
            apiVersion: 'extensions.agents.x-k8s.io/v1beta1',
            kind: 'SandboxClaim',
            name: 'job',
            uid: 'uid-default-job',
            controller: true,
            blockOwnerDeletion: true,
          },
        ],
      },
      spec: {
        podTemplate: {
          metadata: {
            labels: {
              team: 'a',
              'sandbox.users.io/user': 'ana',
              'agents.x-k8s.io/created-by': 'unknown',
              'agents.x-k8s.io/sandbox-template-ref-hash': nameHash('python'),
              'agents.x-k8s.io/claim-uid': 'uid-default-job',
            },
            annotations: { note: 'n', first: 'run' },
          },
          spec: podSpec,
        },
        volumeClaimTemplates: [{ metadata: { name: 'work' }, spec: { accessModes: ['ReadWriteOnce'] } }],
        service: true,
        ttlSeconds: 60,
        idle: { suspendAfterSeconds: 5 },
        suspensionStrategy: { type: 'Hibernate', hibernate: { contents: 'Files' } },
      },
    });
  });

  it('starts from the snapshot of its template, as a member does', () => {
    const restoreFrom = { snapshotName: 'trained', onFailure: 'Boot' } as const;
    const from = { template: template({ spec: { restoreFrom } }), defaults: POD_DEFAULTS };
    expect(buildColdSandbox({ claim: job, ...from }).spec.restoreFrom).toEqual(restoreFrom);
    expect(buildColdSandbox({ claim: job, ...from, slot: 1 }).spec.restoreFrom).toEqual(restoreFrom);
    expect(buildMemberSandbox({ pool: pool(), ...from, suffix: 'b' }).spec.restoreFrom).toEqual(restoreFrom);
  });

  it('has the pod spec and the volumes that the claim changed', () => {
    const changed = { containers: [{ name: 'main', image: 'busybox', env: [{ name: 'A', value: 'b' }] }] };
    const volumes = [{ metadata: { name: 'more' }, spec: {} }];
    const input = { claim: job, template: written, defaults: POD_DEFAULTS };
    const { spec } = buildColdSandbox({ ...input, podSpec: changed, volumeClaimTemplates: volumes });
    expect(spec.podTemplate.spec).toEqual(changed);
    expect(spec.volumeClaimTemplates).toEqual(volumes);
  });
});
