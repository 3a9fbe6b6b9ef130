import { fillMarkers, findHeaderNameProblem, headerRules, listMarkedSecrets } from '@sandlot/api-types';
import { z } from 'zod';
import { badRequest } from '../../errors/api-error.ts';
import type { ApiError } from '../../errors/api-error.ts';

/** `network.rules` of a request: one rule for each host. Unknown fields are refused, because a rule could mean less without them. */
export const networkRules = z
  .record(
    z.string(),
    z.array(z.strictObject({ transform: z.strictObject({ headers: z.record(z.string(), z.string()) }) })),
  )
  .meta({
    id: 'NetworkRules',
    description:
      'Headers that the egress proxy sets in requests to a host: a name, or *. and a name. Values may have ${e2b.secrets.NAME}.',
  });

/** The headers that a client wants in requests to the hosts of a pattern. The values may be secret. */
export interface GivenRule {
  readonly host: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
}

const MAX_MARKERS = 32;
const MAX_SHOWN = 128;
/** What looks like a marker. */
const MARKER_LIKE = /\$\{(?:e2b|sandlot)\./iu;
const IDENTITY = /\$\{(?:e2b|sandlot)\.identity\./iu;

/** Checks the rules of a request. Throws an ApiError 400 that names host and header, and never the value of a header. */
export function readHeaderRules(given: z.output<typeof networkRules> | null | undefined): readonly GivenRule[] {
  const asked = Object.entries(given ?? {}).map(([host, transforms]): GivenRule => {
    const [first] = transforms;
    if (first === undefined || transforms.length > 1) {
      throw refuse(host, `expected exactly one rule, got ${transforms.length}`);
    }
    return { host, headers: Object.entries(first.transform.headers) };
  });
  for (const rule of asked) assertNames(rule);
  const read = parseRules(asked);
  for (const rule of read) assertMarkers(rule);
  return read;
}

/** The names, in lower case, of the secrets that the values have markers for. */
export function listRuleSecrets(rules: readonly GivenRule[]): readonly string[] {
  const values = rules.flatMap(({ headers }) => headers.map(([, value]) => value));
  return [...new Set(values.flatMap(listMarkedSecrets))];
}

/** A name that could not be one is not repeated: it may be a value that got into the wrong place. */
function assertNames({ host, headers }: GivenRule): void {
  headers.forEach(([name], index) => {
    const problem = findHeaderNameProblem(name);
    const shown = /^[A-Za-z0-9_-]{1,64}$/.test(name) ? JSON.stringify(name) : `number ${index + 1}`;
    if (problem !== undefined) throw refuse(host, `header ${shown} ${problem}`);
  });
}

/** The rules with their hosts in normal form, by the schema that the annotation of a claim has. */
function parseRules(asked: readonly GivenRule[]): readonly GivenRule[] {
  const shaped = asked.map(({ host, headers }) => ({
    host,
    headers: headers.map(([name, value]) => ({ name, value })),
  }));
  const { data, error } = headerRules.safeParse(shaped);
  if (data !== undefined) {
    return data.map(({ host, headers }) => ({ host, headers: headers.map(({ name, value = '' }) => [name, value]) }));
  }
  const [{ path, message } = { path: [], message: 'cannot be read' }] = error.issues;
  const [index, , position] = path.map(Number);
  const rule = asked[index ?? -1];
  if (rule === undefined) throw badRequest(`network.rules: ${message}`);
  const name = rule.headers[position ?? -1]?.[0];
  throw refuse(rule.host, name === undefined ? message : `header ${JSON.stringify(name)} ${message}`);
}

function assertMarkers({ host, headers }: GivenRule): void {
  for (const [name, value] of headers) {
    const header = `header ${JSON.stringify(name)}`;
    if (IDENTITY.test(value))
      throw refuse(host, `${header} asks for an identity, which this installation does not issue`);
    const rest = fillMarkers(value, () => '') ?? '';
    if (MARKER_LIKE.test(rest)) throw refuse(host, `${header} has a marker that is not \${e2b.secrets.NAME}`);
  }
  const count = listRuleSecrets([{ host, headers }]).length;
  if (count > MAX_MARKERS) throw refuse(host, `expected at most ${MAX_MARKERS} secrets, got ${count}`);
}

function refuse(host: string, problem: string): ApiError {
  return badRequest(`network.rules: ${JSON.stringify(host.slice(0, MAX_SHOWN))}: ${problem}`);
}
