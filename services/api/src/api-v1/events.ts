import { Readable } from 'node:stream';
import type { Bus, FollowedEvent } from '@sandlot/bus';
import { parseSubject, formatSubject } from '@sandlot/bus';
import type { Clock } from '@sandlot/std';
import { z } from 'zod';
import { badRequest } from '../errors/api-error.ts';
import { notNow } from '../errors/refusals.ts';
import { endpoint, route } from '../http/route.ts';
import type { Answer, Route, TenantCall } from '../http/route.ts';
import * as schemas from './schemas.ts';
import { getNamespace } from './scope.ts';

export interface EventDeps {
  readonly bus: Pick<Bus, 'follow'>;
  readonly clock: Clock;
  /** Aborts at shutdown, which ends all streams. */
  readonly closing: AbortSignal;
}

/** Proxies close connections that are silent for a minute. */
const COMMENT_EVERY_MS = 20_000;
type EventCall = TenantCall<{
  params: unknown;
  query: z.output<typeof schemas.eventQuery>;
  headers: z.output<typeof schemas.eventHeaders>;
  body: unknown;
}>;

/** The events of a namespace, from JetStream, as server-sent events. */
export function buildEventRoutes(deps: EventDeps): readonly Route[] {
  const type = 'text/event-stream';
  const description =
    'CloudEvents, one per message; the id is the place in the stream, by which Last-Event-ID goes on where it ended.';
  return [
    route(
      {
        ...endpoint(
          'followEvents',
          'get /api/v1/events',
          'Follows what happens to claims, sandboxes, pools and templates.',
        ),
        tag: 'events',
        query: schemas.eventQuery,
        headers: schemas.eventHeaders,
        answers: { 200: { description, schema: z.string(), type } },
      },
      async (call) => follow(deps, call),
    ),
  ];
}

function follow({ bus, clock, closing }: EventDeps, call: EventCall): Answer {
  const { key, query } = call;
  const signal = AbortSignal.any([call.signal, closing]);
  const namespace = getNamespace(key, query);
  const pattern = query.type ?? '*';
  const events = bus.follow({
    filter: buildFilter(namespace, pattern),
    afterSequence: call.readHeaders()['Last-Event-ID'],
    sinceMs: query.since === undefined ? undefined : clock.now() - query.since * 1_000,
    signal,
  });
  if (events === undefined) {
    const message = 'events cannot be read now: the event bus cannot be reached';
    throw notNow(message, { afterSeconds: 5 });
  }
  const content = Readable.from(getMessages(events, { clock, signal, pattern }));
  return { status: 200, stream: { type: 'text/event-stream', content }, headers: { 'X-Accel-Buffering': 'no' } };
}

/** Subject filter for one namespace. The bus encodes the name, so that no name matches the events of another namespace. */
function buildFilter(namespace: string, pattern: string): string {
  const [, token = ''] = formatSubject('claim.bound', namespace).split('.');
  const [kind = '*'] = pattern.split('.');
  const filter = `sandlot.${token}.${kind}.>`;
  if (parseSubject(`sandlot.${token}.claim.bound`)?.namespace !== namespace) throw badRequest('namespace: not a name');
  return filter;
}

/** Whether an event type matches a pattern: `claim.bound`, `claim.*`, `pool.rollout.*` or `*`. */
function matches(type: string, pattern: string): boolean {
  if (pattern === '*') return true;
  return pattern.endsWith('.*') ? type.startsWith(pattern.slice(0, -1)) : type === pattern;
}

interface Feed {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly pattern: string;
}

async function* getMessages(
  events: ReturnType<Bus['follow']> & object,
  { clock, signal, pattern }: Feed,
): AsyncGenerator<string> {
  yield ': events follow\n\n';
  let next = events.next();
  while (!signal.aborted) {
    const pause = new AbortController();
    const silent = clock.sleep(COMMENT_EVERY_MS, AbortSignal.any([signal, pause.signal])).then(() => undefined);
    const received = await Promise.race([next, silent]);
    pause.abort();
    if (received === undefined) {
      yield ': still here\n\n';
      continue;
    }
    if (received.done === true) return;
    next = events.next();
    if (matches(received.value.event.type, pattern)) yield formatMessage(received.value);
  }
}

function formatMessage({ sequence, event }: FollowedEvent): string {
  return `id: ${sequence}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}
