import { parseArgs } from 'node:util';
import { parseDurationMs } from '@sandlot/std';
import { CliError } from '../errors.ts';

export const hibernationsHelp = `  sandlot hibernations list [--node NODE] [--namespace NAME] [-o json]
      shows the Sandboxes that sleep with their memory, and what each would wake with now
  sandlot hibernations refresh [--node NODE] [--namespace NAME] [--all] [--concurrency 4] [--timeout 3m] [-o json]
      wakes the Sandboxes whose memory no node can restore any more, and suspends each again, as it was, once it runs;
      --all does that with all that sleep. Interrupted, it suspends what is awake; another run finishes what a kill left
      exit code 1: some were not refreshed

  --node NODE        those alone whose memory lies on this node
  --kubeconfig FILE  default: KUBECONFIG, else the one of \`npm run up\`
`;

const options = {
  node: { type: 'string' },
  namespace: { type: 'string', short: 'n' },
  all: { type: 'boolean', default: false },
  concurrency: { type: 'string', default: '4' },
  timeout: { type: 'string', default: '3m' },
  output: { type: 'string', short: 'o', default: 'text' },
  kubeconfig: { type: 'string' },
} as const;

const MOST_AT_A_TIME = 64;

export interface HibernationsOptions {
  readonly command: 'list' | 'refresh';
  readonly node: string | undefined;
  readonly namespace: string | undefined;
  readonly all: boolean;
  readonly concurrency: number;
  readonly limitMs: number;
  readonly json: boolean;
  readonly kubeconfig: string | undefined;
}

/** Parses the arguments of `sandlot hibernations`. Throws CliError. */
export function parseHibernationsArguments(args: readonly string[]): HibernationsOptions {
  const { values, positionals } = parseOptions(args);
  const [command, ...rest] = positionals;
  if ((command !== 'list' && command !== 'refresh') || rest.length > 0) {
    throw buildUsageError(`"hibernations ${positionals.join(' ')}" is no command`);
  }
  const { node, namespace, all, kubeconfig } = values;
  const concurrency = readConcurrency(values.concurrency);
  const limitMs = readLimitMs(values.timeout);
  if (values.output !== 'text' && values.output !== 'json')
    throw buildUsageError(`-o takes text or json, not "${values.output}"`);
  return { command, node, namespace, all, concurrency, limitMs, json: values.output === 'json', kubeconfig };
}

function readConcurrency(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1 && count <= MOST_AT_A_TIME) return count;
  throw buildUsageError(`--concurrency takes a number from 1 to ${MOST_AT_A_TIME}, not "${text}"`);
}

function readLimitMs(text: string): number {
  const ms = parseDurationMs(text) ?? 0;
  if (ms > 0) return ms;
  throw buildUsageError(`--timeout takes a duration such as 3m, not "${text}"`);
}

function parseOptions(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    throw buildUsageError(error instanceof Error ? error.message : String(error));
  }
}

function buildUsageError(problem: string): CliError {
  return new CliError(problem, `usage:\n${hibernationsHelp}`, 'Usage');
}
