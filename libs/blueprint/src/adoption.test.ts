import { nameHash } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim, SandboxTemplate } from '@sandlot/api-types';
import { claim, pool, template } from '@sandlot/api-types/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { buildAdoptionPatch, buildColdSandbox, buildMemberSandbox, buildMetadataPatch, POD_DEFAULTS } from './index.ts';

const SAFE_TO_EVICT = 'cluster-autoscaler.kubernetes.io/safe-to-evict';
type Strings = Record<string, string>;

function templateWith(labels: Strings, annotations: Strings = {}): SandboxTemplate {
  const podTemplate = { metadata: { labels, annotations }, spec: { containers: [{ name: 'main' }] } };
  const lifecycle = {
    startup: { action: 'SuspendAfterReady' },
    suspensionStrategy: { type: 'Hibernate', hibernate: { contents: 'Files' } },
  } as const;
  return template({ name: 'python', spec: { podTemplate, ttlSeconds: 60, ...lifecycle } });
}

function buildMember(of: SandboxTemplate): Sandbox {
  const made = buildMemberSandbox({
    pool: pool({ name: 'fast' }),
    template: of,
    defaults: POD_DEFAULTS,
    suffix: 'bcdfg',
  });
  return { ...made, metadata: { ...made.metadata, uid: 'uid-m', resourceVersion: '42' } };
}

const job = (labels: Strings = {}, podLabels: Strings = {}): SandboxClaim =>
  claim({ name: 'job', metadata: { labels }, spec: { additionalPodMetadata: { labels: podLabels } } });

describe('the adoption patch', () => {
  const python = templateWith({ team: 'a' }, { note: 'n' });

  it('is guarded, changes the owner, removes the pool’s labels and adds the lifecycle of the template', () => {
    const patch = buildAdoptionPatch({
      claim: job({ 'agents.x-k8s.io/created-by': 'go-client' }, { 'sandbox.users.io/user': 'ana' }),
      template: python,
      member: buildMember(python),
      poolName: 'fast',
      traceContext: '{"traceparent":"t"}',
    });
    expect(patch).toEqual({
      metadata: {
        uid: 'uid-m',
        resourceVersion: '42',
        managedFields: [{}],
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
        labels: {
          'agents.x-k8s.io/warm-pool-sandbox': null,
          'agents.x-k8s.io/sandbox-template-hash': null,
          'agents.x-k8s.io/sandbox-pod-template-hash': null,
          'agents.x-k8s.io/launch-type': 'warm',
          'agents.x-k8s.io/sandbox-template-ref-hash': nameHash('python'),
          'agents.x-k8s.io/claim-uid': 'uid-default-job',
          'agents.x-k8s.io/created-by': 'go-client',
          'sandlot.dev/warm-pool': nameHash('fast'),
        },
        annotations: {
          'agents.x-k8s.io/pod-name': 'fast-bcdfg',
          'opentelemetry.io/trace-context': '{"traceparent":"t"}',
        },
      },
      spec: {
        ttlSeconds: 60,
        startup: { action: 'SuspendAfterReady' },
        suspensionStrategy: { type: 'Hibernate', hibernate: { contents: 'Files' } },
        podTemplate: {
          metadata: {
            labels: {
              'agents.x-k8s.io/warm-pool-sandbox': null,
              'agents.x-k8s.io/claim-uid': 'uid-default-job',
              'agents.x-k8s.io/created-by': 'go-client',
              'sandbox.users.io/user': 'ana',
            },
            annotations: { [SAFE_TO_EVICT]: null },
          },
        },
      },
    });
  });

  it('leaves what the member started from, which cannot be changed', () => {
    const from = template({ name: 'python', spec: { restoreFrom: { snapshotName: 'trained' } } });
    const patch = buildAdoptionPatch({ claim: job(), template: from, member: buildMember(python), poolName: 'fast' });
    expect(patch['spec']).not.toHaveProperty('restoreFrom');
  });

  it('removes created-by for a claim without it, and carries no trace context for a claim without one', () => {
    const patch = buildAdoptionPatch({ claim: job(), template: python, member: buildMember(python), poolName: 'fast' });
    expect(patch).toMatchObject({
      metadata: { labels: { 'agents.x-k8s.io/created-by': null } },
      spec: { podTemplate: { metadata: { labels: { 'agents.x-k8s.io/created-by': null } } } },
    });
    expect(JSON.stringify(patch)).not.toContain('trace-context');
  });

  it('keeps the pod name that the Sandbox already has', () => {
    const member = buildMember(python);
    const annotations = { 'agents.x-k8s.io/pod-name': 'older-pod' };
    const renamed = { ...member, metadata: { ...member.metadata, annotations } };
    const patch = buildAdoptionPatch({ claim: job(), template: python, member: renamed, poolName: 'fast' });
    expect(patch).toMatchObject({ metadata: { annotations: { 'agents.x-k8s.io/pod-name': 'older-pod' } } });
  });

  it.each([
    ['removes safe-to-evict when the pool set it', {}, null],
    ['keeps safe-to-evict "false" of the template', { [SAFE_TO_EVICT]: 'false' }, undefined],
  ])('%s', (_, annotations, expected) => {
    const pinned = templateWith({}, annotations);
    const patch = buildAdoptionPatch({ claim: job(), template: pinned, member: buildMember(pinned), poolName: 'fast' });
    const { spec } = patch as { spec: { podTemplate: { metadata: { annotations?: Record<string, unknown> } } } };
    expect(spec.podTemplate.metadata.annotations?.[SAFE_TO_EVICT]).toBe(expected);
  });
});

