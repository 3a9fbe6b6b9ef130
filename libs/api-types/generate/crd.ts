import type { Definitions } from './definitions.ts';
import type { Kind } from './kinds.ts';
import { buildCrdSchema } from './schema.ts';
import type { SchemaNode } from './structural.ts';

/** Client-side apply keeps the whole object in one annotation, and annotations end at 256 KiB. */
export const MAX_CRD_BYTES = 256 * 1024;

/** The CustomResourceDefinition of a kind: both versions, one identical schema, conversion None. */
export function buildCustomResourceDefinition(kind: Kind, definitions: Definitions): SchemaNode {
  const { group, plural, singular, shortNames } = kind;
  const schema = { openAPIV3Schema: objectSchema(kind, definitions) };
  const shared = {
    served: true,
    schema,
    subresources: buildSubresources(kind),
    additionalPrinterColumns: kind.columns,
  };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: {
        kind: kind.kind,
        listKind: `${kind.kind}List`,
        plural,
        singular,
        shortNames,
        categories: ['agent-sandbox'],
      },
      conversion: { strategy: 'None' },
      versions: [
        { name: 'v1beta1', storage: true, ...shared },
        { name: 'v1alpha1', storage: false, deprecated: true, deprecationWarning: formatWarning(kind), ...shared },
      ],
    },
  };
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
      status: buildCrdSchema(kind.status, definitions),
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
