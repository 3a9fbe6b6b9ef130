import { labels } from '@sandlot/api-types';
import type { SandboxSnapshot } from '@sandlot/api-types';
import type { ApiKey } from '@sandlot/tenancy';
import type { Answer } from '../../http/route.ts';
import { getRequestedMs, isUsable } from '../../state/snapshots.ts';
import type { Snapshots } from '../../state/snapshots.ts';
import { buildPlacedPage, buildTokenHeader, newestFirst } from '../answer/placed-page.ts';
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
  const placed = wanted.map((item) => ({
    place: { ms: getRequestedMs(item), id: item.metadata.name ?? '' },
    item,
  }));
  const page = buildPlacedPage(placed, newestFirst, query);
  const body = page.items.map((snapshot) => buildSnapshotAnswer(snapshot, key.team));
  return { status: 200, body, headers: buildTokenHeader(page) };
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
