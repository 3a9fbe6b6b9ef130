import { JetStreamApiError } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import type { TlsOptions } from '@nats-io/transport-node';
import { formatInboxPrefix, openSession, readDeadLetters, replayDeadLetters } from '@sandlot/bus';
import type { Session } from '@sandlot/bus';
import { eventsHelp, parseEventsArguments } from './arguments.ts';
import type { EventsOptions } from './arguments.ts';
import { CliError } from './errors.ts';
import { EventTable, formatLetter } from './format.ts';
import type { Style } from './format.ts';
import { readEvents } from './read.ts';
import { createFilter, buildFilter } from './selection.ts';
import { findServer } from './server.ts';
import type { ServerAccess } from './server.ts';

export { eventsHelp };

export interface Terminal {
  readonly out: { write(text: string): unknown };
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly nowMs: number;
  /** Columns of the terminal. Undefined if the output is not a terminal. */
  readonly width: number | undefined;
  readonly signal: AbortSignal;
}

/** Runs `sandlot events`. Resolves with the exit code. Throws CliError. */
export async function runEventsCommand(args: readonly string[], terminal: Terminal): Promise<number> {
  const options = parseEventsArguments(args);
  if (options.kind === 'help') {
    terminal.out.write(eventsHelp);
    return 0;
  }
  await using stack = new AsyncDisposableStack();
  const session = await connectToServer(stack, options, terminal);
  const { width, env } = terminal;
  const style: Style = { json: options.json, colour: width !== undefined && env['NO_COLOR'] === undefined, width };
  try {
    if (options.kind === 'dead-letters') await showLetters(session, options, { terminal, style });
    else await showEvents(session, options, { terminal, style });
  } catch (error) {
    if (!(error instanceof JetStreamApiError)) throw error;
    const advice = 'Does the Deployment sandlot-streams run, and reach this server? It makes the streams.';
    throw new CliError(`the server has no events: ${error.message}`, advice);
  }
  return 0;
}

async function connectToServer(
  stack: AsyncDisposableStack,
  options: EventsOptions,
  { env }: Terminal,
): Promise<Session> {
  const user = options.replay ? 'events-replayer' : 'events-reader';
  const access = stack.use(await findServer({ ...options, env, user }));
  try {
    const connection = await connect({
      servers: access.url,
      name: 'sandlot-cli',
      timeout: 5_000,
      inboxPrefix: formatInboxPrefix(access.user),
      ...(access.user === undefined ? {} : { user: access.user }),
      ...buildTls(access.tls, env['NATS_CA_FILE']),
      ...(access.password === undefined ? {} : { pass: access.password }),
    });
    stack.defer(() => connection.close());
    return await openSession(connection, 5_000);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const where = access.url.replace(/\/\/[^/]*@/, '//');
    throw new CliError(`NATS at ${where} cannot be used: ${reason}`, 'Check --server, NATS_USER and NATS_PASSWORD.');
  }
}

/** A file that the user names wins over the authority from the cluster. */
function buildTls(found: ServerAccess['tls'], caFile: string | undefined): { tls?: TlsOptions } {
  if (caFile !== undefined) return { tls: { caFile } };
  return found === undefined ? {} : { tls: found };
}

interface Output {
  readonly terminal: Terminal;
  readonly style: Style;
}

async function showEvents(session: Session, options: EventsOptions, { terminal, style }: Output): Promise<void> {
  const { follow, sinceMs, subject, namespace } = options;
  const { nowMs, signal, out } = terminal;
  const isWanted = createFilter(subject, namespace);
  const reading = { sinceMs, nowMs, follow, isWanted, filter: buildFilter(subject), signal };
  const table = new EventTable(style);
  for await (const event of readEvents(session, reading)) out.write(`${table.add(event)}\n`);
  if (!style.json && !follow && table.isEmpty) out.write('No events.\n');
}

async function showLetters(
  session: Session,
  { replay, json }: EventsOptions,
  { terminal, style }: Output,
): Promise<void> {
  let count = 0;
  for await (const letter of replay ? replayDeadLetters(session) : readDeadLetters(session)) {
    count += 1;
    terminal.out.write(`${formatLetter(letter, style)}\n`);
  }
  if (count === 0 && !json) terminal.out.write('No dead letters.\n');
}
