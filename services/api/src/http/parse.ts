import type { z } from 'zod';
import { badRequest } from '../errors/api-error.ts';

const MAX_PROBLEMS = 3;

/** Parses a value by its schema. Throws an ApiError 400 that names the fields; `where` stands for the value as a whole. */
export function parseInput<T>(schema: z.ZodType<T> | undefined, value: unknown, where: string): T {
  if (schema === undefined) return undefined as T;
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const problems = result.error.issues.slice(0, MAX_PROBLEMS).map(({ path, message }) => {
    const field = path.map(String).join('.');
    return field === '' ? `${where}: ${message}` : `${field}: ${message}`;
  });
  throw badRequest(problems.join('; '));
}

/** Parses the headers that the schema names; `get` ignores the case of names. Throws an ApiError 400. */
export function parseHeaders(schema: z.ZodObject | undefined, get: (name: string) => string | undefined): unknown {
  if (schema === undefined) return undefined;
  return parseInput(schema, Object.fromEntries(Object.keys(schema.shape).map((name) => [name, get(name)])), 'headers');
}

/** Parameters of a query. A name that occurs several times becomes a comma list. Malformed escapes stay as they are. */
export function parseQuery(url: string): Record<string, string> {
  const start = url.indexOf('?');
  const values = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(start === -1 ? '' : url.slice(start + 1))) {
    const before = values.get(name);
    values.set(name, before === undefined ? value : `${before},${value}`);
  }
  return Object.fromEntries(values);
}

/** No request needs more levels, and code that walks a value recursively cannot overflow the stack with this many. */
const MAX_DEPTH = 64;
const DEPTH_CHANGES: ReadonlyMap<string, number> = new Map([
  ['[', 1],
  ['{', 1],
  [']', -1],
  ['}', -1],
]);

/** Parses a JSON body; an empty body is `{}`. Throws an ApiError 400. */
export function parseJson(body: unknown): unknown {
  const text = Buffer.isBuffer(body) ? body.toString('utf8') : '';
  if (text.trim() === '') return {};
  if (getDepth(text) > MAX_DEPTH) throw badRequest(`the body is nested more than ${MAX_DEPTH} levels deep`);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw badRequest(`the body is no valid JSON${findPlace(error)}`);
  }
}

/** Where the parser stopped, if it says so. The rest of its message may quote the body, which may have secrets. */
function findPlace(error: unknown): string {
  const [place = ''] = / at position \d+/.exec(error instanceof Error ? error.message : '') ?? [];
  return place;
}

/** The deepest nesting of brackets outside of strings. A single pass, because the text is still unchecked. */
function getDepth(text: string): number {
  let [depth, deepest, isString] = [0, 0, false];
  for (let at = 0; at < text.length; at += 1) {
    const letter = text[at];
    if (isString && letter === '\\') at += 1;
    else if (letter === '"') isString = !isString;
    else if (!isString) depth += DEPTH_CHANGES.get(letter ?? '') ?? 0;
    if (depth > deepest) deepest = depth;
  }
  return deepest;
}
