import { parseDurationMs } from '@sandlot/std';
import { z } from 'zod';
import { Secret } from './secret.ts';

/** A variable that `read` parses; it returns undefined for text it refuses. `expected` completes "expected ...". */
function variable<T>(expected: string, read: (text: string) => T | undefined) {
  return z.string({ error: expected }).transform((text, context): T => {
    const value = read(text.trim());
    if (value !== undefined) return value;
    context.issues.push({ code: 'custom', message: expected, input: text });
    return z.NEVER;
  });
}

export interface IntegerRange {
  readonly min?: number | undefined;
  readonly max?: number | undefined;
}

/** A whole number within `min` and `max`, both included. */
export function integer({ min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER }: IntegerRange = {}) {
  const expected =
    min === Number.MIN_SAFE_INTEGER && max === Number.MAX_SAFE_INTEGER
      ? 'a whole number'
      : `a whole number ${describeRange(min, max)}`;
  return variable(expected, (text) => {
    if (!/^-?[0-9]{1,16}$/.test(text)) return undefined;
    const value = Number(text);
    return value >= min && value <= max ? value : undefined;
  });
}

function describeRange(min: number, max: number): string {
  if (max === Number.MAX_SAFE_INTEGER) return `of at least ${min}`;
  if (min === Number.MIN_SAFE_INTEGER) return `of at most ${max}`;
  return `from ${min} to ${max}`;
}

/** A TCP port; 0 lets the system choose one. */
export function port() {
  return integer({ min: 0, max: 65_535 });
}

/** A share from 0 to 1, such as a sampling ratio. */
export function ratio() {
  return variable('a number from 0 to 1', (text) => {
    if (!/^[0-9]*\.?[0-9]+$/.test(text)) return undefined;
    const value = Number(text);
    return value <= 1 ? value : undefined;
  });
}

/** `true` or `false`; `yes` or `1` are refused. */
export function flag() {
  return variable('true or false', (text) => (text === 'true' ? true : text === 'false' ? false : undefined));
}

/** A duration such as `15s` or `1h30m`, as milliseconds. */
export function durationMs() {
  return variable('a duration such as 500ms, 15s or 1h30m', parseDurationMs);
}

/** A comma-separated list; blanks around items and empty items are dropped. */
export function list() {
  return variable('a comma-separated list', (text) =>
    text
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== ''),
  );
}

/** JSON of the shape that `schema` describes; `expected` completes "expected ...". */
export function json<T extends z.ZodType>(expected: string, schema: T) {
  return z.string({ error: expected }).transform((given, context): z.output<T> => {
    const parsed = schema.safeParse(parseJson(given));
    if (parsed.success) return parsed.data;
    const [issue] = parsed.error.issues;
    const where = issue?.path.length === 0 ? '' : `${issue?.path.join('.')}: `;
    context.issues.push({ code: 'custom', message: `${expected} (${where}${issue?.message})`, input: given });
    return z.NEVER;
  });
}

/** Text that is not JSON becomes a value that every schema refuses. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** An absolute URL with one of `schemes` (without the colon), kept as text. */
export function url(schemes: readonly string[]) {
  return variable(`a URL starting with ${schemes.map((scheme) => `${scheme}://`).join(' or ')}`, (text) => {
    const parsed = URL.parse(text);
    return parsed !== null && parsed.host !== '' && schemes.includes(parsed.protocol.slice(0, -1)) ? text : undefined;
  });
}

/** Text that must not be empty. */
export function text() {
  return variable('some text', (given) => (given === '' ? undefined : given));
}

/** The level from which log lines are written. */
export function logLevel() {
  return variable('one of debug, info, warn, error', (given) => LOG_LEVELS.find((level) => level === given));
}

const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;

/** A secret that never prints; see {@link Secret}. Any text that is not empty is one. */
export function secret() {
  return z.string({ error: 'a secret' }).transform((value) => new Secret(value));
}
