import { z } from 'zod';
import { EMBEDDED_DEFINITION } from '../../src/schema/embedded.ts';
import { code, table } from './table.ts';

/** What the tables read of a JSON schema that zod writes. */
interface Node {
  readonly type?: string | undefined;
  readonly format?: string | undefined;
  readonly pattern?: string | undefined;
  readonly enum?: readonly string[] | undefined;
  readonly minimum?: number | undefined;
  readonly maximum?: number | undefined;
  readonly maxItems?: number | undefined;
  readonly default?: unknown;
  readonly description?: string | undefined;
  readonly required?: readonly string[] | undefined;
  readonly properties?: Readonly<Record<string, Node>> | undefined;
  readonly items?: Node | undefined;
  readonly additionalProperties?: unknown;
  readonly 'x-kubernetes-int-or-string'?: boolean | undefined;
  readonly 'x-kubernetes-list-map-keys'?: readonly string[] | undefined;
  readonly 'x-kubernetes-validations'?: readonly { readonly message: string }[] | undefined;
  readonly [EMBEDDED_DEFINITION]?: string | undefined;
}

const nodeSchema: z.ZodType<Node> = z.lazy(() =>
  z.object({
    type: z.string().optional(),
    format: z.string().optional(),
    pattern: z.string().optional(),
    enum: z.array(z.string()).optional(),
    minimum: z.number().optional(),
    maximum: z.number().optional(),
    maxItems: z.number().optional(),
    default: z.unknown().optional(),
    description: z.string().optional(),
    required: z.array(z.string()).optional(),
    properties: z.record(z.string(), nodeSchema).optional(),
    items: nodeSchema.optional(),
    additionalProperties: z.unknown().optional(),
    'x-kubernetes-int-or-string': z.boolean().optional(),
    'x-kubernetes-list-map-keys': z.array(z.string()).optional(),
    'x-kubernetes-validations': z.array(z.object({ message: z.string() })).optional(),
    [EMBEDDED_DEFINITION]: z.string().optional(),
  }),
);

/** A field of a schema by its path, such as `schedules[].cron`. */
export interface Field {
  readonly path: string;
  readonly node: Node;
  readonly isRequired: boolean;
}

/** Conditions have the same fields everywhere; their pages say what they mean. */
const NOT_ENTERED = new Set(['conditions']);

/** Every field of a schema, parents before their children, in the order of the schema. */
export function listFields(schema: z.ZodType): readonly Field[] {
  return getChildren(toNode(schema), '');
}

function toNode(schema: z.ZodType): Node {
  return nodeSchema.parse(z.toJSONSchema(schema, { target: 'openapi-3.0', io: 'input', unrepresentable: 'any' }));
}

function getChildren({ properties = {}, required = [] }: Node, prefix: string): Field[] {
  return Object.entries(properties).flatMap(([name, node]) => {
    const path = `${prefix}${name}${node.items === undefined ? '' : '[]'}`;
    const field = { path, node, isRequired: required.includes(name) };
    return NOT_ENTERED.has(name) ? [field] : [field, ...getChildren(node.items ?? node, `${path}.`)];
  });
}

/** The fields of a schema: path, type, default, meaning. */
export function formatFieldTable(schema: z.ZodType): string {
  const rows = listFields(schema).map(({ path, node, isRequired }) => [
    code(path),
    formatType(node),
    node.default === undefined ? (isRequired ? 'required' : '') : code(JSON.stringify(node.default)),
    node.description ?? '',
  ]);
  return table(['field', 'type', 'default', 'meaning'], rows);
}

/** What the API server refuses beyond types and bounds: the messages of the CEL rules, with the object they are about. */
export function formatRuleTable(schema: z.ZodType): string {
  const root = toNode(schema);
  const rows = [{ path: 'spec', node: root }, ...getChildren(root, 'spec.')].flatMap(({ path, node }) => [
    ...listMessages(path, node),
    ...(node.items === undefined ? [] : listMessages(path, node.items)),
  ]);
  return table(['where', 'the API server says'], rows);
}

function listMessages(path: string, node: Node): string[][] {
  return (node['x-kubernetes-validations'] ?? []).map(({ message }) => [code(path), code(message)]);
}

function formatType(node: Node): string {
  if (node.items === undefined) return getScalarType(node);
  const [most, key] = [node.maxItems, node['x-kubernetes-list-map-keys']?.[0]];
  const notes = [
    ...(most === undefined ? [] : [`at most ${most}`]),
    ...(key === undefined ? [] : [`one per ${code(key)}`]),
  ];
  return [`list of ${getPlural(getScalarType(node.items))}`, ...notes].join(', ');
}

function getPlural(type: string): string {
  return type.endsWith('s') ? type : `${type}s`;
}

function getScalarType(node: Node): string {
  const definition = node[EMBEDDED_DEFINITION];
  if (definition !== undefined) return definition.slice(definition.lastIndexOf('.') + 1);
  if (node['x-kubernetes-int-or-string'] === true) return 'integer or percentage';
  if (node.enum !== undefined) return node.enum.map(code).join(', ');
  if (node.type === 'integer') return formatIntegerType(node);
  if (node.type === 'string') return getStringType(node);
  return node.type === 'object' && node.additionalProperties !== undefined && node.properties === undefined
    ? 'map of strings'
    : (node.type ?? 'object');
}

function formatIntegerType({ minimum, maximum }: Node): string {
  const isBounded = maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER;
  if (isBounded) return `integer, ${minimum ?? 0} to ${maximum}`;
  return minimum === undefined || minimum === 0 ? 'integer' : `integer, at least ${minimum}`;
}

function getStringType({ format, pattern }: Node): string {
  if (format === 'date-time') return 'time';
  return pattern?.includes('(ms|s|m|h)') === true ? 'duration' : 'string';
}
