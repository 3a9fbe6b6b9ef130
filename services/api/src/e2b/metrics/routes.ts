import { isMadeByApi } from '@sandlot/api-types';
import type { ApiKey } from '@sandlot/tenancy';
import { z } from 'zod';
import { badRequest } from '../../errors/api-error.ts';
import { endpoint, route } from '../../http/route.ts';
import type { Route } from '../../http/route.ts';
import type { ClaimedSandbox, ClusterState } from '../../state/cluster-state.ts';
import { isExpired } from '../../state/sandbox-state.ts';
import { sandboxMetric } from '../answer/schemas.ts';
import { findOwnSandbox } from '../operations/find-sandbox.ts';
import type { FindDeps } from '../operations/find-sandbox.ts';
import { oneSandbox, TAG } from '../operations/shape.ts';
import { metricsQuery, severalMetricsQuery } from '../request/schemas.ts';
import type { TimeRange } from './history/points.ts';
import { Samples } from './samples.ts';
import type { SamplesDeps } from './samples.ts';

export interface MetricsDeps extends SamplesDeps {
  readonly state: FindDeps['state'] & Pick<ClusterState, 'claims' | 'withSandbox'>;
}

const MAX_SANDBOXES = 100;

/** What sandboxes use and used: samples in Redis, which all replicas share, and the newest of this replica. */
export function buildMetricsRoutes(deps: MetricsDeps): readonly Route[] {
  const samples = new Samples(deps);
  return [buildSeveralRoute(deps, samples), buildOneRoute(deps, samples)];
}

function buildOneRoute(deps: MetricsDeps, samples: Samples): Route {
  return route(
    {
      ...endpoint('getSandboxMetrics', 'get /sandboxes/{sandboxID}/metrics', 'Says how much a sandbox uses and used.'),
      ...oneSandbox,
      query: metricsQuery,
      answers: {
        200: {
          description: 'Samples in ascending order; none when there are none, and its daemon does not answer.',
          schema: z.array(sandboxMetric),
        },
      },
    },
    async ({ key, params, query, signal }) => {
      const range = readRange(query, deps.clock.now());
      const claimed = await findOwnSandbox(deps, key, params.sandboxID);
      return { status: 200, body: await samples.readRange(claimed, range, signal) };
    },
  );
}

function buildSeveralRoute(deps: MetricsDeps, samples: Samples): Route {
  return route(
    {
      ...endpoint('listSandboxMetrics', 'get /sandboxes/metrics', 'Says how much several sandboxes used last.'),
      tag: TAG,
      query: severalMetricsQuery,
      answers: {
        200: {
          description: 'The last sample of each that runs and has one, by its id.',
          schema: z.object({ sandboxes: z.record(z.string(), sandboxMetric) }),
        },
      },
    },
    async ({ key, query, signal }) => {
      const { sandbox_ids: ids } = query;
      if (ids.length > MAX_SANDBOXES) {
        throw badRequest(`Too many sandboxes requested, maximum is ${MAX_SANDBOXES}`);
      }
      const found = [...new Set(ids)].flatMap((id) => findKnown(deps, key, id) ?? []);
      return { status: 200, body: { sandboxes: await samples.readLast(found, signal) } };
    },
  );
}

/** The range of a query; by default all there is. Throws an ApiError 400. */
function readRange({ start = 0, end }: z.output<typeof metricsQuery>, nowMs: number): TimeRange {
  const last = end ?? Math.floor(nowMs / 1_000);
  if (start > last) throw badRequest(`start (${start}) is later than end (${last}): expected Unix seconds in order`);
  return { start, end: end ?? Number.MAX_SAFE_INTEGER };
}

/** The sandbox of the key's team, as far as the watch has shown it: an answer about many asks the API server nothing. */
function findKnown({ state, clock }: MetricsDeps, { namespace }: ApiKey, id: string): ClaimedSandbox | undefined {
  const claim = state.claims.get(`${namespace}/${id}`);
  if (claim === undefined || !isMadeByApi(claim) || isExpired(claim, clock.now())) return undefined;
  return claim.metadata.deletionTimestamp === undefined ? state.withSandbox(claim) : undefined;
}
