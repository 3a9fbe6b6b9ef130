import { nameHash } from '@sandlot/std';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hashBlueprint, hasSameBlueprint } from './blueprint.ts';
import type { Blueprint } from './blueprint.ts';
import type { Container, PodSpec } from '../generated/core.ts';

const container: Container = { name: 'main', image: 'ghcr.io/acme/agent:1' };

function pod(spec: Partial<PodSpec>): Blueprint {
  return { podTemplate: { spec: { containers: [container], ...spec } } };
}

function main(part: Partial<Container>): Blueprint {
  return pod({ containers: [{ ...container, ...part }] });
}

function volume(spec: object, name = 'work'): Blueprint {
  return { ...pod({}), volumeClaimTemplates: [{ metadata: { name }, spec }] };
}

function startingFrom(part: Partial<NonNullable<Blueprint['restoreFrom']>> = {}): Blueprint {
  return { ...pod({}), restoreFrom: { snapshotName: 'trained', ...part } };
}

describe('hasSameBlueprint', () => {
  const same: [string, Blueprint, Blueprint][] = [
    ['an empty list and none', pod({ tolerations: [] }), pod({})],
    ['an empty object and none', main({ resources: {} }), main({})],
    [
      'quantities of one value',
      main({ resources: { limits: { memory: '1Gi', cpu: 1 } } }),
      main({ resources: { limits: { memory: '1024Mi', cpu: '1000m' } } }),
    ],
    [
      'an emptyDir limit of one value',
      pod({ volumes: [{ name: 'a', emptyDir: { sizeLimit: '1Gi' } }] }),
      pod({ volumes: [{ name: 'a', emptyDir: { sizeLimit: '1024Mi' } }] }),
    ],
    [
      'Pod defaults and none',
      pod({ restartPolicy: 'Always', dnsPolicy: 'ClusterFirst', terminationGracePeriodSeconds: 30 }),
      pod({}),
    ],
    ['container defaults and none', main({ terminationMessagePath: '/dev/termination-log', tty: false }), main({})],
    ['the pull policy of a tag and none', main({ imagePullPolicy: 'IfNotPresent' }), main({})],
    [
      'port protocol TCP and none',
      main({ ports: [{ containerPort: 80, protocol: 'TCP' }] }),
      main({ ports: [{ containerPort: 80 }] }),
    ],
    [
      'probe defaults and none',
      main({ readinessProbe: { httpGet: { port: 80, path: '/', scheme: 'HTTP' }, periodSeconds: 10 } }),
      main({ readinessProbe: { httpGet: { port: 80 } } }),
    ],
    [
      'the deprecated twin of serviceAccountName and none',
      pod({ serviceAccountName: 'a', serviceAccount: 'a' }),
      pod({ serviceAccountName: 'a' }),
    ],
    [
      'different metadata',
      { podTemplate: { metadata: { labels: { a: 'b' } }, spec: { containers: [container] } } },
      pod({}),
    ],
    [
      'PVC sizes of one value, volumeMode Filesystem and none',
      volume({ resources: { requests: { storage: '1Gi' } }, volumeMode: 'Filesystem' }),
      volume({ resources: { requests: { storage: '1024Mi' } } }),
    ],
    ['no volumes and an empty list', { ...pod({}), volumeClaimTemplates: [] }, pod({})],
    ['a runtime that injects nothing and none', { ...pod({}), runtime: { inject: false } }, pod({})],
    ['a snapshot to start from, its default spelled out', startingFrom({ onFailure: 'Fail' }), startingFrom()],
  ];
  it.each(same)('holds for %s', (_name, a, b) => {
    expect(hasSameBlueprint(a, b)).toBe(true);
    expect(hasSameBlueprint(b, a)).toBe(true);
  });

  const different: [string, Blueprint, Blueprint][] = [
    ['another image', main({ image: 'ghcr.io/acme/agent:2' }), main({})],
    ['the pull policy of latest', main({ image: 'agent', imagePullPolicy: 'IfNotPresent' }), main({ image: 'agent' })],
    ['a mounted token', pod({ automountServiceAccountToken: false }), pod({})],
    ['no grace period', pod({ terminationGracePeriodSeconds: 0 }), pod({})],
    ['a node label without a value', pod({ nodeSelector: { gpu: '' } }), pod({})],
    [
      'the order of containers',
      pod({ containers: [container, { name: 'b' }] }),
      pod({ containers: [{ name: 'b' }, container] }),
    ],
    ['the name of a volume', volume({}, 'work'), volume({}, 'scratch')],
    [
      'a larger volume',
      volume({ resources: { requests: { storage: '2Gi' } } }),
      volume({ resources: { requests: { storage: '1Gi' } } }),
    ],
    ['a Service', { ...pod({}), service: true }, pod({})],
    ['the runtime', { ...pod({}), runtime: { inject: true } }, pod({})],
    ['a snapshot to start from', startingFrom(), pod({})],
    ['another snapshot to start from', startingFrom({ snapshotName: 'other' }), startingFrom()],
    ['a boot without the snapshot', startingFrom({ onFailure: 'Boot' }), startingFrom()],
  ];
  it.each(different)('fails for %s', (_name, a, b) => {
    expect(hasSameBlueprint(a, b)).toBe(false);
  });
});

