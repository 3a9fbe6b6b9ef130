import { z } from 'zod';

/** One schema of the API server's OpenAPI v3, reduced to the keywords a structural schema may keep. */
export interface Definition {
  type?: string | undefined;
  format?: string | undefined;
  default?: unknown;
  properties?: Record<string, Definition> | undefined;
  required?: string[] | undefined;
  items?: Definition | undefined;
  additionalProperties?: Definition | undefined;
  allOf?: Definition[] | undefined;
  oneOf?: Definition[] | undefined;
  $ref?: string | undefined;
  'x-kubernetes-list-type'?: string | undefined;
  'x-kubernetes-list-map-keys'?: string[] | undefined;
  'x-kubernetes-map-type'?: string | undefined;
}

/** Schemas by their full name, such as `io.k8s.api.core.v1.PodSpec`. */
export type Definitions = Record<string, Definition>;

const definition: z.ZodType<Definition> = z.lazy(() =>
  z.object({
    type: z.string().optional(),
    format: z.string().optional(),
    default: z.unknown().optional(),
    properties: z.record(z.string(), definition).optional(),
    required: z.array(z.string()).optional(),
    items: definition.optional(),
    additionalProperties: definition.optional(),
    allOf: z.array(definition).optional(),
    oneOf: z.array(definition).optional(),
    $ref: z.string().optional(),
    'x-kubernetes-list-type': z.string().optional(),
    'x-kubernetes-list-map-keys': z.array(z.string()).optional(),
    'x-kubernetes-map-type': z.string().optional(),
  }),
);

/** The committed snapshot: the pinned API server's schemas of the Kubernetes types that Sandlot embeds. */
export const snapshotSchema = z.object({ kubernetes: z.string(), schemas: z.record(z.string(), definition) });
export type Snapshot = z.infer<typeof snapshotSchema>;

/** A document of `/openapi/v3/...`; keywords outside {@link Definition} (descriptions above all) are dropped. */
export const openApiDocument = z.object({
  components: z.object({ schemas: z.record(z.string(), definition) }),
});

export const names = {
  podSpec: 'io.k8s.api.core.v1.PodSpec',
  claimSpec: 'io.k8s.api.core.v1.PersistentVolumeClaimSpec',
  ingressRule: 'io.k8s.api.networking.v1.NetworkPolicyIngressRule',
  egressRule: 'io.k8s.api.networking.v1.NetworkPolicyEgressRule',
  quantity: 'io.k8s.apimachinery.pkg.api.resource.Quantity',
  intOrString: 'io.k8s.apimachinery.pkg.util.intstr.IntOrString',
  objectMeta: 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta',
  time: 'io.k8s.apimachinery.pkg.apis.meta.v1.Time',
} as const;

/** The definitions that a CRD embeds; they reach all others in the snapshot. */
export const roots: readonly string[] = [names.podSpec, names.claimSpec, names.ingressRule, names.egressRule];

/**
 * The metadata of the only embedded template with an ObjectMeta (a generic ephemeral volume): the API server accepts
 * labels and annotations there and refuses everything else.
 */
const templateMetadata: Definition = {
  type: 'object',
  properties: {
    annotations: { type: 'object', additionalProperties: { type: 'string' } },
    labels: { type: 'object', additionalProperties: { type: 'string' } },
  },
};

const REF_PREFIX = '#/components/schemas/';

/** The name a definition refers to, directly or through the one-element `allOf` that OpenAPI v3 wraps around it. */
export function findReference(schema: Definition): string | undefined {
  const reference = schema.$ref ?? schema.allOf?.[0]?.$ref;
  return reference?.slice(REF_PREFIX.length);
}

/** Looks a definition up; a missing one means the snapshot is damaged. */
export function lookUp(definitions: Definitions, name: string): Definition {
  const found = name === names.objectMeta ? templateMetadata : definitions[name];
  if (found === undefined) throw new Error(`the OpenAPI snapshot has no schema ${name}`);
  return found;
}

/** Every name reachable from the roots, sorted. */
export function listReachable(definitions: Definitions): string[] {
  const seen = new Set<string>();
  const visit = (schema: Definition): void => {
    const name = findReference(schema);
    if (name !== undefined) visitName(name);
    for (const child of children(schema)) visit(child);
  };
  const visitName = (name: string): void => {
    if (seen.has(name)) return;
    seen.add(name);
    visit(lookUp(definitions, name));
  };
  for (const root of roots) visitName(root);
  return [...seen].sort();
}

function children(schema: Definition): Definition[] {
  const one = [schema.items, schema.additionalProperties].filter((child) => child !== undefined);
  return [...Object.values(schema.properties ?? {}), ...one];
}
