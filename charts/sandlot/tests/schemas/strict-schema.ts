/** A JSON schema, as far as OpenAPI documents of Kubernetes go. */
export interface Schema {
  readonly [keyword: string]: unknown;
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
}

export interface Definition extends Schema {
  readonly 'x-kubernetes-group-version-kind'?: readonly {
    readonly group: string;
    readonly version: string;
    readonly kind: string;
  }[];
}

export type Definitions = Readonly<Record<string, Definition>>;

const QUANTITY = 'io.k8s.apimachinery.pkg.api.resource.Quantity';
/** Keywords that stay as they are. */
const KEPT = ['type', 'required', 'enum'];
const PREFIX = '#/definitions/';

/** Returns the schema with a refusal of fields that it does not name, as the API server has with strict validation. */
export function makeStrict(schema: Schema): Schema {
  if (schema.$ref !== undefined) return { $ref: schema.$ref };
  if (schema['format'] === 'int-or-string' || schema['x-kubernetes-int-or-string'] === true)
    return { type: ['string', 'integer'] };
  const { items, additionalProperties } = schema;
  const kept = KEPT.filter((keyword) => schema[keyword] !== undefined).map(
    (keyword): [string, unknown] => [keyword, schema[keyword]],
  );
  return {
    ...Object.fromEntries(kept),
    ...(items === undefined ? {} : { items: makeStrict(items) }),
    ...(typeof additionalProperties === 'object' ? { additionalProperties: makeStrict(additionalProperties) } : {}),
    ...nameFields(schema),
  };
}

/** The fields of an object, and whether there may be others. */
function nameFields({ properties, additionalProperties, ...others }: Schema): Schema {
  if (properties === undefined) return {};
  const isOpen = others['x-kubernetes-preserve-unknown-fields'] === true || additionalProperties !== undefined;
  const strict = Object.entries(properties).map(([name, one]) => [name, makeStrict(one)] as const);
  return { properties: Object.fromEntries(strict), ...(isOpen ? {} : { additionalProperties: false }) };
}

/** Returns the strict schema of the kind, complete in itself. Throws if the definitions have no such kind. */
export function buildKindSchema(definitions: Definitions, apiVersion: string, kind: string): Schema {
  const [version, group = ''] = apiVersion.split('/').reverse();
  const name = Object.keys(definitions).find((key) =>
    definitions[key]?.['x-kubernetes-group-version-kind']?.some(
      (names) => names.group === group && names.version === version && names.kind === kind,
    ),
  );
  if (name === undefined) throw new Error(`this release of Kubernetes has no ${kind} of ${apiVersion}`);
  return { $ref: `${PREFIX}${name}`, definitions: collect(definitions, name) };
}

/** Returns the definition with this name and all that it refers to. */
function collect(definitions: Definitions, first: string): Definitions {
  const found = new Map<string, Schema>();
  const waiting = [first];
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (found.has(name)) continue;
    const schema = name === QUANTITY ? {} : makeStrict(definitions[name] ?? {});
    found.set(name, schema);
    waiting.push(...listReferences(schema));
  }
  return Object.fromEntries(found);
}

function listReferences(schema: Schema): readonly string[] {
  return [...JSON.stringify(schema).matchAll(/"\$ref":"#\/definitions\/([^"]+)"/g)].map(([, name]) => name ?? '');
}
