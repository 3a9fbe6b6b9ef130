import { labels } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { findController, getKey, watchSource } from '@sandlot/kube';
import type { KubeObject, Source, Store } from '@sandlot/kube';
import { getDelay } from '../pacing/adoption-delay.ts';
import { BY_NAME_HASH } from './informers.ts';
import type { Informers } from './informers.ts';

/** Which change of which object enqueues which Sandboxes, and how soon. */
export function watchSources({ sandboxes, pods, services, disks, hibernations }: Informers): Source[] {
  const ofChild = (child: KubeObject): string[] => listSandboxKeys(child, sandboxes.store);
  return [
    watchSource(sandboxes, (sandbox) => [getKey(sandbox)], { delayMs: getDelay }),
    watchSource(pods, ofChild),
    watchSource(services, ofChild),
    watchSource(disks, ofChild),
    ...(hibernations === undefined ? [] : [watchSource(hibernations, ofChild)]),
  ];
}

/** Keys of the Sandboxes that a change of `child` may concern: its controller, and those that its label points to. */
export function listSandboxKeys(child: KubeObject, sandboxes: Store<Sandbox>): string[] {
  const { namespace = '' } = child.metadata;
  const owner = findController(child);
  const hash = child.metadata.labels?.[labels.nameHash] ?? '';
  const named = [...sandboxes.listByIndex(BY_NAME_HASH, `${namespace}/${hash}`)].map(
    ({ metadata }) => `${namespace}/${metadata.name ?? ''}`,
  );
  return owner?.kind === 'Sandbox' ? [...new Set([`${namespace}/${owner.name}`, ...named])] : named;
}