describe('the metadata of a bound Sandbox', () => {
  const bound = (of: SandboxTemplate, by: SandboxClaim): Sandbox =>
    buildColdSandbox({ claim: by, template: of, defaults: POD_DEFAULTS });

  it('needs no patch while template and claim do not change', () => {
    expect(buildMetadataPatch(bound(templateWith({ a: '1' }), job()), templateWith({ a: '1' }), job())).toBeUndefined();
  });

  it('follows template and claim: adds new values, removes dropped keys, skips reserved keys', () => {
    const before = bound(templateWith({ a: '1', b: '1' }, { note: 'old' }), job({}, { 'sandbox.users.io/u': 'ana' }));
    const patch = buildMetadataPatch(
      before,
      templateWith({ a: '2', 'sandlot.dev/x': 'y' }),
      job({}, { 'sandbox.users.io/v': 'b' }),
    );
    expect(patch).toEqual({
      spec: {
        podTemplate: {
          metadata: {
            labels: { a: '2', b: null, 'sandbox.users.io/u': null, 'sandbox.users.io/v': 'b' },
            annotations: { note: null },
          },
        },
      },
    });
  });

  it('never depends on the metadata before it', () => {
    const strings = fc.dictionary(fc.constantFrom('a', 'b', 'c', 'agents.x-k8s.io/x'), fc.constantFrom('1', '2'));
    fc.assert(
      fc.property(strings, strings, strings, (before, labels, annotations) => {
        const wanted = templateWith(labels, annotations);
        const sandbox = bound(templateWith(before, before), job());
        const patched = applied(sandbox, buildMetadataPatch(sandbox, wanted, job()));
        expect(patched).toEqual(bound(wanted, job()).spec.podTemplate.metadata);
      }),
    );
  });
});

/** What the API server makes of the patch of a podTemplate's metadata. */
function applied(sandbox: Sandbox, patch: unknown): unknown {
  const changes = (patch as { spec: { podTemplate: { metadata: Record<string, object> } } } | undefined)?.spec;
  const { labels = {}, annotations = {} } = sandbox.spec.podTemplate.metadata ?? {};
  const merged = (current: Strings, change: object | undefined): object => {
    const members: Record<string, unknown> = { ...current, ...change };
    return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));
  };
  return {
    labels: merged(labels, changes?.podTemplate.metadata['labels']),
    annotations: merged(annotations, changes?.podTemplate.metadata['annotations']),
  };
}
