import type { Environment } from '@sandlot/config';
import { z } from 'zod';

/** How to convert the value of a flag to the value of a variable. */
type Form = 'text' | 'flag' | 'number' | 'port' | 'duration';

/**
 * The `meta` of a setting: the argument of the agent-sandbox-controller that sets it
 * (docs/reference/compatibility.md#compatibility-install).
 */
const flagOf = z.object({
  flag: z.string(),
  form: z.enum(['text', 'flag', 'number', 'port', 'duration']).default('text'),
});

/** Arguments that at least one of our controllers honours. The others ignore them without a warning. */
const HONOURED: ReadonlySet<string> = new Set([
  'sandbox-concurrent-workers',
  'sandbox-claim-concurrent-workers',
  'sandbox-warm-pool-concurrent-workers',
  'sandbox-write-behind-window',
  'disable-claim-events',
  'cluster-domain',
  'sandbox-template-concurrent-workers',
  'sandbox-warm-pool-max-batch-size',
  'leader-elect',
  'metrics-bind-address',
  'health-probe-bind-address',
]);

export interface FlagReading {
  /** The variables that the arguments set. */
  readonly env: Environment;
  /** One line for each argument that has no effect. */
  readonly warnings: readonly string[];
}

/**
 * Converts the arguments of the agent-sandbox-controller, in the syntax of Go's flags, to variables of this process. An
 * unknown argument only causes a warning, so that an argument of a later release does not break an installation.
 */
export function readFlags(schema: z.ZodObject, args: readonly string[]): FlagReading {
  const settings = mapSettingsByFlag(schema);
  const env: Record<string, string> = {};
  const warnings: string[] = [];
  for (const { name, value } of parseFlags(args)) {
    const setting = settings.get(name);
    if (setting !== undefined) env[setting.variable] = FORMATTERS[setting.form](value ?? 'true');
    else warnings.push(...listWarnings(name, value ?? 'true'));
  }
  return { env, warnings };
}

function listWarnings(name: string, value: string): string[] {
  if (HONOURED.has(name)) return [];
  if (name !== 'extensions') return [`warning: argument --${name} is not known to this controller and has no effect`];
  if (FORMATTERS.flag(value) !== 'false') return [];
  const instead = 'claimController.replicas and warmpoolController.replicas are 0';
  return [
    `warning: argument --extensions=false has no effect; claims, pools and templates are not served when ${instead}`,
  ];
}

const FORMATTERS: Readonly<Record<Form, (value: string) => string>> = {
  text: (value) => value,
  flag: (value) => (/^(1|t|true)$/i.test(value) ? 'true' : /^(0|f|false)$/i.test(value) ? 'false' : value),
  number: (value) => (Number.isFinite(Number(value)) ? String(Math.ceil(Number(value))) : value),
  port: (value) => value.slice(value.lastIndexOf(':') + 1),
  duration: (value) => (value === '0' ? '0s' : value),
};

function mapSettingsByFlag(
  schema: z.ZodObject,
): ReadonlyMap<string, { readonly variable: string; readonly form: Form }> {
  return new Map(
    Object.entries(schema.shape).flatMap(([variable, setting]) => {
      const { data } = flagOf.safeParse(z.globalRegistry.get(setting as z.ZodType));
      return data === undefined ? [] : [[data.flag, { variable, form: data.form }] as const];
    }),
  );
}

/** Parses `--name=value`, `-name=value`, `--name value` and, for true, `--name`. Skips everything else. */
function* parseFlags(args: readonly string[]): Iterable<{ readonly name: string; readonly value: string | undefined }> {
  for (const [index, argument] of args.entries()) {
    const [, name, value] = /^--?([a-z][\w-]*)(?:=(.*))?$/is.exec(argument) ?? [];
    if (name === undefined) continue;
    const next = args[index + 1];
    yield { name, value: value ?? (next?.startsWith('-') === false ? next : undefined) };
  }
}
