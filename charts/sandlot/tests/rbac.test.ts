import { describe, expect, it } from 'vitest';
import type { Rendered, Rule } from './chart.ts';
import { find, render, withHibernation } from './chart.ts';

const READ_WRITE = 'create delete get list patch watch';

/** All permissions of each controller. */
const expected = {
  'sandlot-sandbox-controller': {
    'agents.x-k8s.io/sandboxes': 'delete list patch watch',
    'agents.x-k8s.io/sandboxes/status': 'patch',
    'agents.x-k8s.io/sandboxes/finalizers': 'update',
    '/pods': READ_WRITE,
    '/pods/resize': 'patch',
    '/services': READ_WRITE,
    '/persistentvolumeclaims': READ_WRITE,
    'networking.k8s.io/networkpolicies': 'get list watch',
    'extensions.agents.x-k8s.io/sandboxtemplates': 'get',
    'events.k8s.io/events': 'create list patch',
  },
  'sandlot-warmpool-controller': {
    'extensions.agents.x-k8s.io/sandboxwarmpools': 'list watch',
    'extensions.agents.x-k8s.io/sandboxtemplates': 'list patch watch',
    'extensions.agents.x-k8s.io/sandboxwarmpools/status': 'patch',
    'extensions.agents.x-k8s.io/sandboxtemplates/status': 'patch',
    'extensions.agents.x-k8s.io/sandboxwarmpools/finalizers': 'update',
    '/pods': 'list',
    'networking.k8s.io/networkpolicies': READ_WRITE,
    'agents.x-k8s.io/sandboxes': 'create delete list patch watch',
    'events.k8s.io/events': 'create patch',
  },
  'sandlot-claim-controller': {
    'extensions.agents.x-k8s.io/sandboxclaims': 'delete get list patch watch',
    'extensions.agents.x-k8s.io/sandboxclaims/status': 'patch',
    'extensions.agents.x-k8s.io/sandboxclaims/finalizers': 'update',
    'extensions.agents.x-k8s.io/sandboxtemplates': 'list watch',
    'extensions.agents.x-k8s.io/sandboxwarmpools': 'list watch',
    'agents.x-k8s.io/sandboxes': READ_WRITE,
    'networking.k8s.io/networkpolicies': 'create get list patch watch',
    'events.k8s.io/events': 'create patch',
  },
};

const controllers = Object.keys(expected) as (keyof typeof expected)[];

/** Returns sorted verbs by `group/resource`. */
function permissions(rules: readonly Rule[]): Readonly<Record<string, string>> {
  const granted = new Map<string, Set<string>>();
  for (const { apiGroups, resources, verbs } of rules) {
    for (const target of apiGroups.flatMap((group) => resources.map((resource) => `${group}/${resource}`))) {
      granted.set(target, new Set([...(granted.get(target) ?? []), ...verbs]));
    }
  }
  return Object.fromEntries([...granted].map(([target, verbs]) => [target, [...verbs].sort().join(' ')]));
}

function roles(objects: readonly Rendered[]): readonly Rendered[] {
  return objects.filter(({ kind }) => kind === 'Role' || kind === 'ClusterRole');
}

/** Values of a release whose sandboxes get no variables from Secrets. */
const withoutApi = { api: { enabled: false } };

