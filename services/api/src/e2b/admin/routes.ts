import { isMadeByApi } from '@sandlot/api-types';
import { isServed } from '@sandlot/service';
import type { ServedNamespaces } from '@sandlot/service';
import { z } from 'zod';
import { notServed } from '../../errors/api-error.ts';
import { endpoint, route } from '../../http/route.ts';
import type { Route } from '../../http/route.ts';
import type { TemplateBuilds } from '../../state/builds.ts';
import { hasEnded } from '../../state/builds.ts';
import { getState, isExpired, isReady } from '../../state/sandbox-state.ts';
import type { Informers } from '../../wiring/informers.ts';
import { teamParams } from '../keys/schemas.ts';
import { killAll } from './kill-all.ts';
import type { KillAllDeps } from './kill-all.ts';

export interface AdminDeps extends KillAllDeps {
  readonly namespaces: ServedNamespaces;
  readonly informers: Pick<Informers, 'claims'>;
  readonly builds: Pick<TemplateBuilds, 'delete' | 'listNamespace'>;
  readonly clock: KillAllDeps['clock'] & { now(): number };
}

/** Administration in the dialect of E2B: on the admin port, with an API key of the role admin as the token. */
const shape = { tag: 'E2B administration', access: 'admin', adminToken: true } as const;

export function buildAdminRoutes(deps: AdminDeps): readonly Route[] {
  return [buildKillRoute(deps), buildCountRoute(deps), buildCancelRoute(deps)];
}

function buildKillRoute(deps: AdminDeps): Route {
  return route(
    {
      ...endpoint('killTeamSandboxes', 'post /admin/teams/{teamID}/sandboxes/kill', 'Kills all sandboxes of a team.'),
      ...shape,
      params: teamParams,
      answers: {
        200: {
          description: 'How many it killed, and how many are still there.',
          schema: z.object({ killedCount: z.int(), failedCount: z.int() }),
        },
      },
      action: 'sandboxes.kill',
    },
    async ({ params: { teamID }, signal, trail }) => {
      assertServed(deps, teamID);
      trail.about({ namespace: teamID, name: teamID });
      return { status: 200, body: await killAll(deps, teamID, signal) };
    },
  );
}

function buildCountRoute({ informers, state, clock }: AdminDeps): Route {
  return route(
    {
      ...endpoint(
        'countRunningSandboxes',
        'get /admin/sandboxes/running-counts',
        'Counts the running sandboxes of each team.',
      ),
      ...shape,
      answers: {
        200: { description: 'By team; without those that have none.', schema: z.record(z.string(), z.int()) },
      },
    },
    async () => {
      const counts = new Map<string, number>();
      for (const claim of informers.claims.store.values()) {
        const isThere = claim.metadata.deletionTimestamp === undefined && !isExpired(claim, clock.now());
        if (!isThere || !isMadeByApi(claim) || !isReady(claim)) continue;
        if (getState(state.withSandbox(claim).sandbox) === 'paused') continue;
        const { namespace = '' } = claim.metadata;
        counts.set(namespace, (counts.get(namespace) ?? 0) + 1);
      }
      return { status: 200, body: Object.fromEntries(counts) };
    },
  );
}

function buildCancelRoute(deps: AdminDeps): Route {
  return route(
    {
      ...endpoint(
        'cancelTeamBuilds',
        'post /admin/teams/{teamID}/builds/cancel',
        'Ends all template builds of a team.',
      ),
      ...shape,
      params: teamParams,
      answers: {
        200: {
          description: 'How many it ended; they are gone then.',
          schema: z.object({ cancelledCount: z.int(), failedCount: z.int() }),
        },
      },
      action: 'builds.cancel',
    },
    async ({ params: { teamID }, trail }) => {
      assertServed(deps, teamID);
      trail.about({ namespace: teamID, name: teamID });
      // A namespace has a few builds that have not ended: more are refused.
      const ended = await Promise.allSettled(
        deps.builds
          .listNamespace(teamID)
          .filter((build) => !hasEnded(build))
          .map((build) => deps.builds.delete(build)),
      );
      const failedCount = ended.filter(({ status }) => status === 'rejected').length;
      return { status: 200, body: { cancelledCount: ended.length - failedCount, failedCount } };
    },
  );
}

function assertServed({ namespaces }: AdminDeps, teamID: string): void {
  if (!isServed(namespaces, teamID)) throw notServed(teamID);
}
