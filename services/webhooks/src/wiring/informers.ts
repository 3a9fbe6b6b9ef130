import { labels } from '@sandlot/api-types';
import { createInformer, secrets } from '@sandlot/kube';
import type { Informer, InformerOptions, KubeObject, Secret } from '@sandlot/kube';
import { formatWebhookName, readWebhook } from '@sandlot/team-events';
import type { Webhook } from '@sandlot/team-events';

const BY_TENANT = 'tenant';

/** The webhooks of all teams as this process knows them. */
export interface Webhooks {
  readonly informer: Informer<Secret>;
  listEnabled(namespace: string): readonly Webhook[];
  find(id: string): Webhook | undefined;
  /** Calls `handler` with each webhook of which the watch first shows something. */
  onNew(handler: (webhook: Webhook) => void): Disposable;
  /** Calls `handler` with the id of each webhook that is deleted. */
  onGone(handler: (id: string) => void): Disposable;
}

type Shared = Pick<InformerOptions<KubeObject>, 'client' | 'clock' | 'random' | 'metrics' | 'log'>;

export function watchWebhooks(shared: Shared, namespace: string): Webhooks {
  const informer = createInformer({
    ...shared,
    namespaces: [namespace],
    resource: secrets,
    labelSelector: `${labels.webhook}=true`,
    indexers: { [BY_TENANT]: ({ metadata }) => [metadata.labels?.[labels.tenant] ?? ''] },
  });
  return {
    informer,
    listEnabled: (tenant) =>
      [...informer.store.listByIndex(BY_TENANT, tenant)]
        .flatMap((secret) => readWebhook(secret) ?? [])
        .filter(({ enabled }) => enabled),
    onNew: (handler) =>
      informer.onChange(({ old, next }) => {
        const found = old !== undefined || next === undefined ? undefined : readWebhook(next);
        if (found !== undefined) handler(found);
      }),
    onGone: (handler) =>
      informer.onChange(({ old, next }) => {
        const gone = old === undefined || next !== undefined ? undefined : readWebhook(old);
        if (gone !== undefined) handler(gone.id);
      }),
    find: (id) => {
      const secret = informer.store.get(`${namespace}/${formatWebhookName(id)}`);
      return secret === undefined ? undefined : readWebhook(secret);
    },
  };
}
