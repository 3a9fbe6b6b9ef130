import { labels } from '@sandlot/api-types';
import { createInformer, secrets } from '@sandlot/kube';
import type { Change, Informer, InformerOptions, KubeObject, Secret } from '@sandlot/kube';
import type { SecretKey } from '../credentials/resolve.ts';
import { Values } from '../credentials/values.ts';
import type { OnProblem, OnValue } from '../credentials/values.ts';
import type { EgressSettings } from './settings.ts';

type Shared = Pick<InformerOptions<KubeObject>, 'client' | 'clock' | 'random' | 'metrics'> & {
  readonly log: NonNullable<InformerOptions<KubeObject>['log']>;
};

interface Hearers {
  readonly onValue: OnValue;
  readonly onProblem: OnProblem;
}

export interface FollowedSecrets extends Disposable {
  readonly values: Values;
  readonly informers: readonly Informer<Secret>[];
}

/**
 * Follows the Secrets that are marked for egress: those that the API stored, and where the installation allows it those of
 * tenants. Other Secrets are never asked for.
 */
export function followSecrets(
  shared: Shared,
  { VAULT_NAMESPACE: vault, EGRESS_NAMESPACE_SECRETS: hasNamespaces, WATCH_NAMESPACES }: EgressSettings,
  { onValue, onProblem }: Hearers,
): FollowedSecrets {
  const create = (namespaces: InformerOptions<Secret>['namespaces']): Informer<Secret> =>
    createInformer({
      ...shared,
      namespaces,
      resource: secrets,
      labelSelector: `${labels.egressCredential}=true`,
      transform: reduceSecret,
    });
  const stored = vault === undefined ? undefined : create([vault]);
  const named = hasNamespaces ? create(WATCH_NAMESPACES) : undefined;
  const values = new Values({
    find: ({ place, namespace, name }) =>
      place === 'vault' ? stored?.store.get(`${vault ?? ''}/${name}`) : named?.store.get(`${namespace}/${name}`),
    onValue,
    onProblem,
    log: shared.log,
  });
  const stack = new DisposableStack();
  const see =
    (place: SecretKey['place']) =>
    ({ old, next }: Change<Secret>): void => {
      const { namespace = '', name = '' } = (next ?? old)?.metadata ?? {};
      values.see({ place, namespace: place === 'vault' ? '' : namespace, name });
    };
  if (stored !== undefined) stack.use(stored.onChange(see('vault')));
  if (named !== undefined) stack.use(named.onChange(see('namespace')));
  return {
    values,
    informers: [stored, named].filter((informer) => informer !== undefined),
    [Symbol.dispose]: () => stack.dispose(),
  };
}

function reduceSecret({
  metadata: { annotations, labels: given, name, namespace, resourceVersion, uid },
  data,
}: Secret): Secret {
  return { metadata: { annotations, labels: given, name, namespace, resourceVersion, uid }, data };
}
