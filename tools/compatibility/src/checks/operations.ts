import { z } from 'zod';
import { getRow } from '../model.ts';
import type { Row } from '../model.ts';
import { createFields } from '../tables/e2b/create-fields.ts';
import { daemonRoutes } from '../tables/e2b/daemon.ts';
import { operationTables } from '../tables/e2b/operations.ts';
import { listMatches, readOrFail } from './read.ts';
import type { Read } from './read.ts';
import { listOperations } from './typings.ts';

const OPENAPI = 'docs/openapi/sandlot.json';
/** What the client for JavaScript, at the version of our tests, declares of the API and of the daemon. */
export const TYPINGS = 'node_modules/e2b/dist/index.d.ts';

/** Where our API lists what it answers 501 to. */
const UNSUPPORTED = 'services/api/src/e2b/unsupported.ts';

const body = z.object({ properties: z.record(z.string(), z.unknown()) });
const openApi = z.object({
  paths: z.record(z.string(), z.record(z.string(), z.object({ tags: z.array(z.string()).optional() }))),
  components: z.object({ schemas: z.object({ NewSandbox: body, NewSandboxV2: body, NetworkConfig: body }) }),
});

type Document = z.output<typeof openApi>;

/** Operations of the client or of our API that no row has, and rows whose state our API contradicts. */
export function findOperationProblems(read: Read): readonly string[] {
  const typings = readOrFail(read, TYPINGS);
  const document = openApi.parse(JSON.parse(readOrFail(read, OPENAPI)));
  const served = new Set(listServed(document));
  const rows = operationTables.flatMap(({ items }) => items.map(getRow));
  const names = new Set(rows.map(({ name }) => name));
  const daemon = new Set(daemonRoutes.items.map((item) => getRow(item).name));
  const fields = new Set(createFields.items.map((item) => getRow(item).name));
  const known = new Set([...listOperations(typings, 'paths'), ...served]);
  return [
    ...[...known].filter((name) => !names.has(name)).map((name) => `operations: ${name} is no item`),
    ...listOperations(typings, 'paths$1')
      .filter((name) => !daemon.has(name))
      .map((name) => `routes of the daemon: ${name} is no item`),
    ...findRefusalProblems(readRefusals(readOrFail(read, UNSUPPORTED)), rows),
    ...listCreateFields(document)
      .filter((field) => !fields.has(field))
      .map((field) => `fields of a create: ${field} is no item`),
    ...rows
      .filter(({ name, state }) => (state === 'yes' || state === 'partly') !== served.has(name))
      .map(({ name, state }) => `operations: the state of ${name} is ${state}, and ${OPENAPI} says otherwise`),
  ];
}

interface Refusals {
  /** Paths, and roots of trees. */
  readonly paths: readonly string[];
  /** Whether an operation, such as `GET /nodes/{nodeID}`, answers 501. */
  readonly has: (operation: string) => boolean;
}

/** What `unsupported.ts` lists: a path with its methods, or the root of a tree, on each line of a table. */
function readRefusals(source: string): Refusals {
  const lines = listMatches(source, /^ {2}\['[^']+', '(\/[^']+'(?:, \[[^\]]+\])?)\],$/gm);
  const paths = lines.map((line) => line.slice(0, line.indexOf("'")));
  const operations = new Set(
    lines.flatMap((line, index) =>
      [...line.matchAll(/'(\w+)'/g)].map(([, method = '']) => `${method.toUpperCase()} ${paths[index] ?? ''}`),
    ),
  );
  const roots = paths.filter((_path, index) => !lines[index]?.includes('['));
  const isBelow = (path: string): boolean => roots.some((root) => `${path}/`.startsWith(`${root}/`));
  return { paths, has: (operation) => operations.has(operation) || isBelow(operation.slice(operation.indexOf('/'))) };
}

/** Refused paths that no operation has, nor any below them, and missing operations that do not say that they are refused. */
function findRefusalProblems({ paths, has }: Refusals, rows: readonly Row[]): readonly string[] {
  const known = rows.map(({ name }) => name.slice(name.indexOf('/')));
  return [
    ...paths
      .filter((path) => !known.some((one) => one === path || one.startsWith(`${path}/`)))
      .map((path) => `operations: ${path} is no item`),
    ...rows
      .filter(({ name, state, proof }) => state === 'no' && (proof === undefined || !has(name)))
      .map(({ name }) => `operations: ${name} is missing; list it in ${UNSUPPORTED}, and name the test of its 501`),
  ];
}

/** The fields of a create in our API; those of `network` as `network.<field>`. */
function listCreateFields({ components: { schemas } }: Document): readonly string[] {
  const { NewSandbox, NewSandboxV2, NetworkConfig } = schemas;
  const fields = [NewSandbox, NewSandboxV2].flatMap(({ properties }) => Object.keys(properties));
  return [...new Set(fields), ...Object.keys(NetworkConfig.properties).map((field) => `network.${field}`)];
}

/** The operations of the E2B dialect that our API serves. */
function listServed({ paths }: Document): readonly string[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { tags = [] }]) =>
      tags.some((tag) => tag.startsWith('E2B')) || path === '/health' ? [`${method.toUpperCase()} ${path}`] : [],
    ),
  );
}
