import { annotations, isReservedKey, rfc3339, sandboxClaims } from '@sandlot/api-types';
import type { SandboxClaim, SandboxClaimSpec } from '@sandlot/api-types';
import { z } from 'zod';
import type { Deps } from '../wiring/deps.ts';
import { takePlace } from '../limits/sandbox-quota.ts';
import { rateHeaders, takeCreate } from '../limits/create-rate.ts';
import { allowanceOf } from '../limits/allowance.ts';
import { badRequest } from '../errors/api-error.ts';
import { endpoint, route } from '../http/route.ts';
import type { Answer, Route, TenantCall } from '../http/route.ts';
import { present } from './present.ts';
import { BY_NAMESPACE } from '../wiring/informers.ts';
import { objectName } from './pools.ts';
import * as schemas from './schemas.ts';
import type { NewClaim } from './schemas.ts';
import { namespaceOf } from './scope.ts';
import { claimView } from './views.ts';

const TAG = 'claims';
const { named, scope, claimWait } = schemas;
type Wait = z.output<typeof claimWait>;

/** Claims as they are in Kubernetes: one sandbox, or a batch of them. */
export function claimRoutes(deps: Deps): readonly Route[] {
  return [...readsOf(deps), ...writesOf(deps)];
}

const one = { description: 'The claim.', schema: schemas.claim };

function readsOf(deps: Deps): readonly Route[] {
  const { client, world } = deps;
  return [
    route(
      {
        ...endpoint('listClaims', 'get /api/v1/claims', 'Lists the claims.'),
        tag: TAG,
        query: scope,
        answers: { 200: { description: 'All of them.', schema: z.array(schemas.claim) } },
      },
      async ({ key, query }) => {
        const namespace = namespaceOf(key, query);
        const claims = [
          ...world.claims.all([BY_NAMESPACE, namespace], ({ metadata }) => metadata.namespace === namespace),
        ];
        return { status: 200, body: claims.map(claimView).sort((a, b) => (a.name < b.name ? -1 : 1)) };
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
        const claim = await client.get(sandboxClaims, { namespace: namespaceOf(key, query), name: objectName(name) });
        return { status: 200, body: claimView(await served(deps, claim, { wait: query.wait, signal })) };
      },
    ),
  ];
}

function writesOf(deps: Deps): readonly Route[] {
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
        ...endpoint(
          'deleteClaim',
          'delete /api/v1/claims/{name}',
          'Deletes a claim; the sandbox of a single one goes with it.',
        ),
        tag: TAG,
        params: named,
        query: scope,
        answers: { 204: { description: 'Done.' } },
        action: 'claim.delete',
      },
      async ({ key, query, params: { name }, trail }) => {
        const namespace = namespaceOf(key, query);
        trail.about({ namespace, name });
        const claim = deps.world.claims.get(`${namespace}/${name}`);
        if (claim !== undefined) await deps.ledger.keep(claim, 'claim');
        await client.delete(sandboxClaims, { namespace, name: objectName(name) });
        return { status: 204 };
      },
    ),
  ];
}

async function createClaim(deps: Deps, call: TenantCall<unknown, Wait, NewClaim>): Promise<Answer> {
  const { key, query, body, trail, signal } = call;
  const namespace = namespaceOf(key, query);
  trail.about({ namespace, name: body.name });
  const allowance = allowanceOf(key, deps.settings);
  const headers = rateHeaders(takeCreate(deps, key, allowance.createsPerSecond));
  const { maxTimeoutSeconds: max } = allowance;
  if (max > 0 && (body.timeoutSeconds ?? 0) > max) throw badRequest(`timeoutSeconds: expected at most ${max}`);
  const claim = claimOf(body, { namespace, keyId: key.id, nowMs: deps.clock.now() });
  const { world, client } = deps;
  const place = takePlace(deps, key, body.replicas);
  const made = await world.claims
    .write(`${namespace}/${body.name}`, () => client.create(sandboxClaims, claim))
    .finally(() => place[Symbol.dispose]());
  trail.about({ name: body.name, uid: made.metadata.uid ?? '' });
  const shown = await served(deps, made, { wait: query.wait, signal });
  return { status: 201, body: claimView(shown), headers };
}

interface ClaimPlace {
  readonly namespace: string;
  readonly keyId: string;
  readonly nowMs: number;
}

function claimOf(body: NewClaim, { namespace, keyId, nowMs }: ClaimPlace): SandboxClaim {
  const { name, pool, template, replicas, labels = {}, timeoutSeconds } = body;
  const { claimTimeout, createOnNoStock, ttlSecondsAfterCompleted } = body;
  const reserved = Object.keys(labels).find(isReservedKey);
  if (reserved !== undefined) throw badRequest(`labels: "${reserved}" is set by the system`);
  const spec: SandboxClaimSpec = present({
    warmPoolRef: refTo(pool),
    sandboxTemplateRef: refTo(template),
    replicas: replicas === 1 ? undefined : replicas,
    claimTimeout,
    createOnNoStock,
    ttlSecondsAfterCompleted,
    lifecycle: endingAfter(timeoutSeconds, nowMs),
  });
  return { metadata: { namespace, name, labels, annotations: { [annotations.apiKeyId]: keyId } }, spec };
}

function refTo(name: string | undefined): { readonly name: string } | undefined {
  return name === undefined ? undefined : { name };
}

function endingAfter(seconds: number | undefined, nowMs: number): SandboxClaimSpec['lifecycle'] {
  if (seconds === undefined) return undefined;
  return { shutdownTime: rfc3339(nowMs + seconds * 1_000), shutdownPolicy: 'Delete' };
}

interface Patience {
  readonly wait: number | undefined;
  readonly signal: AbortSignal;
}

/** The claim once it is served or given up, or as it is when the caller's patience ends. */
async function served({ world }: Deps, claim: SandboxClaim, { wait = 0, signal }: Patience): Promise<SandboxClaim> {
  if (wait === 0) return claim;
  const done = await world.settle(
    { claim, sandbox: undefined },
    (held) => (isSettled(held?.claim ?? claim) ? held : undefined),
    { timeoutMs: wait * 1_000, signal },
  );
  return done?.claim ?? world.claims.get(`${claim.metadata.namespace ?? ''}/${claim.metadata.name ?? ''}`) ?? claim;
}

function isSettled({ status }: SandboxClaim): boolean {
  return status?.phase === 'Completed' || status?.phase === 'Failed' || status?.phase === 'Expired';
}
