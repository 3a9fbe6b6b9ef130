// The answers about tags, each made from all assignments of a template (docs/reference/e2b-api.md#templates).
import { noTag } from '../../errors/build-errors.ts';
import { buildPlacedPage, compareIds, newestFirst } from '../answer/placed-page.ts';
import type { Order } from '../answer/placed-page.ts';
import { formatIsoTime } from '../answer/sandbox.ts';
import type { AssignmentAnswer, TagGroupQuery, TagGroups } from './schemas.ts';
import type { Assignment } from './tags.ts';

/** A tag with its assignments, newest first: at least one. */
interface TagGroup {
  readonly tag: string;
  readonly latest: Assignment;
  readonly assignments: readonly Assignment[];
}

const ORDERS: Readonly<Record<TagGroupQuery['sort'], Order>> = {
  latest_desc: newestFirst,
  latest_asc: (a, b) => a.ms - b.ms || compareIds(a, b),
  name_asc: compareIds,
  name_desc: (a, b) => compareIds(b, a),
};

/** By tag, the one that was given last first. */
export function groupByTag(assignments: readonly Assignment[]): readonly TagGroup[] {
  const groups = [...Map.groupBy(assignments, ({ tag }) => tag)].map(([tag, of]) => toGroup(tag, of));
  return groups.sort((a, b) => newestFirst(getPlace(a), getPlace(b)));
}

export function buildTagGroups(assignments: readonly Assignment[], query: TagGroupQuery): TagGroups {
  const { search = '', sort, tagsLimit: limit, tagsCursor, assignmentLimit } = query;
  const wanted = groupByTag(assignments).filter(({ tag }) => tag.includes(search.trim().toLowerCase()));
  const placed = wanted.map((item) => ({ place: getPlace(item), item }));
  const { items, nextToken } = buildPlacedPage(placed, ORDERS[sort], { limit, nextToken: tagsCursor });
  const tags = items.map((group) => ({
    tag: group.tag,
    assignments: group.assignments.slice(0, assignmentLimit).map(buildAssignment),
    hasMore: group.assignments.length > assignmentLimit,
  }));
  return { tags, nextCursor: nextToken ?? null };
}

/** The assignments of one tag, page by page. Throws an ApiError 404 for a tag that the template does not have. */
export function buildAssignmentPage(
  all: readonly Assignment[],
  { template, tag }: { readonly template: string; readonly tag: string },
  { cursor, limit }: { readonly cursor?: string | undefined; readonly limit: number },
): { readonly data: readonly AssignmentAnswer[]; readonly nextCursor: string | null } {
  const given = all.filter((assignment) => assignment.tag === tag);
  if (given.length === 0) throw noTag(tag, template);
  const placed = given.map((item) => ({ place: item, item }));
  const { items, nextToken } = buildPlacedPage(placed, newestFirst, { limit, nextToken: cursor });
  return { data: items.map(buildAssignment), nextCursor: nextToken ?? null };
}

function toGroup(tag: string, of: readonly Assignment[]): TagGroup {
  const assignments = [...of].sort(newestFirst);
  const [latest] = assignments;
  if (latest === undefined) throw new Error(`the tag ${tag} has no assignment`);
  return { tag, latest, assignments };
}

function getPlace({ tag, latest }: TagGroup) {
  return { ms: latest.ms, id: tag };
}

function buildAssignment({ id, build, ms }: Assignment): AssignmentAnswer {
  const { createdMs, finishedMs } = build;
  return {
    assignmentID: id,
    buildID: build.id,
    assignedAt: formatIsoTime(ms),
    buildCreatedAt: formatIsoTime(createdMs),
    buildFinishedAt: finishedMs === undefined ? null : formatIsoTime(finishedMs),
  };
}
