import { describe, expect, it } from 'vitest';
import { judgeRights } from './exceptions.ts';
import { formatResource, formatRight, listRights, Usage } from './rights.ts';
import type { Binding, Request, Right, Role, Rule } from './rights.ts';

const ACCOUNT = 'system:serviceaccount:sandlot-system:sandlot-api';
const KEYS = 'sandlot-system-keys';

function grant(rules: readonly Rule[], namespace?: string): Right[] {
  const kind = namespace === undefined ? 'ClusterRole' : 'Role';
  const binding: Binding = { namespace, role: { kind, name: 'role' }, accounts: [ACCOUNT] };
  return listRights([binding], [{ namespace, name: 'role', rules }]);
}

function unusedAfter(rights: readonly Right[], ...requests: readonly Omit<Request, 'account'>[]): string[] {
  const usage = new Usage(rights);
  for (const request of requests) usage.record({ account: ACCOUNT, ...request });
  return usage.listUnused().map((right) => formatRight(right).replace(`${ACCOUNT}: `, ''));
}

const pods: Rule = { apiGroups: [''], resources: ['pods', 'pods/log'], verbs: ['get', 'list'] };
const leases: Rule = {
  apiGroups: ['coordination.k8s.io'],
  resources: ['leases'],
  resourceNames: ['one', 'two'],
  verbs: ['patch'],
};

describe('the rights of an account', () => {
  it('are one for each verb, resource and name', () => {
    expect(unusedAfter(grant([pods, leases])).sort()).toEqual([
      'get pods everywhere',
      'get pods/log everywhere',
      'list pods everywhere',
      'list pods/log everywhere',
      'patch leases.coordination.k8s.io one everywhere',
      'patch leases.coordination.k8s.io two everywhere',
    ]);
  });

  it('of a ClusterRole in a RoleBinding count in the namespace of the binding', () => {
    const binding: Binding = { namespace: 'team', role: { kind: 'ClusterRole', name: 'role' }, accounts: [ACCOUNT] };
    const roles: Role[] = [
      { name: 'role', rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }] },
      { namespace: 'team', name: 'role', rules: [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }] },
    ];
    expect(listRights([binding], roles).map(formatRight)).toEqual([`${ACCOUNT}: get pods in team`]);
  });

  it('are none for a binding whose role is missing', () => {
    expect(listRights([{ role: { kind: 'ClusterRole', name: 'gone' }, accounts: [ACCOUNT] }], [])).toEqual([]);
  });
});

describe('a right', () => {
  it('counts as used by a request for the same verb and resource, in any namespace', () => {
    const request = { verb: 'get', resource: 'pods', namespace: 'any', name: 'x' };
    expect(unusedAfter(grant([pods]), request)).not.toContain('get pods everywhere');
  });

  it.each<[string, Rule, Omit<Request, 'account'>, string | undefined]>([
    ['another verb', pods, { verb: 'watch', resource: 'pods' }, undefined],
    ['a subresource', pods, { verb: 'get', resource: 'pods/exec' }, undefined],
    ['another group', leases, { verb: 'patch', resource: 'leases', name: 'one' }, undefined],
    ['another name', leases, { verb: 'patch', resource: 'leases.coordination.k8s.io', name: 'three' }, undefined],
    [
      'another namespace',
      { ...pods, resources: ['secrets'] },
      { verb: 'get', resource: 'secrets', namespace: 'a' },
      KEYS,
    ],
  ])('stays unused by a request for %s', (...[, rule, request, namespace]) => {
    const rights = grant([rule], namespace);
    expect(unusedAfter(rights, request)).toHaveLength(rights.length);
  });

  it('stays unused by the requests of another account', () => {
    const usage = new Usage(grant([pods]));
    usage.record({ account: 'someone', verb: 'get', resource: 'pods' });
    expect(usage.listUnused()).toHaveLength(4);
  });

  it('with a wildcard stays unused: nothing needs all of it', () => {
    const all: Rule = { apiGroups: ['*'], resources: ['*'], verbs: ['*'] };
    expect(unusedAfter(grant([all]), { verb: 'get', resource: 'pods' })).toEqual(['* *.* everywhere']);
  });

  it('is granted once for a namespace and once everywhere, and used in both by one request', () => {
    const secrets: Rule = { apiGroups: [''], resources: ['secrets'], verbs: ['get'] };
    const rights = [...grant([secrets]), ...grant([secrets], KEYS)];
    expect(unusedAfter(rights, { verb: 'get', resource: 'secrets', namespace: KEYS })).toEqual([]);
  });
});

describe('the judgement', () => {
  const rights = grant([pods]);
  const exception = { accounts: ['sandlot-api'], verbs: ['list'], resources: ['pods'], why: 'a reason' };

  it('names unused rights without an exception', () => {
    const { unneeded, stale } = judgeRights(rights, rights, [exception]);
    expect(unneeded.map(({ verb, resource }) => `${verb} ${resource}`)).not.toContain('list pods');
    expect(unneeded).toHaveLength(3);
    expect(stale).toEqual([]);
  });

  it('names exceptions for rights that no account has, and not those that were used this time', () => {
    const gone = { ...exception, verbs: ['delete'] };
    expect(judgeRights(rights, [], [exception, gone]).stale).toEqual([gone]);
  });
});

it.each([
  ['', 'pods', 'pods'],
  ['', 'pods/exec', 'pods/exec'],
  ['agents.x-k8s.io', 'sandboxes', 'sandboxes.agents.x-k8s.io'],
  ['agents.x-k8s.io', 'sandboxes/status', 'sandboxes.agents.x-k8s.io/status'],
])('the resource %s %s is written %s', (group, path, written) => {
  expect(formatResource(group, path)).toBe(written);
});
