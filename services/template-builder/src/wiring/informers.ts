import { labels, sandboxTemplateBuilds, sandboxTemplates } from '@sandlot/api-types';
import type { SandboxTemplate, SandboxTemplateBuild } from '@sandlot/api-types';
import { createInformer, getKey, watchSource } from '@sandlot/kube';
import type { Informer, InformerOptions, KubeObject, Source } from '@sandlot/kube';
import type { ServedNamespaces } from '@sandlot/service';

/** Index of SandboxTemplateBuilds by their namespace. */
export const BY_NAMESPACE = 'byNamespace';

export interface Informers {
  readonly builds: Informer<SandboxTemplateBuild>;
  readonly templates: Informer<SandboxTemplate>;
}

type Shared = Pick<InformerOptions<KubeObject>, 'client' | 'clock' | 'random' | 'metrics' | 'log'>;

export function createInformers(shared: Shared, namespaces: ServedNamespaces): Informers {
  return {
    builds: createInformer({
      ...shared,
      namespaces,
      resource: sandboxTemplateBuilds,
      indexers: { [BY_NAMESPACE]: ({ metadata: { namespace } }) => (namespace === undefined ? [] : [namespace]) },
    }),
    templates: createInformer({ ...shared, namespaces, resource: sandboxTemplates, transform: reduceTemplate }),
  };
}

/** A build concerns the others of its namespace: it may end them, or make room for them. */
export function watchSources({ builds, templates }: Informers): Source[] {
  const keysIn = (namespace: string | undefined): string[] =>
    namespace === undefined ? [] : [...builds.store.listByIndex(BY_NAMESPACE, namespace)].map(getKey);
  return [
    watchSource(builds, (build) => [getKey(build), ...keysIn(build.metadata.namespace)]),
    watchSource(templates, (template) => keysIn(template.metadata.namespace)),
  ];
}

/** A SandboxTemplate as the cache keeps it: whether a build made it, and which. */
function reduceTemplate({
  metadata: { namespace, name, uid, resourceVersion, labels: given },
}: SandboxTemplate): SandboxTemplate {
  const kept = [labels.builtBy, labels.templateBuild].flatMap((name) => {
    const value = given?.[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return {
    metadata: { namespace, name, uid, resourceVersion, labels: Object.fromEntries(kept) },
    spec: { podTemplate: { spec: { containers: [] } } },
  };
}
