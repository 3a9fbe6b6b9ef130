import type { NetworkPolicy, ObjectMeta } from '@sandlot/kube/objects';
import { annotations, labels, protections } from '../src/catalogue/keys.ts';
import { CORE_GROUP, EXTENSIONS_GROUP, SNAPSHOT_GROUP } from '../src/objects.ts';
import type { Sandbox, SandboxClaim, SandboxSnapshot, SandboxTemplate, SandboxWarmPool } from '../src/objects.ts';
import { setCondition } from '../src/rules/conditions.ts';
import { formatNetworkPolicyName } from '../src/rules/naming.ts';

/** The parts of an object that matter to a test; the others have plain values. */
export interface Parts<O extends { spec: object; status?: object | undefined }> {
  readonly name?: string;
  readonly namespace?: string;
  readonly metadata?: ObjectMeta;
  readonly spec?: Partial<O['spec']>;
  readonly status?: O['status'];
}

const podTemplate = { spec: { containers: [{ name: 'main', image: 'busybox' }] } };

function buildMetadata(
  parts: Parts<Sandbox | SandboxClaim | SandboxSnapshot | SandboxTemplate | SandboxWarmPool>,
  name: string,
): ObjectMeta {
  const chosen = parts.name ?? parts.metadata?.name ?? name;
  const namespace = parts.namespace ?? parts.metadata?.namespace ?? 'default';
  const identity = { uid: `uid-${namespace}-${chosen}`, resourceVersion: '1', generation: 1 };
  return { creationTimestamp: '2026-01-01T00:00:00Z', ...identity, ...parts.metadata, name: chosen, namespace };
}

/** A Sandbox named `sandbox` in `default` that runs one container. */
export function sandbox(parts: Parts<Sandbox> = {}): Sandbox {
  return {
    apiVersion: `${CORE_GROUP}/v1beta1`,
    kind: 'Sandbox',
    metadata: buildMetadata(parts, 'sandbox'),
    spec: { podTemplate, shutdownPolicy: 'Retain', ...parts.spec },
    ...(parts.status === undefined ? {} : { status: parts.status }),
  };
}

/** A SandboxClaim named `claim` in `default`, on the pool `pool` unless the spec names a template. */
export function claim(parts: Parts<SandboxClaim> = {}): SandboxClaim {
  const source = parts.spec?.sandboxTemplateRef === undefined ? { warmPoolRef: { name: 'pool' } } : {};
  return {
    apiVersion: `${EXTENSIONS_GROUP}/v1beta1`,
    kind: 'SandboxClaim',
    metadata: buildMetadata(parts, 'claim'),
    spec: { ...source, ...parts.spec },
    ...(parts.status === undefined ? {} : { status: parts.status }),
  };
}

/** A SandboxTemplate named `template` in `default` that runs one container. */
export function template(parts: Parts<SandboxTemplate> = {}): SandboxTemplate {
  return {
    apiVersion: `${EXTENSIONS_GROUP}/v1beta1`,
    kind: 'SandboxTemplate',
    metadata: buildMetadata(parts, 'template'),
    spec: { podTemplate, ...parts.spec },
    ...(parts.status === undefined ? {} : { status: parts.status }),
  };
}

/** A SandboxWarmPool named `pool` in `default` with one member of the template `template`. */
export function pool(parts: Parts<SandboxWarmPool> = {}): SandboxWarmPool {
  return {
    apiVersion: `${EXTENSIONS_GROUP}/v1beta1`,
    kind: 'SandboxWarmPool',
    metadata: buildMetadata(parts, 'pool'),
    spec: { replicas: 1, sandboxTemplateRef: { name: 'template' }, ...parts.spec },
    ...(parts.status === undefined ? {} : { status: parts.status }),
  };
}

/** A SandboxSnapshot named `snapshot` in `default` of the Sandbox `sandbox`; with `sandbox` that one controls it. */
export function snapshot(parts: Parts<SandboxSnapshot> & { readonly sandbox?: Sandbox } = {}): SandboxSnapshot {
  const { sandbox: owner } = parts;
  const { name: ownerName = 'sandbox', namespace, uid = '' } = owner?.metadata ?? {};
  const reference = { apiVersion: `${CORE_GROUP}/v1beta1`, kind: 'Sandbox', name: ownerName, uid, controller: true };
  const placed = { ...(namespace === undefined ? {} : { namespace }), ...parts };
  const metadata = buildMetadata(placed, 'snapshot');
  return {
    apiVersion: `${SNAPSHOT_GROUP}/v1alpha1`,
    kind: 'SandboxSnapshot',
    metadata: owner === undefined ? metadata : { ownerReferences: [reference], ...metadata },
    spec: { sandboxName: ownerName, whenSaved: 'Resume', ...parts.spec },
    ...(parts.status === undefined ? {} : { status: parts.status }),
  };
}

interface TemplateNetwork {
  readonly status: NonNullable<SandboxTemplate['status']>;
  readonly policy: NetworkPolicy;
}

/** What the warmpool-controller writes for a template: a policy, and the condition that it is in place. */
export function buildTemplateNetwork({ metadata, status }: SandboxTemplate): TemplateNetwork {
  const { namespace = '', name = '', uid = '', generation = 0 } = metadata;
  const ready = { type: 'NetworkPolicyReady', status: 'True', reason: 'Applied', message: 'applied' } as const;
  const conditions = setCondition(
    status?.conditions,
    { ...ready, observedGeneration: generation },
    '2026-01-01T00:00:00Z',
  );
  return {
    status: { ...status, conditions },
    policy: {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: {
        namespace,
        name: formatNetworkPolicyName(name),
        labels: { [labels.protects]: protections.template },
        annotations: { [annotations.templateUid]: uid },
      },
      spec: { podSelector: {}, policyTypes: ['Ingress', 'Egress'] },
    },
  };
}
