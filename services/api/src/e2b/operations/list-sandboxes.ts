import { z } from 'zod';
import { isMadeByApi } from '@sandlot/api-types';
import type { Clock } from '@sandlot/std';
import type { ApiKey } from '@sandlot/tenancy';
import { getCreatedAtMs } from '../../claim/lifetime.ts';
import { endpoint, route } from '../../http/route.ts';
import type { Answer, Route } from '../../http/route.ts';
import type { ClaimedSandbox, ClusterState } from '../../state/cluster-state.ts';
import type { SavedMemory } from '../../state/saved-memory.ts';
import { getState, isExpired, wasReady } from '../../state/sandbox-state.ts';
import { BY_NAMESPACE } from '../../wiring/informers.ts';
import { buildPage } from '../answer/page.ts';
import type { Entry } from '../answer/page.ts';
import { buildDetail, buildListing } from '../answer/sandbox.ts';
import type { AnswerOptions } from '../answer/sandbox.ts';
import { listedSandbox, sandboxDetail } from '../answer/schemas.ts';
import type { SandboxDetail } from '../answer/schemas.ts';
import { buildFilter } from '../request/list-filter.ts';
import { listQuery, oldListQuery } from '../request/schemas.ts';
import type { ListQuery } from '../request/schemas.ts';
import { findOwnSandbox } from './find-sandbox.ts';
import { oneSandbox, TAG } from './shape.ts';

export interface ListDeps {
  readonly savedMemory: SavedMemory;
  readonly state: Pick<ClusterState, 'claims' | 'findSandbox' | 'withSandbox'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly answers: AnswerOptions;
}

export function listRoutes(deps: ListDeps): readonly Route[] {
  return [listV2Route(deps), listV1Route(deps), buildDetailRoute(deps)];
}

function listV2Route(deps: ListDeps): Route {
  return route(
    {
      ...endpoint('listSandboxesV2', 'get /v2/sandboxes', 'Lists the sandboxes of the team, page by page.'),
      tag: TAG,
      query: listQuery,
      answers: {
        200: {
          description: 'A page.',
          schema: z.array(listedSandbox),
          headers: z.object({
            'x-next-token': z.string().optional().meta({ description: 'The next page; absent on the last.' }),
          }),
        },
      },
    },
    async ({ key, query }) => listPage(deps, key, query),
  );
}

function listV1Route(deps: ListDeps): Route {
  return route(
    {
      ...endpoint('listSandboxes', 'get /sandboxes', 'Lists the running sandboxes of the team.'),
      tag: TAG,
      query: oldListQuery,
      answers: { 200: { description: 'All of them.', schema: z.array(listedSandbox) } },
    },
    async ({ key, query }) => {
      const isWanted = buildFilter({ ...query, state: ['running'], startedAfter: undefined, template: undefined });
      const sandboxes = listEntries(deps, key).map(({ sandbox }) => sandbox);
      return { status: 200, body: sandboxes.filter(isWanted) };
    },
  );
}

function buildDetailRoute(deps: ListDeps): Route {
  return route(
    {
      ...endpoint('getSandbox', 'get /sandboxes/{sandboxID}', 'Says all about a sandbox.'),
      ...oneSandbox,
      answers: { 200: { description: 'The sandbox.', schema: sandboxDetail } },
    },
    async ({ key, params }) => {
      const claimed = await findOwnSandbox(deps, key, params.sandboxID);
      return { status: 200, body: { ...buildDetail(claimed, deps.answers), ...(await buildPauseMode(deps, claimed)) } };
    },
  );
}

/** Whether a paused sandbox goes on from memory. Only a Sandbox that hibernates costs a read. */
async function buildPauseMode(
  { savedMemory }: ListDeps,
  { sandbox }: ClaimedSandbox,
): Promise<Pick<SandboxDetail, 'pauseMode'>> {
  if (sandbox === undefined || getState(sandbox) !== 'paused') return {};
  return { pauseMode: (await savedMemory.find(sandbox)) === 'memory' ? 'full' : 'filesystem' };
}

function listPage(deps: ListDeps, key: ApiKey, query: ListQuery): Answer {
  const isWanted = buildFilter(query);
  const entries = listEntries(deps, key).filter(({ sandbox }) => isWanted(sandbox));
  const { items, nextToken } = buildPage(entries, query);
  return { status: 200, body: items, headers: nextToken === undefined ? {} : { 'x-next-token': nextToken } };
}

/** Every sandbox of the key's namespace that was Ready once and has not expired. */
function listEntries({ state, clock, answers }: ListDeps, { namespace }: ApiKey): Entry[] {
  const entries: Entry[] = [];
  for (const claim of state.claims.listByIndex(BY_NAMESPACE, namespace)) {
    const isGone = claim.metadata.deletionTimestamp !== undefined || isExpired(claim, clock.now());
    if (isGone || !isMadeByApi(claim) || !wasReady(claim)) continue;
    entries.push({ sandbox: buildListing(state.withSandbox(claim), answers), createdMs: getCreatedAtMs(claim) });
  }
  return entries;
}
