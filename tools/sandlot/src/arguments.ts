import { parseArgs } from 'node:util';
import { parseDurationMs } from '@sandlot/std';
import { CliError } from './errors.ts';

export interface EventsOptions {
  readonly kind: 'events' | 'dead-letters' | 'help';
  /** Whether to wait for new events. */
  readonly follow: boolean;
  readonly sinceMs: number | undefined;
  /** Pattern of event types. `*` stands for one word, or at the end for one or more. */
  readonly subject: string;
  readonly namespace: string | undefined;
  readonly json: boolean;
  readonly replay: boolean;
  readonly server: string | undefined;
  readonly kubeconfig: string | undefined;
}

export const eventsHelp = `  sandlot events [--follow] [--since 1h] [--subject 'claim.*'] [--namespace NAME] [-o json]
      shows lifecycle events, one per line
  sandlot events dead-letters [--replay] [-o json]
      shows events that a consumer gave up on; --replay puts them in the stream again

  --server URL       NATS server; user, password and authority from NATS_USER, NATS_PASSWORD and NATS_CA_FILE
                     (default: NATS_URL, else the one of the cluster that the kubeconfig names)
  --kubeconfig FILE  default: KUBECONFIG, else the one of \`npm run up\`
`;

const options = {
  follow: { type: 'boolean', short: 'f', default: false },
  since: { type: 'string' },
  subject: { type: 'string', default: '*' },
  namespace: { type: 'string', short: 'n' },
  output: { type: 'string', short: 'o', default: 'text' },
  replay: { type: 'boolean', default: false },
  server: { type: 'string' },
  kubeconfig: { type: 'string' },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

/** Parses the arguments of `sandlot events`. Throws CliError. */
export function parseEventsArguments(args: readonly string[]): EventsOptions {
  const { values, positionals } = parseOptions(args);
  const kind = getCommand(positionals);
  if (values.output !== 'text' && values.output !== 'json')
    throw buildUsageError(`-o takes text or json, not "${values.output}"`);
  if (!/^(\*|[a-z]+)(\.(\*|[a-z]+))*$/.test(values.subject)) {
    throw buildUsageError(`--subject takes types such as 'claim.*' or pool.ready, not "${values.subject}"`);
  }
  if (values.replay && kind !== 'dead-letters') throw buildUsageError('--replay belongs to dead-letters');
  return {
    kind: values.help ? 'help' : kind,
    follow: values.follow,
    sinceMs: values.since === undefined ? undefined : getDuration(values.since),
    subject: values.subject,
    namespace: values.namespace,
    json: values.output === 'json',
    replay: values.replay,
    server: values.server,
    kubeconfig: values.kubeconfig,
  };
}

function getCommand([command = 'events', ...rest]: readonly string[]): 'events' | 'dead-letters' {
  if (rest.length === 0 && (command === 'events' || command === 'dead-letters')) return command;
  throw buildUsageError(`"${[command, ...rest].join(' ')}" is no command`);
}

function parseOptions(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    throw buildUsageError(error instanceof Error ? error.message : String(error));
  }
}

function getDuration(text: string): number {
  const ms = parseDurationMs(text) ?? 0;
  if (ms > 0) return ms;
  throw buildUsageError(`--since takes a duration such as 15m or 1h30m, not "${text}"`);
}

function buildUsageError(problem: string): CliError {
  return new CliError(problem, `usage:\n${eventsHelp}`, 'Usage');
}
