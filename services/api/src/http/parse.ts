import type { z } from 'zod';
import { badRequest } from '../errors/api-error.ts';

const MAX_PROBLEMS = 3;

/** What the schema makes of the value; an {@link ApiError} 400 that names the fields otherwise. */
export function parsed<T>(schema: z.ZodType<T> | undefined, value: unknown, where: string): T {
  if (schema === undefined) return undefined as T;
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const problems = result.error.issues.slice(0, MAX_PROBLEMS).map(({ path, message }) => {
    const field = path.map(String).join('.');
    return field === '' ? `${where}: ${message}` : `${field}: ${message}`;
  });
  throw badRequest(problems.join('; '));
}

/** Parameters of a query: of a name given several times, a comma list. Malformed escapes stay as they are. */
export function queryOf(url: string): Record<string, string> {
  const start = url.indexOf('?');
  const values = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(start === -1 ? '' : url.slice(start + 1))) {
    const before = values.get(name);
    values.set(name, before === undefined ? value : `${before},${value}`);
  }
  return Object.fromEntries(values);
}

/** Deeper than any request of the contract; what walks a value by recursion is safe up to here. */
const MAX_DEPTH = 64;
const STEPS: ReadonlyMap<string, number> = new Map([
  ['[', 1],
  ['{', 1],
  [']', -1],
  ['}', -1],
]);

/** A JSON body; empty is `{}`. */
export function jsonOf(body: unknown): unknown {
  const text = Buffer.isBuffer(body) ? body.toString('utf8') : '';
  if (text.trim() === '') return {};
  if (depthOf(text) > MAX_DEPTH) throw badRequest(`the body is nested more than ${MAX_DEPTH} levels deep`);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw badRequest(`the body is no valid JSON: ${error instanceof Error ? error.message : 'malformed'}`);
  }
}

/** How deep a text opens brackets, outside of its strings. In one pass: it sees what nobody has checked yet. */
function depthOf(text: string): number {
  let [depth, deepest, isString] = [0, 0, false];
  for (let at = 0; at < text.length; at += 1) {
    const letter = text[at];
    if (isString && letter === '\\') at += 1;
    else if (letter === '"') isString = !isString;
    else if (!isString) depth += STEPS.get(letter ?? '') ?? 0;
    if (depth > deepest) deepest = depth;
  }
  return deepest;
}
