import { sandboxClaims } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import type { KubeClient, ObjectKey } from '@sandlot/kube';
import type { Clock } from '@sandlot/std';
import { z } from 'zod';
import { buildV1Claim } from '../claim/build-v1-claim.ts';
import { notFound } from '../errors/api-error.ts';
import { notEnabled } from '../errors/refusals.ts';
import { endpoint, route } from '../http/route.ts';
import type { Answer, Route, TenantCall } from '../http/route.ts';
import type { CreateLedger } from '../idempotency/ledger.ts';
import { buildRateHeaders } from '../limits/create-rate.ts';
import type { Limits } from '../limits/limits.ts';
import { readRefusals } from '../refusals/read-refusals.ts';
import type { EgressReplicas } from '../replicas/ask-replicas.ts';
import type { ClusterState } from '../state/cluster-state.ts';
import { isOfRunningBuild } from '../state/of-running-build.ts';
import { BY_NAMESPACE } from '../wiring/informers.ts';
import * as schemas from './schemas.ts';
import type { ClaimView, NewClaim } from './schemas.ts';
import { getNamespace, formatObjectName } from './scope.ts';
import { claimView } from './views.ts';

export interface ClaimDeps {
  readonly client: Pick<KubeClient, 'get' | 'create' | 'delete'>;
  readonly state: Pick<ClusterState, 'claims' | 'waitUntil' | 'withSandbox'>;
  readonly limits: Limits;
  readonly ledger: Pick<CreateLedger, 'keep'>;
  readonly clock: Pick<Clock, 'now'>;
  /** Where the egress proxy counts what it refuses; absent: the installation has none. */
  readonly egressReplicas?: EgressReplicas | undefined;
}

const TAG = 'claims';
const { named, scope, claimWait } = schemas;
type CreateCall = TenantCall<{
  params: unknown;
  query: z.output<typeof claimWait>;
  headers: unknown;
  body: NewClaim;
}>;

/** Claims as Kubernetes has them: one sandbox, or a batch. */
export function claimRoutes(deps: ClaimDeps): readonly Route[] {
  return [...listReads(deps), buildEgressRoute(deps), ...listWrites(deps)];
}

const one = { description: 'The claim.', schema: schemas.claim };

function listReads(deps: ClaimDeps): readonly Route[] {
  const { client, state } = deps;
  return [
    route(
      {
        ...endpoint('listClaims', 'get /api/v1/claims', 'Lists the claims.'),
        tag: TAG,
        query: scope,
        answers: { 200: { description: 'All of them.', schema: z.array(schemas.claim) } },
      },
      async ({ key, query }) => {
        const namespace = getNamespace(key, query);
        const view = (claim: SandboxClaim): ClaimView => claimView(state.withSandbox(claim));
        const claims = [...state.claims.listByIndex(BY_NAMESPACE, namespace)];
        return { status: 200, body: claims.map(view).sort((a, b) => (a.name < b.name ? -1 : 1)) };
      },
    ),
    route(
      {
        ...endpoint('getClaim', 'get /api/v1/claims/{name}', 'Says what has become of a claim.'),
        tag: TAG,
        params: named,
        query: claimWait,
        answers: { 200: one },
      },
      async ({ key, query, params: { name }, signal }) => {
        const claim = await getVisibleClaim(client, { namespace: getNamespace(key, query), name });
        const shown = await waitUntilServed(deps, claim, { wait: query.wait, signal });
        return { status: 200, body: claimView(state.withSandbox(shown)) };
      },
    ),
  ];
}

function buildEgressRoute({ client, egressReplicas }: ClaimDeps): Route {
  return route(
    {
      ...endpoint(
        'getClaimEgress',
        'get /api/v1/claims/{name}/egress',
        'Says which destinations the egress proxy has refused to the sandboxes of a claim.',
      ),
      tag: TAG,
      params: named,
      query: scope,
      answers: { 200: { description: 'The destinations.', schema: schemas.claimEgress } },
    },
    async ({ key, query, params: { name }, signal }) => {
      if (egressReplicas === undefined) throw notEnabled('names of egress are');
      const namespace = getNamespace(key, query);
      const { metadata } = await getVisibleClaim(client, { namespace, name });
      const { refusals, isComplete } = await readRefusals(
        egressReplicas,
        { namespace, uid: metadata.uid ?? '' },
        signal,
      );
      return { status: 200, body: { refusals, complete: isComplete } };
    },
  );
}

