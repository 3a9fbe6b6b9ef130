import { labels } from '@sandlot/api-types';
import { configMaps, createInformer, watchSource } from '@sandlot/kube';
import type { ConfigMap, Informer, InformerOptions, KubeObject, Source } from '@sandlot/kube';

/** Index of the ConfigMaps of volumes by the namespace that has them. */
export const BY_TENANT = 'byTenant';

type Shared = Pick<InformerOptions<KubeObject>, 'client' | 'clock' | 'random' | 'metrics' | 'log'>;

const listTenants = ({ metadata }: ConfigMap): readonly string[] => {
  const tenant = metadata.labels?.[labels.tenant];
  return tenant === undefined ? [] : [tenant];
};

/** The ConfigMaps that say which volumes there are. */
export function createVolumeInformer(shared: Shared, registry: string): Informer<ConfigMap> {
  return createInformer({
    ...shared,
    namespaces: [registry],
    resource: configMaps,
    labelSelector: labels.tenant,
    indexers: { [BY_TENANT]: listTenants },
  });
}

/** The key of a pass is the namespace whose volumes they are. */
export function watchSources(volumes: Informer<ConfigMap>): Source[] {
  return [watchSource(volumes, (object) => [...listTenants(object)])];
}
