import { parse } from 'yaml';
import { z } from 'zod';
import { getRow } from '../model.ts';
import type { KindFields } from '../model.ts';
import { fieldTables } from '../tables/agent-sandbox/fields.ts';
import { readOrFail } from './read.ts';
import type { Read } from './read.ts';

const CRDS = 'charts/sandlot/files/crds';

interface Node {
  readonly properties?: Readonly<Record<string, Node>> | undefined;
  readonly items?: Node | undefined;
}

const node: z.ZodType<Node> = z.lazy(() =>
  z.object({ properties: z.record(z.string(), node).optional(), items: node.optional() }),
);
const crd = z.object({
  spec: z.object({ versions: z.array(z.object({ schema: z.object({ openAPIV3Schema: node }) })).min(1) }),
});

/** Fields of our CRDs that neither a row nor the list of our own fields names, and rows whose state the CRD contradicts. */
export function findFieldProblems(read: Read): readonly string[] {
  return fieldTables.flatMap((kind) =>
    findProblemsOfKind(kind, readSchema(readOrFail(read, `${CRDS}/${kind.crd}.yaml`))),
  );
}

/** The schema of the first version of a CRD, given its YAML. */
export function readSchema(yaml: string): Node {
  return crd.parse(parse(yaml)).spec.versions[0]?.schema.openAPIV3Schema ?? {};
}

/** The fields of a schema of agent-sandbox that no row names. */
export function listFieldsWithoutRow({ table }: KindFields, schema: Node): readonly string[] {
  const paths = new Set(table.items.map(getRow).map(({ name }) => name));
  return ['spec', 'status'].flatMap((part) => listUnlisted(schema.properties?.[part], part, { paths, own: [] }));
}

/** The problems of one kind, given its schema. */
export function findProblemsOfKind({ table, own }: KindFields, schema: Node): readonly string[] {
  const rows = table.items.map(getRow);
  const paths = new Set(rows.map(({ name }) => name));
  const unknown = ['spec', 'status']
    .filter((part) => !own.includes(part))
    .flatMap((part) => listUnlisted(schema.properties?.[part], part, { paths, own }));
  const wrong = rows.filter(({ name, state }) => (state === 'no') === hasField(schema, name));
  return [
    ...unknown.map((path) => `${table.title}: the CRD has ${path}; list it as an item, or among our own fields`),
    ...wrong.map(({ name, state }) =>
      state === 'no'
        ? `${table.title}: the CRD has ${name}, whose state is no`
        : `${table.title}: the CRD lacks ${name}`,
    ),
  ];
}

interface Known {
  readonly paths: ReadonlySet<string>;
  readonly own: readonly string[];
}

/** The fields below a schema that nothing lists. Below a listed field without listed children nothing is looked at. */
function listUnlisted(schema: Node | undefined, prefix: string, known: Known): readonly string[] {
  return Object.entries(schema?.properties ?? {}).flatMap(([name, child]) => {
    const path = `${prefix}.${name}`;
    if (known.own.includes(path)) return [];
    const hasChildren = [...known.paths, ...known.own].some((one) => one.startsWith(`${path}.`));
    if (hasChildren) return listUnlisted(child.items ?? child, path, known);
    return known.paths.has(path) ? [] : [path];
  });
}

function hasField(schema: Node, path: string): boolean {
  let at: Node | undefined = schema;
  for (const name of path.split('.')) at = (at?.items ?? at)?.properties?.[name];
  return at !== undefined;
}