describe('however a Pod spec is written', () => {
  const image = fc.constantFrom('agent', 'agent:latest', 'agent:1');
  const amount = fc.constantFrom('1Gi', '2Gi');
  const containers = fc.array(fc.record({ name: fc.constantFrom('a', 'b'), image, memory: amount }), { minLength: 1 });

  /** The same containers, with members in another order and empty ones added. */
  const plain = (list: { name: string; image: string; memory: string }[]): Blueprint =>
    pod({ containers: list.map(({ name, image, memory }) => ({ name, image, resources: { limits: { memory } } })) });
  const dressed = (list: { name: string; image: string; memory: string }[]): Blueprint => ({
    volumeClaimTemplates: [],
    podTemplate: {
      spec: {
        volumes: [],
        containers: list.map(({ name, image, memory }) => ({
          args: [],
          resources: { requests: {}, limits: { memory } },
          image,
          workingDir: '',
          name,
        })),
      },
    },
  });

  it('the hash and the comparison agree', () => {
    fc.assert(
      fc.property(containers, (list) => {
        expect(hashBlueprint(dressed(list))).toBe(hashBlueprint(plain(list)));
        expect(hasSameBlueprint(dressed(list), plain(list))).toBe(true);
      }),
    );
  });

  it('two specs with one hash compare as equal, so no stale member is missed', () => {
    fc.assert(
      fc.property(containers, containers, (a, b) => {
        const sameHash = hashBlueprint(plain(a)) === hashBlueprint(dressed(b));
        expect(sameHash && !hasSameBlueprint(plain(a), dressed(b))).toBe(false);
      }),
    );
  });
});

describe('hashBlueprint', () => {
  it('does not depend on the order of members, nor on empty ones', () => {
    const a: Blueprint = {
      service: true,
      podTemplate: { spec: { containers: [{ name: 'a', image: 'b', args: [] }] } },
    };
    const b: Blueprint = {
      podTemplate: { metadata: {}, spec: { containers: [{ image: 'b', name: 'a' }] } },
      service: true,
    };
    expect(hashBlueprint(a)).toBe(hashBlueprint(b));
  });

  it('is the NameHash of the canonical JSON', () => {
    const json = '{"podTemplate":{"spec":{"containers":[{"image":"ghcr.io/acme/agent:1","name":"main"}]}}}';
    expect(hashBlueprint(pod({}))).toBe(nameHash(json));
  });

  it.each([
    ['podTemplate metadata', { podTemplate: { metadata: { labels: { a: 'b' } }, spec: { containers: [container] } } }],
    ['false, which is not absent', pod({ automountServiceAccountToken: false })],
    ['zero, which is not absent', pod({ terminationGracePeriodSeconds: 0 })],
    ['volumes', volume({})],
    ['service', { ...pod({}), service: false }],
    ['runtime', { ...pod({}), runtime: { inject: true } }],
    ['the snapshot to start from', startingFrom()],
  ])('covers %s', (_name, changed) => {
    expect(hashBlueprint(changed)).not.toBe(hashBlueprint(pod({})));
  });

  it('ignores the other fields of a spec', () => {
    const spec = { ...pod({}), ttlSeconds: 60, envVarsInjectionPolicy: 'Allowed' };
    expect(hashBlueprint(spec)).toBe(hashBlueprint(pod({})));
  });
});
