import { fileURLToPath } from 'node:url';

/** The CRDs of the chart. */
export const CRDS = fileURLToPath(new URL('../../../charts/sandlot/files/crds', import.meta.url));

/** The controller's user in integration tests. */
export const USER = 'warmpool-controller';

/** All permissions of the controller: the tests fail when it needs another. */
export const ROLE = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name: USER },
  rules: [
    {
      apiGroups: ['extensions.agents.x-k8s.io'],
      resources: ['sandboxwarmpools'],
      verbs: ['get', 'list', 'watch'],
    },
    {
      apiGroups: ['extensions.agents.x-k8s.io'],
      resources: ['sandboxtemplates'],
      verbs: ['get', 'list', 'patch', 'watch'],
    },
    {
      apiGroups: ['extensions.agents.x-k8s.io'],
      resources: ['sandboxwarmpools/status', 'sandboxtemplates/status'],
      verbs: ['patch'],
    },
    {
      apiGroups: ['extensions.agents.x-k8s.io'],
      resources: ['sandboxwarmpools/finalizers'],
      verbs: ['update'],
    },
    { apiGroups: [''], resources: ['pods'], verbs: ['list'] },
    {
      apiGroups: ['networking.k8s.io'],
      resources: ['networkpolicies'],
      verbs: ['create', 'delete', 'get', 'list', 'patch', 'watch'],
    },
    {
      apiGroups: ['agents.x-k8s.io'],
      resources: ['sandboxes'],
      verbs: ['get', 'list', 'watch', 'create', 'delete', 'patch'],
    },
    // With hibernation.enabled alone.
    { apiGroups: ['sandlot.dev'], resources: ['sandboxsnapshots'], verbs: ['list', 'watch', 'create', 'delete'] },
    { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create', 'patch'] },
    { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'create', 'update', 'patch', 'watch'] },
  ],
};
export const BINDING = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRoleBinding',
  metadata: { name: USER },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: USER },
  subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: USER }],
};
