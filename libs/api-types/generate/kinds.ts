import type { z } from 'zod';
import { sandboxClaims, sandboxes, sandboxTemplates, sandboxWarmPools } from '../src/objects.ts';
import { sandboxSnapshotClasses, sandboxSnapshots, sandboxTemplateBuilds } from '../src/objects.ts';
import { sandboxTemplateBuildSpec, sandboxTemplateBuildStatus } from '../src/schema/build.ts';
import { sandboxClaimSpec, sandboxClaimStatus } from '../src/schema/claim.ts';
import { sandboxSpec, sandboxStatus } from '../src/schema/sandbox.ts';
import { sandboxSnapshotClassSpec, sandboxSnapshotSpec, sandboxSnapshotStatus } from '../src/schema/snapshot.ts';
import { sandboxTemplateSpec, sandboxTemplateStatus } from '../src/schema/template.ts';
import { sandboxWarmPoolSpec, sandboxWarmPoolStatus } from '../src/schema/warmpool.ts';

/** A printer column; priority 1 shows with `-o wide` only. */
interface Column {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'date';
  readonly jsonPath: string;
  readonly priority?: 1;
}

/** What a CRD says besides its schema. */
export interface Kind {
  readonly group: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  /** The version that is stored. The kinds of agent-sandbox are `v1beta1`, and also served as the deprecated `v1alpha1`. */
  readonly version: string;
  readonly namespaced: boolean;
  readonly shortNames: readonly string[];
  readonly spec: z.ZodType;
  /** Absent: the kind has no status. */
  readonly status?: z.ZodType;
  readonly scale: boolean;
  readonly columns: readonly Column[];
}

const age: Column = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' };
const ready: Column = { name: 'Ready', type: 'string', jsonPath: ".status.conditions[?(@.type=='Ready')].status" };
const reason: Column = { name: 'Reason', type: 'string', jsonPath: ".status.conditions[?(@.type=='Ready')].reason" };

const text = (name: string, jsonPath: string): Column => ({ name, type: 'string', jsonPath });
const integer = (name: string, jsonPath: string): Column => ({ name, type: 'integer', jsonPath });
const wide = (column: Column): Column => ({ ...column, priority: 1 });

/** The kinds (docs/reference/versions.md#groups-and-versions). */
export const kinds: readonly Kind[] = [
  {
    ...sandboxes,
    singular: 'sandbox',
    shortNames: ['sandbox', 'sbx'],
    spec: sandboxSpec,
    status: sandboxStatus,
    scale: true,
    columns: [
      ready,
      reason,
      age,
      wide(text('Phase', '.status.phase')),
      wide(text('Node', '.status.nodeName')),
      wide(text('IP', '.status.podIPs[0]')),
      // A date column shows an age, but this time lies in the future.
      wide(text('Expires', '.status.expiresAt')),
    ],
  },
  {
    ...sandboxClaims,
    singular: 'sandboxclaim',
    shortNames: ['sandboxclaim', 'sbc'],
    spec: sandboxClaimSpec,
    status: sandboxClaimStatus,
    scale: false,
    columns: [
      ready,
      text('Sandbox', '.status.sandbox.name'),
      reason,
      age,
      wide(text('Phase', '.status.phase')),
      wide(integer('Desired', '.spec.replicas')),
      wide(integer('Claimed', '.status.claimedReplicas')),
      wide(text('Template', '.spec.sandboxTemplateRef.name')),
      wide(text('Pool', '.spec.warmPoolRef.name')),
    ],
  },
  {
    ...sandboxTemplates,
    singular: 'sandboxtemplate',
    shortNames: ['sandboxtemplate', 'sbt'],
    spec: sandboxTemplateSpec,
    status: sandboxTemplateStatus,
    scale: false,
    columns: [
      age,
      wide(integer('Pools', '.status.warmPoolCount')),
      wide(text('NetworkPolicy', '.status.networkPolicyName')),
      wide(text('Hash', '.status.blueprintHash')),
    ],
  },
  {
    ...sandboxWarmPools,
    singular: 'sandboxwarmpool',
    shortNames: ['swp'],
    spec: sandboxWarmPoolSpec,
    status: sandboxWarmPoolStatus,
    scale: true,
    columns: [
      integer('Ready', '.status.readyReplicas'),
      integer('Desired', '.spec.replicas'),
      age,
      wide(integer('Target', '.status.desiredReplicas')),
      wide(integer('Updated', '.status.updatedReplicas')),
      wide(integer('InUse', '.status.inUse')),
      wide(text('Template', '.spec.sandboxTemplateRef.name')),
    ],
  },
  {
    ...sandboxSnapshots,
    singular: 'sandboxsnapshot',
    shortNames: ['sbss'],
    spec: sandboxSnapshotSpec,
    status: sandboxSnapshotStatus,
    scale: false,
    columns: [
      text('Sandbox', '.spec.sandboxName'),
      text('Phase', '.status.phase'),
      reason,
      text('Size', '.status.size'),
      text('Node', '.status.nodeName'),
      text('Bucket', '.status.remote.state'),
      age,
      wide(text('Fingerprint', '.status.fingerprintText')),
      wide(text('Expires', '.status.expiresAt')),
    ],
  },
  {
    ...sandboxSnapshotClasses,
    singular: 'sandboxsnapshotclass',
    shortNames: ['sbsc'],
    spec: sandboxSnapshotClassSpec,
    scale: false,
    columns: [
      text('Default', ".metadata.annotations['sandlot\\.dev/is-default-class']"),
      text('Store', '.spec.store'),
      age,
      wide(integer('FailedSeconds', '.spec.retention.failedSeconds')),
      wide(integer('ReadySeconds', '.spec.retention.readySeconds')),
    ],
  },
  {
    ...sandboxTemplateBuilds,
    singular: 'sandboxtemplatebuild',
    shortNames: ['sbtb'],
    spec: sandboxTemplateBuildSpec,
    status: sandboxTemplateBuildStatus,
    scale: false,
    columns: [
      text('Template', '.spec.templates[0].name'),
      text('Phase', '.status.phase'),
      reason,
      text('Step', '.status.failedStep'),
      age,
      wide(integer('Cached', '.status.cachedSteps')),
      wide(text('Image', '.status.image')),
    ],
  },
];