describe('roles of the controllers', () => {
  it.each(controllers)('%s has exactly the expected permissions', async (name) => {
    const { rules = [] } = find(await render(withoutApi), 'ClusterRole', name);
    expect(permissions(rules)).toEqual(expected[name]);
  });

  it.each(controllers)('%s may touch only its own lease', async (name) => {
    const { rules = [], metadata } = find(await render(), 'Role', `${name}-leader`);
    expect(metadata.namespace).toBe('sandlot-system');
    expect(rules).toEqual([
      { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['create'] },
      {
        apiGroups: ['coordination.k8s.io'],
        resources: ['leases'],
        resourceNames: [name],
        verbs: ['get', 'patch', 'watch'],
      },
    ]);
  });

  it('contain no wildcard, no Secrets and no privilege escalation', async () => {
    const others = roles(await render(withoutApi)).filter(({ metadata }) => metadata.name !== 'sandlot-key-keeper');
    const rules = others.flatMap((role) => role.rules ?? []);
    const words = rules.flatMap(({ apiGroups, resources, verbs }) => [...apiGroups, ...resources, ...verbs]);
    expect(
      words.filter((word) =>
        ['*', 'secrets', 'escalate', 'bind', 'impersonate', 'clusterroles', 'roles'].includes(word),
      ),
    ).toEqual([]);
  });

  it.each([true, false])('let the claim-controller read Secrets of namespaces only if claims may name them: %s', async (may) => {
    const objects = await render({ claimController: { envsFromSecrets: may } });
    const { rules = [] } = find(objects, 'ClusterRole', 'sandlot-claim-controller');
    const more = may ? { '/secrets': 'get' } : {};
    expect(permissions(rules)).toEqual({ ...expected['sandlot-claim-controller'], ...more });
  });

  it('let the sandbox-controller create Secrets, and no more, if Pods mount the keys of their Sandboxes', async () => {
    const objects = await render({ ...withoutApi, runtime: { delivery: 'ImageVolume' } });
    const { rules = [] } = find(objects, 'ClusterRole', 'sandlot-sandbox-controller');
    expect(permissions(rules)).toEqual({ ...expected['sandlot-sandbox-controller'], '/secrets': 'create' });
  });

  it('additionally let the claim-controller read PersistentVolumes if claims may name them', async () => {
    const values = { ...withoutApi, claimController: { persistentVolumes: true } };
    const { rules = [] } = find(await render(values), 'ClusterRole', 'sandlot-claim-controller');
    expect(permissions(rules)).toEqual({ ...expected['sandlot-claim-controller'], '/persistentvolumes': 'get' });
  });

  it('let the sandbox-controller make and delete snapshots only if sandboxes hibernate', async () => {
    const objects = await render({ ...withoutApi, ...withHibernation });
    const { rules = [] } = find(objects, 'ClusterRole', 'sandlot-sandbox-controller');
    const more = { '/secrets': 'create', 'sandlot.dev/sandboxsnapshots': 'create delete get list watch' };
    const ofNodes = {
      '/nodes': 'list watch',
      'sandlot.dev/sandboxsnapshotclasses': 'list watch',
      'policy/poddisruptionbudgets': 'create delete list watch',
    };
    expect(permissions(rules)).toEqual({ ...expected['sandlot-sandbox-controller'], ...more, ...ofNodes });
    expect(rules.find(({ verbs, apiGroups }) => apiGroups[0] === 'policy' && verbs.includes('delete'))).toMatchObject({ resourceNames: ['sandlot-memory'] });
    const still = await render({ ...withoutApi, ...withHibernation, hibernation: { enabled: true, drain: { enabled: false } } });
    const ofStill = find(still, 'ClusterRole', 'sandlot-sandbox-controller').rules ?? [];
    expect(permissions(ofStill)).toEqual({ ...expected['sandlot-sandbox-controller'], ...more });
    const ofClaims = find(objects, 'ClusterRole', 'sandlot-claim-controller').rules ?? [];
    expect(permissions(ofClaims)).toEqual(expected['sandlot-claim-controller']);
  });

  it('let the warmpool-controller make and delete golden snapshots only if sandboxes hibernate', async () => {
    const objects = await render({ ...withoutApi, ...withHibernation });
    const name = 'sandlot-warmpool-controller';
    const more = { 'sandlot.dev/sandboxsnapshots': 'create delete list watch' };
    expect(permissions(find(objects, 'ClusterRole', name).rules ?? [])).toEqual({ ...expected[name], ...more });
  });

  it('give the snapshot-controller exactly these permissions, and its own lease', async () => {
    const objects = await render(withHibernation);
    const name = 'sandlot-snapshot-controller';
    expect(permissions(find(objects, 'ClusterRole', name).rules ?? [])).toEqual({
      'sandlot.dev/sandboxsnapshots': 'delete get list patch watch',
      'sandlot.dev/sandboxsnapshots/status': 'patch',
      'sandlot.dev/sandboxsnapshots/finalizers': 'update',
      'sandlot.dev/sandboxsnapshotclasses': 'list watch',
      'agents.x-k8s.io/sandboxes': 'get',
      'extensions.agents.x-k8s.io/sandboxtemplates': 'create get',
      '/pods': 'get list watch',
      '/persistentvolumeclaims': 'create delete get',
      '/nodes': 'get list patch watch',
      'events.k8s.io/events': 'create list patch',
    });
    expect(find(objects, 'Role', `${name}-leader`).rules).toMatchObject([{ verbs: ['create'] }, { resourceNames: [name] }]);
  });

  it('are not rendered if rbac.create is false', async () => {
    expect(roles(await render({ rbac: { create: false, aggregate: false } }))).toEqual([]);
  });
});

describe('roles for people', () => {
  const kinds = ['sandboxclaims', 'sandboxtemplates', 'sandboxwarmpools'];
  const cases = [
    ['view', 'get list watch', 'get'],
    ['edit', 'create delete get list patch update watch', 'get patch update'],
    ['admin', 'create delete deletecollection get list patch update watch', 'get patch update'],
  ] as const;

  it.each(cases)('%s may %s the kinds of Sandlot, and %s their scale subresource', async (role, verbs, scale) => {
    const { rules = [], metadata } = find(await render(), 'ClusterRole', `sandlot-${role}`);
    expect(metadata.labels).toMatchObject({ [`rbac.authorization.k8s.io/aggregate-to-${role}`]: 'true' });
    expect(permissions(rules)).toEqual({
      'agents.x-k8s.io/sandboxes': verbs,
      'agents.x-k8s.io/sandboxes/status': 'get',
      ...(role === 'view' ? {} : { 'agents.x-k8s.io/sandboxes/connect': 'create' }),
      'agents.x-k8s.io/sandboxes/scale': scale,
      'extensions.agents.x-k8s.io/sandboxwarmpools/scale': scale,
      'sandlot.dev/sandboxsnapshots': verbs,
      'sandlot.dev/sandboxsnapshots/status': 'get',
      'sandlot.dev/sandboxtemplatebuilds': verbs,
      'sandlot.dev/sandboxtemplatebuilds/status': 'get',
      'sandlot.dev/sandboxsnapshotclasses': 'get list watch',
      ...Object.fromEntries(kinds.map((kind) => [`extensions.agents.x-k8s.io/${kind}`, verbs])),
      ...Object.fromEntries(kinds.map((kind) => [`extensions.agents.x-k8s.io/${kind}/status`, 'get'])),
    });
  });
});
