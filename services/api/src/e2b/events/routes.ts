import type { Bus } from '@sandlot/bus';
import { Places } from '@sandlot/tenancy';
import { z } from 'zod';
import { ApiError, forbidden } from '../../errors/api-error.ts';
import { notNow } from '../../errors/refusals.ts';
import { endpoint, route } from '../../http/route.ts';
import type { Answer, Route } from '../../http/route.ts';
import { listEvents } from './list-events.ts';
import type { EventQuestion } from './list-events.ts';
import { eventAnswer, eventParams, eventQuery } from './schemas.ts';

export interface SandboxEventDeps {
  readonly bus: Pick<Bus, 'openHistory' | 'isConnected'>;
}

/** Readings of the stream at the same time: of one team, and of one replica in all. */
const PER_TEAM = 2;
const IN_ALL = 8;
const ALL = '*';

/** The events of the team's sandboxes, of the last seven days. */
export function buildSandboxEventRoutes(deps: SandboxEventDeps): readonly Route[] {
  const places = new Places();
  const shape = { tag: 'E2B events', query: eventQuery } as const;
  const answers = { 200: { description: 'A page.', schema: z.array(eventAnswer) } };
  return [
    route(
      {
        ...endpoint('listSandboxEvents', 'get /events/sandboxes', "Lists what happened to the team's sandboxes."),
        ...shape,
        answers,
      },
      ({ key, query }) => answer(deps, places, { ...query, namespace: key.namespace, sandboxId: undefined }),
    ),
    route(
      {
        ...endpoint('listEventsOfSandbox', 'get /events/sandboxes/{sandboxID}', 'Lists what happened to a sandbox.'),
        ...shape,
        params: eventParams,
        answers,
      },
      ({ key, query, params }) =>
        answer(deps, places, { ...query, namespace: key.namespace, sandboxId: params.sandboxID }),
    ),
  ];
}

async function answer({ bus }: SandboxEventDeps, places: Places, question: EventQuestion): Promise<Answer> {
  const history = bus.openHistory();
  if (history === undefined) throw forbidden('sandbox events are not kept in this installation');
  if (!bus.isConnected()) throw noBus();
  using inAll = places.take(ALL, { present: 0, limit: IN_ALL, wanted: 1 });
  using ofTeam = places.take(question.namespace, { present: 0, limit: PER_TEAM, wanted: 1 });
  if (inAll === undefined || ofTeam === undefined)
    throw notNow('too many requests for events at a time', { afterSeconds: 1 });
  try {
    return { status: 200, body: await listEvents(history, question) };
  } catch (cause) {
    throw cause instanceof ApiError ? cause : noBus();
  }
}

function noBus(): ApiError {
  return notNow('events cannot be read now: the event bus cannot be reached', { afterSeconds: 5 });
}
