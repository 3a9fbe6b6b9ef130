import { defineResource } from '@sandlot/kube/objects';
import type { KubeObject, Resource } from '@sandlot/kube/objects';
import type { z } from 'zod';
import type { sandboxTemplateBuildSpec, sandboxTemplateBuildStatus } from './schema/build.ts';
import type { sandboxClaimSpec, sandboxClaimStatus } from './schema/claim.ts';
import type { sandboxSpec, sandboxStatus } from './schema/sandbox.ts';
import type { sandboxSnapshotClassSpec, sandboxSnapshotSpec, sandboxSnapshotStatus } from './schema/snapshot.ts';
import type { sandboxTemplateSpec, sandboxTemplateStatus } from './schema/template.ts';
import type { sandboxWarmPoolSpec, sandboxWarmPoolStatus } from './schema/warmpool.ts';

/** API group of Sandbox. */
export const CORE_GROUP = 'agents.x-k8s.io';
/** API group of SandboxClaim, SandboxTemplate and SandboxWarmPool. */
export const EXTENSIONS_GROUP = 'extensions.agents.x-k8s.io';

/** API group of the kinds that agent-sandbox does not have: SandboxSnapshot, SandboxSnapshotClass and SandboxTemplateBuild. */
export const SNAPSHOT_GROUP = 'sandlot.dev';

/** The input side of a schema: a field with a default may be left out. */
export type SandboxSpec = z.input<typeof sandboxSpec>;
export type SandboxStatus = z.input<typeof sandboxStatus>;
/** One pod, one identity, its own disks. */
export interface Sandbox extends KubeObject {
  spec: SandboxSpec;
  status?: SandboxStatus | undefined;
}

export type SandboxClaimSpec = z.input<typeof sandboxClaimSpec>;
export type SandboxClaimStatus = z.input<typeof sandboxClaimStatus>;
/** A request for one sandbox, or for a batch. */
export interface SandboxClaim extends KubeObject {
  spec: SandboxClaimSpec;
  status?: SandboxClaimStatus | undefined;
}

export type SandboxTemplateSpec = z.input<typeof sandboxTemplateSpec>;
export type SandboxTemplateStatus = z.input<typeof sandboxTemplateStatus>;
/** The blueprint of the sandboxes of pools and claims. */
export interface SandboxTemplate extends KubeObject {
  spec: SandboxTemplateSpec;
  status?: SandboxTemplateStatus | undefined;
}

export type SandboxWarmPoolSpec = z.input<typeof sandboxWarmPoolSpec>;
export type SandboxWarmPoolStatus = z.input<typeof sandboxWarmPoolStatus>;
/** Unclaimed sandboxes of one template, kept running. */
export interface SandboxWarmPool extends KubeObject {
  spec: SandboxWarmPoolSpec;
  status?: SandboxWarmPoolStatus | undefined;
}

export type SandboxSnapshotSpec = z.input<typeof sandboxSnapshotSpec>;
export type SandboxSnapshotStatus = z.input<typeof sandboxSnapshotStatus>;
/** The memory and the root file system of a Sandbox, saved on a node. */
export interface SandboxSnapshot extends KubeObject {
  spec: SandboxSnapshotSpec;
  status?: SandboxSnapshotStatus | undefined;
}

export type SandboxSnapshotClassSpec = z.input<typeof sandboxSnapshotClassSpec>;
/** How snapshots are kept, for the whole cluster. It has no status. */
export interface SandboxSnapshotClass extends KubeObject {
  spec: SandboxSnapshotClassSpec;
}

export type SandboxTemplateBuildSpec = z.input<typeof sandboxTemplateBuildSpec>;
export type SandboxTemplateBuildStatus = z.input<typeof sandboxTemplateBuildStatus>;
/** Steps on top of an image, which become an image of their own and a SandboxTemplate. */
export interface SandboxTemplateBuild extends KubeObject {
  spec: SandboxTemplateBuildSpec;
  status?: SandboxTemplateBuildStatus | undefined;
}

export type PodTemplate = SandboxSpec['podTemplate'];
export type VolumeClaimTemplate = NonNullable<SandboxSpec['volumeClaimTemplates']>[number];

const sandbox = { group: CORE_GROUP, plural: 'sandboxes', kind: 'Sandbox', namespaced: true };
const claim = { group: EXTENSIONS_GROUP, plural: 'sandboxclaims', kind: 'SandboxClaim', namespaced: true };
const template = { group: EXTENSIONS_GROUP, plural: 'sandboxtemplates', kind: 'SandboxTemplate', namespaced: true };
const pool = { group: EXTENSIONS_GROUP, plural: 'sandboxwarmpools', kind: 'SandboxWarmPool', namespaced: true };
const snapshot = { group: SNAPSHOT_GROUP, plural: 'sandboxsnapshots', kind: 'SandboxSnapshot', namespaced: true };
const snapshotClass = {
  group: SNAPSHOT_GROUP,
  plural: 'sandboxsnapshotclasses',
  kind: 'SandboxSnapshotClass',
  namespaced: false,
};

const build = {
  group: SNAPSHOT_GROUP,
  plural: 'sandboxtemplatebuilds',
  kind: 'SandboxTemplateBuild',
  namespaced: true,
};

/** The storage version, which the controllers use. */
const V1BETA1 = 'v1beta1';
/** Deprecated, served for old manifests and clients. The only version of snapshots, which are new. */
const V1ALPHA1 = 'v1alpha1';

export const sandboxes: Resource<Sandbox> = defineResource({ ...sandbox, version: V1BETA1 });
export const sandboxClaims: Resource<SandboxClaim> = defineResource({ ...claim, version: V1BETA1 });
export const sandboxTemplates: Resource<SandboxTemplate> = defineResource({ ...template, version: V1BETA1 });
export const sandboxWarmPools: Resource<SandboxWarmPool> = defineResource({ ...pool, version: V1BETA1 });

export const sandboxesV1Alpha1: Resource<Sandbox> = defineResource({ ...sandbox, version: V1ALPHA1 });
export const sandboxClaimsV1Alpha1: Resource<SandboxClaim> = defineResource({ ...claim, version: V1ALPHA1 });
export const sandboxTemplatesV1Alpha1: Resource<SandboxTemplate> = defineResource({ ...template, version: V1ALPHA1 });
export const sandboxWarmPoolsV1Alpha1: Resource<SandboxWarmPool> = defineResource({ ...pool, version: V1ALPHA1 });

export const sandboxSnapshots: Resource<SandboxSnapshot> = defineResource({ ...snapshot, version: V1ALPHA1 });
export const sandboxSnapshotClasses: Resource<SandboxSnapshotClass> = defineResource({
  ...snapshotClass,
  version: V1ALPHA1,
});
export const sandboxTemplateBuilds: Resource<SandboxTemplateBuild> = defineResource({ ...build, version: V1ALPHA1 });
