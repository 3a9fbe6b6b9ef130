import { getApiVersion } from '@sandlot/kube/objects';
import { hashPodTemplate, sandboxSnapshots, sandboxTemplates, withoutReservedKeys } from '@sandlot/api-types';
import type { Sandbox, SandboxSnapshot, SandboxSpec, SandboxTemplate, SandboxTemplateSpec } from '@sandlot/api-types';

/** What the template of a snapshot is made of. */
export interface TemplateSource {
  readonly sandbox: Sandbox;
  /** The template that the Sandbox came from. Absent: it came from none, or that one is gone. */
  readonly origin?: SandboxTemplate | undefined;
  /** The Pod of the Sandbox mounts a token of its ServiceAccount. */
  readonly hasToken: boolean;
}

/**
 * Where each field comes from. `sandbox`: as it is now, also if it is absent. `template`: what claims may ask for, and how far
 * the network reaches.
 */
const ORIGINS: Readonly<Record<keyof SandboxTemplateSpec, 'sandbox' | 'template' | 'new'>> = {
  podTemplate: 'new',
  volumeClaimTemplates: 'sandbox',
  restoreFrom: 'new',
  golden: 'new',
  securityDefaults: 'new',
  service: 'sandbox',
  runtime: 'sandbox',
  ttlSeconds: 'sandbox',
  ttlSecondsAfterFinished: 'sandbox',
  idle: 'sandbox',
  autoResume: 'sandbox',
  podFailurePolicy: 'sandbox',
  persistentVolumeClaimRetentionPolicy: 'sandbox',
  startup: 'sandbox',
  suspensionStrategy: 'sandbox',
  networkPolicy: 'template',
  networkPolicyManagement: 'template',
  egress: 'template',
  envVarsInjectionPolicy: 'template',
  volumeClaimTemplatesPolicy: 'template',
  imageOverridePolicy: 'template',
  resourcesOverridePolicy: 'template',
  dynamicVolumesPolicy: 'template',
};

/**
 * The template whose Sandboxes start from the snapshot. Garbage collection deletes it with the snapshot. Its Pod has all defaults of the
 * installation already, so `Compat` keeps later ones from changing a Pod that has to be the saved one.
 */
export function buildTemplate({ metadata, spec }: SandboxSnapshot, source: TemplateSource): SandboxTemplate {
  const { name = '', namespace, uid = '' } = metadata;
  const owner = {
    apiVersion: getApiVersion(sandboxSnapshots),
    kind: sandboxSnapshots.kind,
    name,
    uid,
    controller: true,
  };
  return {
    apiVersion: getApiVersion(sandboxTemplates),
    kind: sandboxTemplates.kind,
    metadata: { name: spec.templateName ?? '', namespace, ownerReferences: [owner] },
    spec: {
      ...pick(source.origin?.spec, 'template'),
      ...pick(source.sandbox.spec, 'sandbox'),
      podTemplate: buildPodTemplate(source),
      securityDefaults: 'Compat',
      restoreFrom: { snapshotName: name },
    },
  };
}

/** Digest of the Pods of the template, by which a Sandbox proves that it can go on from the snapshot. */
export function hashTemplate({ spec: { podTemplate, runtime } }: SandboxTemplate): string {
  return hashPodTemplate({ spec: { podTemplate, ...(runtime === undefined ? {} : { runtime }) } });
}

function pick(
  spec: Partial<SandboxSpec & SandboxTemplateSpec> = {},
  from: 'sandbox' | 'template',
): Partial<SandboxTemplateSpec> {
  const given: Readonly<Record<string, unknown>> = spec;
  const fields = Object.entries(ORIGINS).filter(([field, origin]) => origin === from && given[field] !== undefined);
  return Object.fromEntries(fields.map(([field]) => [field, given[field]]));
}

/** Labels and annotations are those of the template: a claim may have added its own, and its successor brings them again. */
function buildPodTemplate(source: TemplateSource): SandboxTemplateSpec['podTemplate'] {
  const { metadata } = (source.origin ?? source.sandbox).spec.podTemplate;
  const labels = withoutReservedKeys(metadata?.labels);
  const notes = withoutReservedKeys(metadata?.annotations);
  return { metadata: { labels, annotations: notes }, spec: buildPodSpec(source) };
}

/** A template without these two fields gives its Pods other values than the API server gave this one. */
function buildPodSpec({ sandbox, origin, hasToken }: TemplateSource): SandboxSpec['podTemplate']['spec'] {
  const { spec } = sandbox.spec.podTemplate;
  const token = { automountServiceAccountToken: spec.automountServiceAccountToken ?? hasToken };
  return hasOwnNetwork(origin)
    ? { ...spec, ...token }
    : { ...spec, ...token, dnsPolicy: spec.dnsPolicy ?? 'ClusterFirst' };
}

/** Pods of such a template keep the name servers of the cluster. */
function hasOwnNetwork(origin: SandboxTemplate | undefined): boolean {
  return origin?.spec.networkPolicyManagement === 'Unmanaged' || origin?.spec.networkPolicy !== undefined;
}
