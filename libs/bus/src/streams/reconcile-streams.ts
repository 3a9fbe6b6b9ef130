import { JetStreamApiError, jetstreamManager } from '@nats-io/jetstream';
import type { JetStreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';
import type { Logger } from '@sandlot/std';
import { decideStream } from './streams.ts';
import type { StreamDeclaration } from './streams.ts';

const REQUEST_TIMEOUT_MS = 5_000;
const STREAM_NOT_FOUND = 10_059;
const NAME_IN_USE = 10_058;

/** A declared setting that the server refuses, and why; without `field` it refuses the stream itself. */
export interface Refusal {
  readonly field?: string | undefined;
  readonly reason: string;
}

export interface StreamReport {
  readonly stream: string;
  readonly refusals: readonly Refusal[];
}

/**
 * Brings every declared stream into its declared shape as far as the server allows. Messages stay, and a refused setting does
 * not prevent the others. Logs and returns the refusals. Throws when the server does not answer.
 */
export async function reconcileStreams(
  connection: NatsConnection,
  declarations: readonly StreamDeclaration[],
  log: Logger,
): Promise<readonly StreamReport[]> {
  const manager = await jetstreamManager(connection, { checkAPI: false, timeout: REQUEST_TIMEOUT_MS });
  const reports: StreamReport[] = [];
  for (const declared of declarations) {
    const refusals = await reconcileStream(manager, declared, log);
    for (const { field, reason } of refusals) {
      const what = field === undefined ? 'the stream cannot be made' : 'a setting of the stream cannot be changed';
      log.error({ stream: declared.name, field, wanted: getWanted(declared, field), reason }, what);
    }
    reports.push({ stream: declared.name, refusals });
  }
  return reports;
}

async function reconcileStream(
  manager: JetStreamManager,
  declared: StreamDeclaration,
  log: Logger,
): Promise<readonly Refusal[]> {
  const { name: stream } = declared;
  const step = decideStream(declared, await readStream(manager, stream));
  switch (step.kind) {
    case 'keep':
      return [];
    case 'create': {
      const reason = await findRefusal(manager.streams.add(declared));
      if (reason === undefined) log.info({ stream }, 'stream created');
      return reason === undefined ? [] : [{ reason }];
    }
    case 'update': {
      const refused = await update(manager, declared, step.fields);
      const fields = step.fields.filter((field) => !refused.some((one) => one.field === field));
      if (fields.length > 0) log.info({ stream, fields }, 'stream updated');
      const fixed = step.fixed.map((field) => ({ field, reason: 'it is fixed when the stream is made' }));
      return [...refused, ...fixed];
    }
  }
}

/** Sets all fields at once or, when the server refuses that, one by one. */
async function update(
  manager: JetStreamManager,
  declared: StreamDeclaration,
  fields: readonly string[],
): Promise<Refusal[]> {
  const set = (some: readonly string[]): Promise<string | undefined> =>
    findRefusal(manager.streams.update(declared.name, pick(declared, some)));
  if (fields.length === 0) return [];
  let refused: Refusal[] = [];
  const reason = await set(fields);
  if (reason === undefined) return refused;
  // Twice, because the duplicate window must not exceed the retention: one order of the two fields always works.
  for (let rest = fields, round = 0; round < 2; round += 1) {
    refused = [];
    for (const field of rest) {
      const why = await set([field]);
      if (why !== undefined) refused.push({ field, reason: why });
    }
    rest = refused.map(({ field = '' }) => field);
  }
  return refused;
}

function pick(declared: StreamDeclaration, fields: readonly string[]): Partial<StreamDeclaration> {
  return Object.fromEntries(Object.entries(declared).filter(([field]) => fields.includes(field)));
}

function getWanted(declared: StreamDeclaration, field: string | undefined): unknown {
  return Object.entries(declared).find(([name]) => name === field)?.[1];
}

async function readStream(manager: JetStreamManager, name: string): Promise<StreamDeclaration | undefined> {
  try {
    return (await manager.streams.info(name)).config;
  } catch (error) {
    if (error instanceof JetStreamApiError && error.code === STREAM_NOT_FOUND) return undefined;
    throw error;
  }
}

/** The server's reason for a refusal; undefined without one. Another replica may have created the stream just now. */
async function findRefusal(request: Promise<unknown>): Promise<string | undefined> {
  try {
    await request;
    return undefined;
  } catch (error) {
    if (!(error instanceof JetStreamApiError)) throw error;
    return error.code === NAME_IN_USE ? undefined : error.message;
  }
}
