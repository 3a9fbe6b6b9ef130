import { lookUp, names, findReference } from './definitions.ts';
import type { Definition, Definitions } from './definitions.ts';

/** A node of a CRD schema, as JSON. */
export type SchemaNode = Record<string, unknown>;

/** The syntax of a Kubernetes quantity; the API server's parser is stricter about magnitude only. */
const QUANTITY =
  '^[+-]?([0-9]+(\\.[0-9]*)?|\\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?([0-9]+(\\.[0-9]*)?|\\.[0-9]+))?$';

const scalars: Readonly<Record<string, SchemaNode>> = {
  [names.quantity]: { 'x-kubernetes-int-or-string': true, pattern: QUANTITY },
  [names.intOrString]: { 'x-kubernetes-int-or-string': true },
  [names.time]: { type: 'string', format: 'date-time' },
};

/** The formats that the API server validates in a CRD. */
const FORMATS = new Set(['int32', 'int64', 'double', 'float', 'byte', 'date-time']);

/**
 * The structural schema of a Kubernetes definition: references inlined, descriptions and defaults gone. A default stays
 * only where the API server insists on one: on a list-map key that is not required.
 */
export function buildStructuralSchema(definitions: Definitions, name: string): SchemaNode {
  return convert(definitions, { $ref: `#/components/schemas/${name}` }, []);
}

/** `keyFields` are the members of this object that tell entries of the surrounding list apart. */
function convert(definitions: Definitions, schema: Definition, keyFields: readonly string[]): SchemaNode {
  const reference = findReference(schema);
  if (reference === undefined) return convertInline(definitions, schema, keyFields);
  return scalars[reference] ?? convertInline(definitions, lookUp(definitions, reference), keyFields);
}

function convertInline(definitions: Definitions, schema: Definition, keyFields: readonly string[]): SchemaNode {
  if (schema.items !== undefined) return convertList(definitions, schema, schema.items);
  if (schema.properties !== undefined) return convertObject(definitions, schema, keyFields);
  if (schema.additionalProperties !== undefined) {
    return { type: 'object', additionalProperties: convert(definitions, schema.additionalProperties, []) };
  }
  const format = schema.format !== undefined && FORMATS.has(schema.format) ? { format: schema.format } : {};
  return { type: schema.type, ...format };
}

function convertList(definitions: Definitions, schema: Definition, items: Definition): SchemaNode {
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  const listType = schema['x-kubernetes-list-type'];
  return {
    type: 'array',
    items: convert(definitions, items, keys),
    ...(listType === undefined ? {} : { 'x-kubernetes-list-type': listType }),
    ...(keys.length === 0 ? {} : { 'x-kubernetes-list-map-keys': keys }),
  };
}

function convertObject(definitions: Definitions, schema: Definition, keyFields: readonly string[]): SchemaNode {
  const required = schema.required ?? [];
  const mapType = schema['x-kubernetes-map-type'];
  const properties = Object.entries(schema.properties ?? {}).map(([name, member]) => {
    const converted = convert(definitions, member, []);
    const needsDefault = keyFields.includes(name) && !required.includes(name);
    return [name, needsDefault ? { ...converted, default: member.default } : converted] as const;
  });
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    ...(required.length === 0 ? {} : { required }),
    ...(mapType === undefined ? {} : { 'x-kubernetes-map-type': mapType }),
  };
}