function listWrites(deps: ClaimDeps): readonly Route[] {
  const { client } = deps;
  return [
    route(
      {
        ...endpoint('createClaim', 'post /api/v1/claims', 'Claims a sandbox, or with replicas a batch of them.'),
        tag: TAG,
        query: claimWait,
        body: schemas.newClaim,
        answers: { 201: one },
        action: 'claim.create',
      },
      (call) => createClaim(deps, call),
    ),
    route(
      {
        ...endpoint('deleteClaim', 'delete /api/v1/claims/{name}', 'Deletes a claim and its sandboxes.'),
        tag: TAG,
        params: named,
        query: scope,
        answers: { 204: { description: 'Done.' } },
        action: 'claim.delete',
      },
      async ({ key, query, params: { name }, trail }) => {
        const namespace = getNamespace(key, query);
        trail.about({ namespace, name });
        const claim = deps.state.claims.get(`${namespace}/${name}`);
        if (claim === undefined) await getVisibleClaim(client, { namespace, name });
        else await deps.ledger.keep(claim, 'claim');
        await client.delete(sandboxClaims, { namespace, name: formatObjectName(name) });
        return { status: 204 };
      },
    ),
  ];
}

/** The claim as the API server has it. Rejects with a KubeError, or with an ApiError 404 for one in which a build runs. */
async function getVisibleClaim(client: ClaimDeps['client'], { namespace, name }: ObjectKey): Promise<SandboxClaim> {
  const claim = await client.get(sandboxClaims, { namespace, name: formatObjectName(name) });
  if (isOfRunningBuild(claim)) throw notFound(`there is nothing called '${name}'`);
  return claim;
}

async function createClaim(deps: ClaimDeps, call: CreateCall): Promise<Answer> {
  const { state, client, limits, clock } = deps;
  const { key, query, body, trail, signal } = call;
  const namespace = getNamespace(key, query);
  trail.about({ namespace, name: body.name });
  const headers = buildRateHeaders(limits.createRate.take(key));
  const allowance = limits.getAllowance(key);
  const claim = buildV1Claim(body, { namespace, keyId: key.id, allowance, nowMs: clock.now() });
  const place = limits.sandboxQuota.reserve(key, body.replicas);
  const created = await state.claims
    .write(`${namespace}/${body.name}`, () => client.create(sandboxClaims, claim))
    .finally(() => place[Symbol.dispose]());
  trail.about({ name: body.name, uid: created.metadata.uid ?? '' });
  const shown = await waitUntilServed(deps, created, { wait: query.wait, signal });
  return { status: 201, body: claimView(state.withSandbox(shown)), headers };
}

interface WaitOptions {
  /** Seconds; undefined or 0: no wait. */
  readonly wait: number | undefined;
  readonly signal: AbortSignal;
}

/** The claim once it has completed, failed or expired; or as it is when the wait is over. */
async function waitUntilServed(
  { state }: ClaimDeps,
  claim: SandboxClaim,
  { wait = 0, signal }: WaitOptions,
): Promise<SandboxClaim> {
  if (wait === 0) return claim;
  const done = await state.waitUntil(
    { claim, sandbox: undefined },
    (current) => (isFinal(current?.claim ?? claim) ? current : undefined),
    { timeoutMs: wait * 1_000, signal },
  );
  return done?.claim ?? state.claims.get(`${claim.metadata.namespace ?? ''}/${claim.metadata.name ?? ''}`) ?? claim;
}

function isFinal({ status }: SandboxClaim): boolean {
  return status?.phase === 'Completed' || status?.phase === 'Failed' || status?.phase === 'Expired';
}
