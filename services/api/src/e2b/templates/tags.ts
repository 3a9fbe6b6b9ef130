// Which builds the tags of a template lead to. All that answers about tags is made from listAssignments.
import { createHash } from 'node:crypto';
import { annotations } from '@sandlot/api-types';
import type { ApiKey } from '@sandlot/tenancy';
import { badRequest } from '../../errors/api-error.ts';
import { getRequestedMs } from '../../state/snapshots.ts';
import { listNamed } from '../snapshots/find-snapshot.ts';
import { DEFAULT_TAG, findSnapshotName } from '../snapshots/snapshot-name.ts';
import { getCurrentBuild, toBuild } from './builds.ts';
import type { Build } from './builds.ts';
import { getBuildOf } from './built/built-listing.ts';
import type { BuiltTemplate, ListingDeps } from './built/built-listing.ts';
import { findBuiltName } from './built/built-name.ts';
import { findSource } from './find-source.ts';
import type { SourceDeps } from './find-source.ts';
import { findOwnBuilt } from './templates.ts';

/** A tag that was given to a build. The newest of a tag is the build that the tag leads to. */
export interface Assignment {
  /** A UUID. */
  readonly id: string;
  readonly tag: string;
  /** Epoch milliseconds. */
  readonly ms: number;
  readonly build: Build;
}

export type TagDeps = SourceDeps & ListingDeps;

/**
 * The tags of a template with the builds that they were given to. What no build made has the tag `default`, and a named snapshot
 * the tags of its name. Throws an ApiError 404 for an unknown template.
 */
export async function listAssignments(deps: TagDeps, key: ApiKey, text: string): Promise<readonly Assignment[]> {
  const built = await findOwnBuilt(deps, key, text);
  if (built !== undefined) return listBuiltAssignments(built);
  const source = await findSource(deps, key, text);
  const snapshot = source.kind === 'template' ? source.snapshot : undefined;
  const named = snapshot === undefined ? undefined : findSnapshotName(snapshot);
  if (named === undefined) {
    const build = getCurrentBuild(source);
    return [assign(DEFAULT_TAG, build, build.createdMs)];
  }
  const snapshots = await listNamed(deps.snapshots, key.namespace, named.name);
  return snapshots.map((each) =>
    assign(findSnapshotName(each)?.tag ?? DEFAULT_TAG, toBuild(each), getRequestedMs(each)),
  );
}

/** Each tag leads to one build, and only that is kept. */
function listBuiltAssignments({ tagged, builds }: BuiltTemplate): readonly Assignment[] {
  return tagged.map((template) => {
    const build = getBuildOf(template, builds);
    const givenMs = Date.parse(template.metadata.annotations?.[annotations.taggedAt] ?? '') || 0;
    // A later build of the tag takes it without a word about the time.
    const ms = Math.max(givenMs, build.finishedMs ?? build.createdMs);
    return assign(findBuiltName(template)?.tag ?? DEFAULT_TAG, build, ms);
  });
}

const TAG = /^[a-z0-9_.-]{1,128}$/;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** A tag of a request as templates have it. Throws an ApiError 400 for what can be none. */
export function readTag(text: string): string {
  const tag = text.trim().toLowerCase();
  if (TAG.test(tag) && !UUID.test(tag)) return tag;
  throw badRequest('tag: expected at most 128 of a-z, 0-9, -, _ and ., and no UUID');
}

function assign(tag: string, build: Build, ms: number): Assignment {
  return { id: formatUuid(`${build.id}/${tag}`), tag, ms, build };
}

/** A UUID that stays the same for the text: clients parse ids of assignments as UUIDs. Has the version for such names, 8. */
function formatUuid(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  );
}
