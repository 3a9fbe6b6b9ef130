// How clients name snapshots: `team/name:tag`, or `<generated id>:default` (docs/reference/e2b-api.md#snapshots).
import { annotations } from '@sandlot/api-types';
import type { SandboxSnapshot } from '@sandlot/api-types';
import { badRequest } from '../../errors/api-error.ts';

/** What a name without a tag means. */
export const DEFAULT_TAG = 'default';

/** The parts of a reference, in lower case. */
export interface SnapshotReference {
  readonly team: string | undefined;
  readonly name: string;
  readonly tag: string | undefined;
}

/** Name and tag of a new snapshot. */
export interface SnapshotName {
  readonly name: string;
  readonly tag: string;
}

const REFERENCE = /^(?:([^/:]+)\/)?([a-z0-9_-]{1,128})(?::([a-z0-9_.-]{1,128}))?$/;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** They follow `/templates/` in paths of their own. */
const RESERVED: ReadonlySet<string> = new Set(['tags', 'aliases']);

/** Undefined if no snapshot can have that name. */
export function parseReference(text: string): SnapshotReference | undefined {
  const [, team, name, tag] = REFERENCE.exec(text.trim().toLowerCase()) ?? [];
  return name === undefined ? undefined : { team, name, tag };
}

/** The name in a request. Throws an ApiError 400. */
export function readSnapshotName(text: string, ownTeam: string): SnapshotName {
  const reference = parseReference(text);
  if (reference === undefined || RESERVED.has(reference.name)) {
    throw badRequest(
      `name: expected at most 128 of a-z, 0-9, - and _, with ":<tag>" behind if it has one, got ${JSON.stringify(text)}`,
    );
  }
  const { team, name, tag = DEFAULT_TAG } = reference;
  if (team !== undefined && team !== ownTeam.toLowerCase()) {
    throw badRequest(`name: namespace '${team}' must match your team '${ownTeam}'`);
  }
  if (UUID.test(tag)) throw badRequest('name: a tag cannot be a UUID');
  return { name, tag };
}

/** Name and tag of a snapshot; undefined for one without a name. */
export function findSnapshotName({ metadata }: Pick<SandboxSnapshot, 'metadata'>): SnapshotName | undefined {
  const { [annotations.snapshotName]: name, [annotations.snapshotTag]: tag = DEFAULT_TAG } = metadata.annotations ?? {};
  return name === undefined ? undefined : { name, tag };
}

/** The snapshot as answers of the API show it. */
export function buildSnapshotAnswer(snapshot: SandboxSnapshot, team: string): { snapshotID: string; names: string[] } {
  const named = findSnapshotName(snapshot);
  if (named === undefined) return { snapshotID: `${snapshot.metadata.name ?? ''}:${DEFAULT_TAG}`, names: [] };
  const snapshotID = `${team}/${named.name}:${named.tag}`;
  return { snapshotID, names: [snapshotID] };
}
