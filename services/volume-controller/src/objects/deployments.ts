import { defineResource } from '@sandlot/kube';
import type { JsonObject, KubeObject } from '@sandlot/kube';

/** Deployments of `apps/v1`. */
export const deployments = defineResource<KubeObject & { readonly spec?: JsonObject | undefined }>({
  namespaced: true,
  group: 'apps',
  version: 'v1',
  plural: 'deployments',
  kind: 'Deployment',
});
