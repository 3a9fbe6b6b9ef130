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
import { Samples } from './samples.ts';
import type { SamplesDeps } from './samples.ts';

export interface MetricsDeps extends SamplesDeps {
  readonly state: FindDeps['state'] & Pick<ClusterState, 'claims' | 'withSandbox'>;
}

const MAX_SANDBOXES = 100;

/** What sandboxes use: each replica serves what it has seen itself. */
export function buildMetricsRoutes(deps: MetricsDeps): readonly Route[] {
  const samples = new Samples(deps);
  return [buildSeveralRoute(deps, samples), buildOneRoute(deps, samples)];
}

function buildOneRoute(deps: MetricsDeps, samples: Samples): Route {
  return route(
    {
      ...endpoint('getSandboxMetrics', 'get /sandboxes/{sandboxID}/metrics', 'Says how much a sandbox uses now.'),
      ...oneSandbox,
      query: metricsQuery,
      answers: {
        200: {
          description: 'One sample, or none when its daemon does not answer.',
          schema: z.array(sandboxMetric),
        },
      },
    },
    async ({ key, params, signal }) => {
      const sample = await samples.read(await findOwnSandbox(deps, key, params.sandboxID), signal);
      return { status: 200, body: sample === undefined ? [] : [sample] };
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

/** The sandbox of the key's team, as far as the watch has shown it: an answer about many asks the API server nothing. */
function findKnown({ state, clock }: MetricsDeps, { namespace }: ApiKey, id: string): ClaimedSandbox | undefined {
  const claim = state.claims.get(`${namespace}/${id}`);
  if (claim === undefined || !isMadeByApi(claim) || isExpired(claim, clock.now())) return undefined;
  return claim.metadata.deletionTimestamp === undefined ? state.withSandbox(claim) : undefined;
}
