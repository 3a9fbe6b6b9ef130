import type { z } from 'zod';
import type { ConfigProblem } from './errors.ts';
import { ConfigError } from './errors.ts';

/** What a process reads its settings from; `process.env` in `main.ts`, a literal in tests. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Settings from the variables named by the keys of `schema`. An empty variable counts as not set, which is how charts
 * render an absent value. Throws {@link ConfigError} naming every wrong variable; secret values are never part of it.
 */
export function loadConfig<S extends z.ZodObject>(schema: S, env: Environment): z.output<S> {
  const given: Record<string, string> = {};
  for (const name of Object.keys(schema.shape)) {
    const value = env[name];
    if (value !== undefined && value !== '') given[name] = value;
  }
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  throw new ConfigError(listProblems(given, parsed.error));
}

/** The first problem of each variable: a second one about the same text does not help. */
function listProblems(given: Environment, error: z.ZodError): ConfigProblem[] {
  const problems = new Map<string, ConfigProblem>();
  for (const issue of error.issues) {
    const variable = String(issue.path[0] ?? '(environment)');
    if (problems.has(variable)) continue;
    problems.set(variable, { variable, expected: issue.message, got: describeValue(variable, given[variable]) });
  }
  return [...problems.values()];
}

/** The name decides, not the type: a password read as plain text must not end up in a log either. */
const SECRET_NAME = /PASSWORD|SECRET|TOKEN|CREDENTIAL|PRIVATE_KEY|SIGNING_KEY|SEED/;

const LONGEST_SHOWN = 80;

function describeValue(name: string, value: string | undefined): string {
  if (value === undefined) return 'nothing';
  if (SECRET_NAME.test(name)) return 'a value that is not shown';
  const withoutCredentials = value.replaceAll(/\/\/[^/\s]*@/g, '//[secret]@');
  const cut = withoutCredentials.slice(0, LONGEST_SHOWN);
  return cut.length < withoutCredentials.length ? `${JSON.stringify(cut)}...` : JSON.stringify(cut);
}
