export const USER = 'sandbox-controller';

/** Everything the controller may do: a verb that it needs and that is missing here fails the tests. */
export const ROLE = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name: USER },
  rules: [
    { apiGroups: ['agents.x-k8s.io'], resources: ['sandboxes'], verbs: ['get', 'list', 'watch', 'patch', 'delete'] },
    { apiGroups: ['agents.x-k8s.io'], resources: ['sandboxes/status'], verbs: ['patch'] },
    { apiGroups: ['agents.x-k8s.io'], resources: ['sandboxes/finalizers'], verbs: ['update'] },
    {
      apiGroups: [''],
      resources: ['pods', 'services', 'persistentvolumeclaims'],
      verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'],
    },
    { apiGroups: [''], resources: ['pods/resize'], verbs: ['patch'] },
    { apiGroups: [''], resources: ['secrets'], verbs: ['create'] },
    { apiGroups: ['networking.k8s.io'], resources: ['networkpolicies'], verbs: ['get', 'list', 'watch'] },
    { apiGroups: ['extensions.agents.x-k8s.io'], resources: ['sandboxtemplates'], verbs: ['get'] },
    {
      apiGroups: ['sandlot.dev'],
      resources: ['sandboxsnapshots'],
      verbs: ['get', 'list', 'watch', 'create', 'delete'],
    },
    { apiGroups: [''], resources: ['nodes'], verbs: ['list', 'watch'] },
    { apiGroups: ['sandlot.dev'], resources: ['sandboxsnapshotclasses'], verbs: ['list', 'watch'] },
    { apiGroups: ['policy'], resources: ['poddisruptionbudgets'], verbs: ['create', 'delete', 'list', 'watch'] },
    { apiGroups: ['', 'events.k8s.io'], resources: ['events'], verbs: ['create', 'patch'] },
    { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['list'] },
    { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'create', 'update', 'patch'] },
  ],
};
export const BINDING = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRoleBinding',
  metadata: { name: USER },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: USER },
  subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: USER }],
};
