import type { Clock } from '@sandlot/std';
import type { z } from 'zod';
import type { SandboxClaim } from '@sandlot/api-types';
import { readStoredEnvs } from '../../claim/env-secret.ts';
import { badRequest } from '../../errors/api-error.ts';
import { listStoredKeys, readHeaderValues } from '../../vault/stored-headers.ts';
import type { HeaderValues } from '../../vault/stored-headers.ts';
import { rulesNotAvailable } from '../egress/admit-rules.ts';
import type { Answer } from '../../http/route.ts';
import type { Limits } from '../../limits/limits.ts';
import { findOwnSandbox } from '../operations/find-sandbox.ts';
import { nameInAudit } from '../operations/shape.ts';
import type { SandboxCall } from '../operations/shape.ts';
import { assertTimeout } from '../request/timeout.ts';
import { findRefusal } from '../snapshots/refuse-save.ts';
import { assertNotSaved, discardSnapshot, saveSandbox } from '../snapshots/save-sandbox.ts';
import type { SaveDeps } from '../snapshots/save-sandbox.ts';
import type { forkRequest } from './schemas.ts';
import { startFork } from './start-fork.ts';
import type { ForkDeps } from './start-fork.ts';

export interface ForkRouteDeps extends ForkDeps, SaveDeps {
  readonly limits: Limits;
  readonly client: ForkDeps['client'];
  readonly log: SaveDeps['log'];
  readonly clock: Pick<Clock, 'now' | 'sleep'>;
  readonly createTimeoutMs: number;
}

const MAX_COUNT = 100;
/** A fork needs its snapshot for less than a minute after it was saved; if no replica deletes it, this does. */
const SNAPSHOT_TTL_SECONDS = 300;

/** Throws an ApiError 400. `limit`: sandboxes that the key may have at a time; 0: any number. */
function assertCount(count: number, limit: number): void {
  if (count < 1) throw badRequest('Count must be at least 1');
  if (count > MAX_COUNT) throw badRequest(`Count cannot be greater than ${MAX_COUNT}`);
  if (limit === 0 || count < limit) return;
  throw badRequest(`Count must be lower than the maximum number of concurrent sandboxes (${limit})`);
}

/** A fork has the headers of its source under the same keys, in a Secret of its own. Throws an ApiError 400 or 409. */
async function readHeaders({ client, vaultNamespace }: ForkRouteDeps, claim: SandboxClaim): Promise<HeaderValues> {
  if (listStoredKeys(claim).length === 0) return {};
  if (vaultNamespace === undefined) throw rulesNotAvailable();
  return readHeaderValues({ client, vaultNamespace }, claim);
}

/**
 * Saves the sandbox once and starts `count` sandboxes from it. Answers 201 when each of them is usable or has failed, with one
 * entry for each. Throws an ApiError if none was begun, after which nothing is left.
 */
export async function forkSandbox(
  deps: ForkRouteDeps,
  call: SandboxCall<z.output<typeof forkRequest>>,
): Promise<Answer> {
  const { key, params, body } = call;
  const { limits, clock, createTimeoutMs } = deps;
  const deadlineMs = clock.now() + createTimeoutMs;
  const allowance = limits.getAllowance(key);
  deps.snapshots.assertEnabled();
  assertCount(body.count, allowance.sandboxes);
  assertTimeout(body.timeout, allowance.maxTimeoutSeconds);
  limits.createRate.take(key);
  const source = await findOwnSandbox(deps, key, params.sandboxID);
  nameInAudit(call, source);
  const refusal = findRefusal(source, 'fork');
  if (refusal !== undefined) throw refusal;
  await assertNotSaved(deps.snapshots, source);
  const [envs, headers] = await Promise.all([readStoredEnvs(deps, source.claim), readHeaders(deps, source.claim)]);
  const places = limits.sandboxQuota.reserveEach(key, body.count);
  try {
    limits.createRate.spend(key, body.count - 1);
    const snapshot = await saveSandbox(deps, { source, key, kind: 'fork', ttlSeconds: SNAPSHOT_TTL_SECONDS });
    const forks = places.map((place) =>
      startFork(deps, { source, snapshot, key, envs, headers, place, deadlineMs, timeoutSeconds: body.timeout }),
    );
    // No fork ever rejects, so all are up or have failed, and the memory of each is its own.
    const entries = await Promise.all(forks);
    await discardSnapshot(deps, snapshot);
    return { status: 201, body: entries };
  } finally {
    for (const place of places) place[Symbol.dispose]();
  }
}
