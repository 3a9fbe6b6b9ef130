import { Readable } from 'node:stream';
import type { Bus, FollowedEvent } from '@sandlot/bus';
import { parseSubject, subjectFor } from '@sandlot/bus';
import type { Clock } from '@sandlot/std';
import { z } from 'zod';
import type { Deps } from '../wiring/deps.ts';
import { ApiError, badRequest } from '../errors/api-error.ts';
import { endpoint, route } from '../http/route.ts';
import type { Answer, Route, TenantCall } from '../http/route.ts';
import * as schemas from './schemas.ts';
import { namespaceOf } from './scope.ts';

/** Proxies end what is silent for a minute. */
const COMMENT_EVERY_MS = 20_000;
type EventQuery = z.output<typeof schemas.eventQuery>;

/** Events of the key's namespace as server-sent events, from JetStream. */
export function eventRoutes(deps: Deps): readonly Route[] {
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
        headers: z.object({ 'Last-Event-ID': z.string().optional() }),
        answers: { 200: { description, schema: z.string(), type } },
      },
      async (call) => follow(deps, call),
    ),
  ];
}

function follow({ bus, clock, closing }: Deps, call: TenantCall<unknown, EventQuery>): Answer {
  const { key, query, header } = call;
  const signal = AbortSignal.any([call.signal, closing]);
  const namespace = namespaceOf(key, query);
  const wanted = query.type ?? '*';
  const events = bus.follow({
    filter: filterOf(namespace, wanted),
    afterSequence: placeIn(header('last-event-id')),
    sinceMs: query.since === undefined ? undefined : clock.now() - query.since * 1_000,
    signal,
  });
  if (events === undefined) {
    const message = 'events cannot be read now: the event bus cannot be reached';
    throw new ApiError({ status: 503, message, headers: { 'Retry-After': '5' } });
  }
  const content = Readable.from(messagesOf(events, { clock, signal, wanted }));
  return { status: 200, stream: { type: 'text/event-stream', content }, headers: { 'X-Accel-Buffering': 'no' } };
}

/** Subject of one namespace: its token is made by the bus, so that no name can reach another one's events. */
function filterOf(namespace: string, wanted: string): string {
  const [, token = ''] = subjectFor('claim.bound', namespace).split('.');
  const [kind = '*'] = wanted.split('.');
  const filter = `sandlot.${token}.${kind}.>`;
  if (parseSubject(`sandlot.${token}.claim.bound`)?.namespace !== namespace) throw badRequest('namespace: not a name');
  return filter;
}

function placeIn(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const place = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isNaN(place)) throw badRequest('Last-Event-ID: expected the id of an event');
  return place;
}

/** Whether a type fits `claim.*`, `pool.rollout.*`, `claim.bound` or `*`. */
function fits(type: string, wanted: string): boolean {
  if (wanted === '*') return true;
  return wanted.endsWith('.*') ? type.startsWith(wanted.slice(0, -1)) : type === wanted;
}

interface Feed {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly wanted: string;
}

async function* messagesOf(
  events: ReturnType<Bus['follow']> & object,
  { clock, signal, wanted }: Feed,
): AsyncGenerator<string> {
  yield ': events follow\n\n';
  let next = events.next();
  while (!signal.aborted) {
    const pause = new AbortController();
    const silence = clock.sleep(COMMENT_EVERY_MS, AbortSignal.any([signal, pause.signal])).then(() => undefined);
    const came = await Promise.race([next, silence]);
    pause.abort();
    if (came === undefined) {
      yield ': still here\n\n';
      continue;
    }
    if (came.done === true) return;
    next = events.next();
    if (fits(came.value.event.type, wanted)) yield messageOf(came.value);
  }
}

function messageOf({ sequence, event }: FollowedEvent): string {
  return `id: ${sequence}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}
