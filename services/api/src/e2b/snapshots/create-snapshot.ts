import type { SandboxSnapshot } from '@sandlot/api-types';
import type { ApiKey } from '@sandlot/tenancy';
import type { z } from 'zod';
import { badRequest } from '../../errors/api-error.ts';
import { notEnabled } from '../../errors/refusals.ts';
import type { Answer } from '../../http/route.ts';
import type { Limits } from '../../limits/limits.ts';
import { findOwnSandbox } from '../operations/find-sandbox.ts';
import type { FindDeps } from '../operations/find-sandbox.ts';
import { nameInAudit } from '../operations/shape.ts';
import type { SandboxCall } from '../operations/shape.ts';
import type { snapshotHeaders } from '../request/headers.ts';
import { hasBuilt } from '../templates/built/built-templates.ts';
import { findTemplateByName } from '../templates/find-source.ts';
import type { SourceDeps } from '../templates/find-source.ts';
import { findUse } from './delete-snapshot.ts';
import type { DeleteSnapshotDeps } from './delete-snapshot.ts';
import { listNamed } from './find-snapshot.ts';
import { findRefusal } from './refuse-save.ts';
import { discardSnapshot, saveSandbox } from './save-sandbox.ts';
import type { SaveDeps, SaveWish } from './save-sandbox.ts';
import type { newSnapshot } from './schemas.ts';
import { buildSnapshotAnswer, findSnapshotName, readSnapshotName } from './snapshot-name.ts';
import type { SnapshotName } from './snapshot-name.ts';

export interface CreateSnapshotDeps extends SaveDeps, SourceDeps, DeleteSnapshotDeps {
  readonly snapshots: SaveDeps['snapshots'];
  readonly informers: SourceDeps['informers'] & DeleteSnapshotDeps['informers'];
  readonly state: FindDeps['state'] & DeleteSnapshotDeps['state'] & SaveDeps['state'];
  readonly client: SourceDeps['client'] & SaveDeps['client'];
  readonly limits: Pick<Limits, 'createRate'>;
}

/** Answers 201 with the id of a snapshot from which sandboxes can start. The sandbox goes on, and stands still meanwhile. */
export async function createSnapshot(
  deps: CreateSnapshotDeps,
  call: SandboxCall<z.output<typeof newSnapshot>, z.output<typeof snapshotHeaders>>,
): Promise<Answer> {
  const { key, params, body } = call;
  deps.snapshots.assertEnabled();
  if (body.memory === false) throw notEnabled('filesystem snapshots are');
  deps.limits.createRate.take(key);
  const headers = call.readHeaders();
  const named = typeof body.name === 'string' ? readSnapshotName(body.name, key.team) : undefined;
  const source = await findOwnSandbox(deps, key, params.sandboxID);
  nameInAudit(call, source);
  const refusal = findRefusal(source, 'snapshot');
  if (refusal !== undefined) throw refusal;
  if (named !== undefined) await assertNameIsFree(deps, key, named);
  const snapshot = await saveSandbox(deps, { source, key, kind: 'snapshot', named, ...readWish(headers) });
  await dropSuperseded(deps, key, snapshot);
  return { status: 201, body: buildSnapshotAnswer(snapshot, key.team) };
}

/** What the other headers say is so for every snapshot. */
function readWish(headers: z.output<typeof snapshotHeaders>): Pick<SaveWish, 'ttlSeconds' | 'waitMs'> {
  const { 'x-e2b-kruise-snapshot-ttl': ttlSeconds, 'x-e2b-kruise-snapshot-wait-success-seconds': waitSeconds } =
    headers;
  return { ttlSeconds, waitMs: waitSeconds === undefined ? undefined : waitSeconds * 1_000 };
}

/** The name of a template always means that template, so a snapshot of the same name could not be found. */
async function assertNameIsFree(deps: SourceDeps, { namespace }: ApiKey, { name }: SnapshotName): Promise<void> {
  const isFree =
    (await findTemplateByName(deps, namespace, name)) === undefined && !(await hasBuilt(deps, namespace, name));
  if (isFree) return;
  throw badRequest(`name: '${name}' is the name of a template; choose another one`);
}

/** The name now leads to the new snapshot, so earlier ones of the same tag go, unless a sandbox made from them is left. */
async function dropSuperseded(deps: CreateSnapshotDeps, key: ApiKey, snapshot: SandboxSnapshot): Promise<void> {
  const named = findSnapshotName(snapshot);
  if (named === undefined) return;
  const before = (await listNamed(deps.snapshots, key.namespace, named.name)).filter(
    (other) => findSnapshotName(other)?.tag === named.tag && other.metadata.uid !== snapshot.metadata.uid,
  );
  const unused = before.filter((other) => findUse(deps, key, [other]) === undefined);
  await Promise.all(unused.map((other) => discardSnapshot(deps, other)));
}
