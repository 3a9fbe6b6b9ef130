import type { Clock } from '@sandlot/std';
import type { ApiKey } from '@sandlot/tenancy';
import { DAY_MS, listPoints } from '@sandlot/usage';
import type { TeamPoint } from '@sandlot/usage';
import { z } from 'zod';
import { badRequest, forbidden } from '../../errors/api-error.ts';
import { notEnabled } from '../../errors/refusals.ts';
import { endpoint, route } from '../../http/route.ts';
import type { Route } from '../../http/route.ts';
import { readUsageDays } from '../../usage/usage-days.ts';
import type { UsageDeps } from '../../usage/usage-days.ts';
import { formatIsoTime } from '../answer/sandbox.ts';
import { metricsQuery } from '../request/schemas.ts';

export interface TeamMetricsDeps extends UsageDeps {
  readonly clock: Pick<Clock, 'now'>;
}

const TAG = 'E2B teams';
const DEFAULT_DAYS = 7;
const MOST_DAYS = 31;

const ownTeam = z.object({ teamID: z.string().min(1).max(63) });
const time = { timestamp: z.iso.datetime(), timestampUnix: z.int() };
const teamMetric = z
  .object({ ...time, concurrentSandboxes: z.int(), sandboxStartRate: z.number() })
  .meta({ id: 'TeamMetric' });
const mostOfTeam = z.object({ ...time, value: z.number() }).meta({ id: 'MaxTeamMetric' });
const maxQuery = metricsQuery.extend({ metric: z.enum(['concurrent_sandboxes', 'sandbox_start_rate']) });

/** How many sandboxes a team has had at a time, and how fast it has started them: from the ledger of usage. */
export function buildTeamMetricsRoutes(deps: TeamMetricsDeps): readonly Route[] {
  return [buildPointsRoute(deps), buildMostRoute(deps)];
}

function buildPointsRoute(deps: TeamMetricsDeps): Route {
  return route(
    {
      ...endpoint('getTeamMetrics', 'get /teams/{teamID}/metrics', 'Says how many sandboxes the team had over time.'),
      tag: TAG,
      params: ownTeam,
      query: metricsQuery,
      answers: { 200: { description: 'At most a thousand points, the oldest first.', schema: z.array(teamMetric) } },
    },
    async ({ key, params, query }) => {
      const points = await readPoints(deps, { key, team: params.teamID, query });
      const body = points.map((point) => ({
        ...formatTime(point),
        concurrentSandboxes: point.concurrent,
        sandboxStartRate: point.startRate,
      }));
      return { status: 200, body };
    },
  );
}

function buildMostRoute(deps: TeamMetricsDeps): Route {
  return route(
    {
      ...endpoint('getTeamMetricsMax', 'get /teams/{teamID}/metrics/max', 'Says when the team had the most sandboxes.'),
      tag: TAG,
      params: ownTeam,
      query: maxQuery,
      answers: { 200: { description: 'The first of the highest points.', schema: mostOfTeam } },
    },
    async ({ key, params, query }) => {
      const points = await readPoints(deps, { key, team: params.teamID, query });
      const pick = query.metric === 'concurrent_sandboxes' ? getConcurrent : getStartRate;
      const most = points.reduce((best, each) => (pick(each) > pick(best) ? each : best), points[0] ?? NO_POINT);
      return { status: 200, body: { ...formatTime(most), value: pick(most) } };
    },
  );
}

const NO_POINT: TeamPoint = { atMs: 0, concurrent: 0, startRate: 0 };
const getConcurrent = ({ concurrent }: TeamPoint): number => concurrent;
const getStartRate = ({ startRate }: TeamPoint): number => startRate;

function formatTime({ atMs }: TeamPoint): { readonly timestamp: string; readonly timestampUnix: number } {
  return { timestamp: formatIsoTime(atMs), timestampUnix: Math.floor(atMs / 1_000) };
}

interface Asked {
  readonly key: ApiKey;
  readonly team: string;
  readonly query: z.output<typeof metricsQuery>;
}

/** Throws an ApiError: 403 for another team and without a ledger, 400 for a range that no answer can have. */
async function readPoints(
  { usage, clock }: TeamMetricsDeps,
  { key, team, query }: Asked,
): Promise<readonly TeamPoint[]> {
  if (team !== key.namespace) throw forbidden('this API key is for another team');
  if (usage === undefined) throw notEnabled('team metrics are');
  const now = Math.floor(clock.now() / 1_000);
  const end = Math.min(query.end ?? now, now);
  const start = query.start ?? end - (DEFAULT_DAYS * DAY_MS) / 1_000;
  if (start > end) throw badRequest(`start (${start}) is later than end (${end}): expected Unix seconds in order`);
  if (end - start > (MOST_DAYS * DAY_MS) / 1_000) {
    throw badRequest(`start and end span more than ${MOST_DAYS} days: ask for a shorter time`);
  }
  const span = { startMs: start * 1_000, endMs: end * 1_000 };
  return listPoints(await readUsageDays(usage, key.namespace, span), span);
}
