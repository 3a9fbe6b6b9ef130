import { labels } from '@sandlot/api-types';
import type { SandboxSnapshot } from '@sandlot/api-types';
import type { ApiKey } from '@sandlot/tenancy';
import { badRequest } from '../../errors/api-error.ts';
import type { Answer } from '../../http/route.ts';
import { getRequestedMs, isUsable } from '../../state/snapshots.ts';
import type { Snapshots } from '../../state/snapshots.ts';
import { compareSnapshots, findOwnReference } from './find-snapshot.ts';
import type { SnapshotQuery } from './schemas.ts';
import { buildSnapshotAnswer, findSnapshotName } from './snapshot-name.ts';

export interface ListSnapshotsDeps {
  readonly snapshots: Snapshots;
}

/** The snapshots of the key's team, page by page, newest first; of those with the same name and tag the newest alone. */
export function listSnapshots({ snapshots }: ListSnapshotsDeps, key: ApiKey, query: SnapshotQuery): Answer {
  snapshots.assertEnabled();
  const isWanted = buildFilter(key, query);
  const usable = [...snapshots.list(key.namespace)].filter(isUsable).sort(compareSnapshots);
  const wanted = withoutSuperseded(usable).filter(isWanted);
  const from = query.nextToken === undefined || query.nextToken === '' ? 0 : findStart(wanted, query.nextToken);
  const page = wanted.slice(from, from + query.limit);
  const last = page.at(-1);
  const isMore = from + page.length < wanted.length && last !== undefined;
  return {
    status: 200,
    body: page.map((snapshot) => buildSnapshotAnswer(snapshot, key.team)),
    headers: isMore ? { 'x-next-token': encodeToken(last) } : {},
  };
}

/** A name with its tag leads to the newest; the others stay until nothing uses them. */
function withoutSuperseded(sorted: readonly SandboxSnapshot[]): SandboxSnapshot[] {
  const seen = new Set<string>();
  return sorted.filter((snapshot) => {
    const named = findSnapshotName(snapshot);
    const id = named === undefined ? `${snapshot.metadata.name ?? ''}/` : `${named.name}:${named.tag}`;
    const isFirst = !seen.has(id);
    seen.add(id);
    return isFirst;
  });
}

function buildFilter(key: ApiKey, { sandboxID, name }: SnapshotQuery): (snapshot: SandboxSnapshot) => boolean {
  const isOfSandbox = ({ metadata }: SandboxSnapshot): boolean =>
    sandboxID === undefined || sandboxID === '' || metadata.labels?.[labels.sandboxId] === sandboxID;
  if (name === undefined || name === '') return isOfSandbox;
  const reference = findOwnReference(key, name);
  return (snapshot) => {
    const named = findSnapshotName(snapshot);
    const isNamed = named !== undefined && named.name === reference?.name;
    return isNamed && (reference.tag === undefined || reference.tag === named.tag) && isOfSandbox(snapshot);
  };
}

function encodeToken(snapshot: SandboxSnapshot): string {
  return Buffer.from(`${getRequestedMs(snapshot)}__${snapshot.metadata.name ?? ''}`).toString('base64url');
}

/** Index of the first snapshot behind that of the token, which may be deleted by now. Throws an ApiError 400. */
function findStart(sorted: readonly SandboxSnapshot[], token: string): number {
  const [, ms, id] = /^(\d{1,15})__([a-z0-9.-]{1,253})$/.exec(Buffer.from(token, 'base64url').toString()) ?? [];
  if (ms === undefined || id === undefined) throw badRequest('nextToken: this is no token of a page');
  const isBehind = (snapshot: SandboxSnapshot): boolean => {
    const at = getRequestedMs(snapshot);
    return at < Number(ms) || (at === Number(ms) && (snapshot.metadata.name ?? '') > id);
  };
  const index = sorted.findIndex(isBehind);
  return index === -1 ? sorted.length : index;
}
