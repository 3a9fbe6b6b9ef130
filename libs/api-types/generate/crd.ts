import { SNAPSHOT_GROUP } from '../src/objects.ts';
import type { Definitions } from './definitions.ts';
import type { Kind } from './kinds.ts';
import { buildCrdSchema } from './schema.ts';
import type { SchemaNode } from './structural.ts';

/** Client-side apply keeps the whole object in one annotation, and annotations end at 256 KiB. */
export const MAX_CRD_BYTES = 256 * 1024;

/** Kinds of agent-sandbox are listed together by this category. */
const CATEGORY = 'agent-sandbox';

/** The CustomResourceDefinition of a kind: every version with one identical schema, conversion None. */
export function buildCustomResourceDefinition(kind: Kind, definitions: Definitions): SchemaNode {
  const { group, plural, singular, shortNames, version, namespaced } = kind;
  const schema = { openAPIV3Schema: objectSchema(kind, definitions) };
  const subresources = kind.status === undefined ? {} : { subresources: buildSubresources(kind) };
  const shared = { served: true, schema, ...subresources, additionalPrinterColumns: kind.columns };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: namespaced ? 'Namespaced' : 'Cluster',
      names: {
        kind: kind.kind,
        listKind: `${kind.kind}List`,
        plural,
        singular,
        shortNames,
        ...(isUpstream(kind) ? { categories: [CATEGORY] } : {}),
      },
      conversion: { strategy: 'None' },
      versions: [
        { name: version, storage: true, ...shared },
        ...(isUpstream(kind)
          ? [{ name: 'v1alpha1', storage: false, deprecated: true, deprecationWarning: formatWarning(kind), ...shared }]
          : []),
      ],
    },
  };
}

/** Whether agent-sandbox has the kind too. Its older version is served for old manifests and clients. */
export function isUpstream({ group }: Kind): boolean {
  return group !== SNAPSHOT_GROUP;
}

/** The warning text of the upstream project. */
function formatWarning({ group, kind }: Kind): string {
  return `${group}/v1alpha1 ${kind} is deprecated; use ${group}/v1beta1 ${kind} instead`;
}

function objectSchema(kind: Kind, definitions: Definitions): SchemaNode {
  return {
    type: 'object',
    required: ['spec'],
    properties: {
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      metadata: { type: 'object' },
      spec: buildCrdSchema(kind.spec, definitions),
      ...(kind.status === undefined ? {} : { status: buildCrdSchema(kind.status, definitions) }),
    },
  };
}

function buildSubresources({ scale }: Kind): SchemaNode {
  if (!scale) return { status: {} };
  const paths = {
    specReplicasPath: '.spec.replicas',
    statusReplicasPath: '.status.replicas',
    labelSelectorPath: '.status.selector',
  };
  return { status: {}, scale: paths };
}
