import { findDefaultClass, isDraining } from '@sandlot/api-types';
import type { Sandbox, SandboxSnapshotClass } from '@sandlot/api-types';
import type { Node, Pod, Store } from '@sandlot/kube';
import type { Drain } from '../plan/snapshot.ts';
import { BY_MEMORY_NODE } from '../wiring/informers.ts';
import { isMover } from './protection.ts';

/** How many Sandboxes of one node are saved at the same time because it is being emptied. */
const MOST_MOVES = 8;

export interface DrainStores {
  readonly pods: Pick<Store<Pod>, 'listByIndex'>;
  readonly nodes: Pick<Store<Node>, 'get'>;
  readonly classes: Pick<Store<SandboxSnapshotClass>, 'get' | 'values'>;
}

/** What the caches show of a node that is being emptied. */
export class DrainView {
  readonly #stores: DrainStores;

  constructor(stores: DrainStores) {
    this.#stores = stores;
  }

  /** Undefined: the node of the Pod stays. */
  find(sandbox: Sandbox, pod: Pod | undefined): Drain | undefined {
    if (pod === undefined || !this.isEmptied(pod.spec.nodeName)) return undefined;
    return { hasTurn: this.#hasTurn(pod), needsUpload: this.#findClass(sandbox)?.spec.store === 'Bucket' };
  }

  /** Whether the node of this name is there and is being emptied. */
  isEmptied(nodeName: string | undefined): boolean {
    const node = nodeName === undefined ? undefined : this.#stores.nodes.get(nodeName);
    return node !== undefined && isDraining(node);
  }

  /**
   * Pods take turns by their UIDs: each pass finds the same order without anything to remember. Every Pod that has its turn
   * leaves, or loses its label after a time, so that the others follow.
   */
  #hasTurn({ metadata: { uid = '' }, spec: { nodeName = '' } }: Pod): boolean {
    let before = 0;
    for (const other of this.#stores.pods.listByIndex(BY_MEMORY_NODE, nodeName)) {
      if (isMover(other) && (other.metadata.uid ?? '') < uid) before += 1;
    }
    return before < MOST_MOVES;
  }

  #findClass({ spec }: Sandbox): SandboxSnapshotClass | undefined {
    const { classes } = this.#stores;
    const name = spec.suspensionStrategy?.hibernate?.snapshotClassName;
    return name === undefined ? findDefaultClass(classes.values()) : classes.get(name);
  }
}
