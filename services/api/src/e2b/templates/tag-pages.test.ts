import { describe, expect, it } from 'vitest';
import type { TagGroupQuery } from './schemas.ts';
import { buildAssignmentPage, buildTagGroups } from './tag-pages.ts';
import type { Assignment } from './tags.ts';

/** The tag given to a build at that millisecond. */
const given = (tag: string, ms: number): Assignment => ({
  id: `${tag}-${ms}`,
  tag,
  ms,
  build: { id: `build-${ms}`, createdMs: ms, finishedMs: ms, status: 'ready' },
});
const all = [given('v1', 1), given('v2', 2), given('stable', 2), given('stable', 3), given('v1', 4), given('v1', 5)];

const query = (fields: Partial<TagGroupQuery>): TagGroupQuery => ({
  assignmentLimit: 2,
  tagsLimit: 2,
  tagsCursor: undefined,
  search: undefined,
  sort: 'latest_desc',
  ...fields,
});

describe('tags with the builds that they were given to', () => {
  it.each([
    ['latest_desc' as const, ['v1', 'stable', 'v2']],
    ['latest_asc' as const, ['v2', 'stable', 'v1']],
    ['name_asc' as const, ['stable', 'v1', 'v2']],
    ['name_desc' as const, ['v2', 'v1', 'stable']],
  ])('come page by page in the order %s', (sort, expected) => {
    const first = buildTagGroups(all, query({ sort }));
    const second = buildTagGroups(all, query({ sort, tagsCursor: first.nextCursor ?? '' }));
    expect([...first.tags, ...second.tags].map(({ tag }) => tag)).toEqual(expected);
    expect([first.tags.length, second.nextCursor]).toEqual([2, null]);
  });

  it('say that a tag has more builds than are listed', () => {
    const [v1, stable] = buildTagGroups(all, query({})).tags;
    expect(v1?.assignments.map(({ assignmentID }) => assignmentID)).toEqual(['v1-5', 'v1-4']);
    expect([v1?.hasMore, stable?.hasMore]).toEqual([true, false]);
  });

  it('are found by a part of the tag', () => {
    expect(buildTagGroups(all, query({ search: 'ABL' })).tags.map(({ tag }) => tag)).toEqual(['stable']);
  });
});

describe('the builds that a tag was given to', () => {
  it('come page by page, newest first', () => {
    const of = { template: 'base', tag: 'v1' };
    const first = buildAssignmentPage(all, of, { limit: 2 });
    const second = buildAssignmentPage(all, of, { limit: 2, cursor: first.nextCursor ?? '' });
    expect([...first.data, ...second.data].map(({ buildID }) => buildID)).toEqual(['build-5', 'build-4', 'build-1']);
    expect(second.nextCursor).toBeNull();
  });
});
