import { z } from 'zod';
import { EMBEDDED_DEFINITION } from '../src/schema/embedded.ts';
import type { Definitions } from './definitions.ts';
import { buildStructuralSchema } from './structural.ts';
import type { SchemaNode } from './structural.ts';

const RFC_3339 = 'date-time';

/**
 * The structural schema of a zod schema, with every embedded Kubernetes definition in its place. What a client must send
 * is the input side, so a field with a default is not required.
 */
export function buildCrdSchema(schema: z.ZodType, definitions: Definitions): SchemaNode {
  const json = z.toJSONSchema(schema, { target: 'openapi-3.0', io: 'input', unrepresentable: 'any' });
  return z.record(z.string(), z.unknown()).parse(rewrite(json, definitions));
}

function rewrite(value: unknown, definitions: Definitions): unknown {
  if (Array.isArray(value)) return value.map((entry) => rewrite(entry, definitions));
  if (typeof value !== 'object' || value === null) return value;
  const node: SchemaNode = { ...value };
  const definition = node[EMBEDDED_DEFINITION];
  if (typeof definition === 'string') return buildStructuralSchema(definitions, definition);
  const entries = Object.entries(tidy(node)).map(([key, member]) => [key, rewrite(member, definitions)] as const);
  return Object.fromEntries(entries);
}

/** Drops keywords of JSON Schema that a CRD must not have or does not need. */
function tidy(node: SchemaNode): SchemaNode {
  const rest = { ...node };
  delete rest['$schema'];
  // Descriptions are for docs/reference/; a CRD has to stay small enough for a client-side apply.
  if (typeof rest['description'] === 'string') delete rest['description'];
  // An int-or-string must not have branches beyond the two that it implies.
  if (rest['x-kubernetes-int-or-string'] === true) delete rest['anyOf'];
  if (rest['maximum'] === Number.MAX_SAFE_INTEGER) delete rest['maximum'];
  // The API server checks date-time itself; zod's pattern for it is long.
  if (rest['format'] === RFC_3339) delete rest['pattern'];
  return rest;
}
