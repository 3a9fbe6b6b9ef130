import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sandbox } from '../../test/index.ts';
import { sandboxReasons } from '../catalogue/sandbox.ts';
import { formatRfc3339, setCondition } from '../rules/conditions.ts';
import { isMembers } from './json.ts';
import { buildMergePatch, pruneEmpty } from './status-patch.ts';

describe('pruneEmpty', () => {
  it('drops every empty member, at any depth of objects', () => {
    const status = {
      service: '',
      replicas: 0,
      ready: false,
      podIPs: [],
      restarts: { count: 0 },
      phase: 'Running',
      x: undefined,
    };
    expect(pruneEmpty(status)).toEqual({ phase: 'Running' });
  });

  it('leaves the entries of lists whole', () => {
    expect(pruneEmpty({ sandboxes: [{ name: 'a', slot: 0, ready: false }] })).toEqual({
      sandboxes: [{ name: 'a', slot: 0, ready: false }],
    });
  });

  it('keeps the members that are always written', () => {
    expect(pruneEmpty({ claimedReplicas: 0, readyReplicas: 0 }, ['claimedReplicas'])).toEqual({ claimedReplicas: 0 });
  });
});

describe('buildMergePatch', () => {
  const cases: { says: string; before: object; after: object; patch: object | undefined }[] = [
    {
      says: 'nothing when nothing changed',
      before: { phase: 'Running' },
      after: { phase: 'Running' },
      patch: undefined,
    },
    {
      says: 'nothing when absent became empty',
      before: {},
      after: { podIPs: [], service: '', a: {} },
      patch: undefined,
    },
    { says: 'nothing when empty became absent', before: { podIPs: [], selector: '' }, after: {}, patch: undefined },
    { says: 'the member that changed', before: { a: 1, b: 1 }, after: { a: 2, b: 1 }, patch: { a: 2 } },
    { says: 'null for a member that went', before: { nodeName: 'a' }, after: {}, patch: { nodeName: null } },
    {
      says: 'null for one that became empty',
      before: { podIPs: ['a'] },
      after: { podIPs: [] },
      patch: { podIPs: null },
    },
    { says: 'whole lists', before: { podIPs: ['a', 'b'] }, after: { podIPs: ['b'] }, patch: { podIPs: ['b'] } },
    { says: 'the inside of objects', before: { a: { b: 1, c: 2 } }, after: { a: { b: 1 } }, patch: { a: { c: null } } },
    { says: 'a counter that fell to zero', before: { replicas: 1 }, after: { replicas: 0 }, patch: { replicas: 0 } },
  ];
  it.each(cases)('says $says', ({ before, after, patch }) => {
    expect(buildMergePatch(before, after)).toEqual(patch);
  });

  it('writes the whole first status, without undefined members', () => {
    expect(buildMergePatch(undefined, { phase: 'Running', service: undefined })).toEqual({ phase: 'Running' });
  });

  it('turns any object into any other', () => {
    const leaf = fc.oneof(
      fc.string({ minLength: 1 }),
      fc.integer(),
      fc.boolean(),
      fc.array(fc.integer(), { minLength: 1 }),
    );
    const key = fc.constantFrom('a', 'b', 'c');
    const object = fc.dictionary(key, fc.oneof(leaf, fc.dictionary(key, leaf, { minKeys: 1 })));
    fc.assert(
      fc.property(object, object, (before, after) => {
        expect(pruneEmpty({ root: applied(before, buildMergePatch(before, after)) })).toEqual(
          pruneEmpty({ root: after }),
        );
      }),
    );
  });
});

describe('a pass over a status', () => {
  const ready = { type: 'Ready', status: 'False', reason: sandboxReasons.multiplePods, message: 'two' } as const;

  it('writes the condition once, and nothing on the next pass', () => {
    const before = sandbox();
    const conditions = setCondition(before.status?.conditions, ready, formatRfc3339(0));
    const patch = buildMergePatch(before.status, pruneEmpty({ ...before.status, podIPs: [], conditions }));
    expect(patch).toEqual({ conditions: [{ ...ready, lastTransitionTime: '1970-01-01T00:00:00Z' }] });

    const stored = sandbox({ status: { conditions } });
    const again = setCondition(stored.status?.conditions, ready, formatRfc3339(60_000));
    expect(
      buildMergePatch(stored.status, pruneEmpty({ ...stored.status, podIPs: [], conditions: again })),
    ).toBeUndefined();
  });
});

/** RFC 7386, as the API server does it. */
function applied(target: unknown, patch: unknown): unknown {
  if (patch === undefined) return target;
  if (!isMembers(patch)) return patch;
  const result = isMembers(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) Reflect.deleteProperty(result, name);
    else result[name] = applied(result[name], value);
  }
  return result;
}
