import { annotations, labels, sandboxSnapshots } from '@sandlot/api-types';
import type { SandboxSnapshot } from '@sandlot/api-types';
import { createOwnWrites, findController, isNotFound, parseKey } from '@sandlot/kube';
import type { Informer, KubeClient, KubeObject, OwnWrites } from '@sandlot/kube';
import type { Clock } from '@sandlot/std';
import { notEnabled } from '../errors/refusals.ts';
import type { ApiError } from '../errors/api-error.ts';
import { BY_NAMESPACE } from '../wiring/informers.ts';
import type { Sweep } from '../wiring/sweeps.ts';
import type { Waiters } from './waiters.ts';

/** `snapshot`: a client asked for it and has its id. `fork`: it exists while forks are made from it, and no list shows it. */
export type SnapshotKind = 'snapshot' | 'fork';

export interface SnapshotsOptions {
  readonly client: Pick<KubeClient, 'create' | 'delete' | 'find' | 'list'>;
  /** SandboxSnapshots with the label of the API; undefined: the installation saves no memory. */
  readonly informer: Informer<SandboxSnapshot> | undefined;
  readonly waiters: Waiters;
  readonly clock: Clock;
}

/** Much longer than any request waits for a save. */
const OVERDUE_MS = 10 * 60_000;

const waiterKey = (key: string): string => `snapshot/${key}`;

/** The SandboxSnapshots that clients of the API asked for, this replica's own writes included. */
export class Snapshots {
  readonly #options: SnapshotsOptions;
  readonly #objects: OwnWrites<SandboxSnapshot> | undefined;

  constructor(options: SnapshotsOptions) {
    this.#options = options;
    const { informer, clock, waiters } = options;
    if (informer === undefined) return;
    const onDoubt = (key: string): void => void this.#reread(key);
    this.#objects = createOwnWrites({ informer, clock, onDoubt });
    informer.onChange(({ key }) => waiters.notify(waiterKey(key)));
  }

  get isEnabled(): boolean {
    return this.#objects !== undefined;
  }

  /** Throws an ApiError 403 in an installation that saves no memory. */
  assertEnabled(): void {
    if (this.#objects === undefined) throw this.#refuse();
  }

  /** The object by `namespace/name`; undefined once it is being deleted. */
  get(key: string): SandboxSnapshot | undefined {
    const found = this.#objects?.get(key);
    return found?.metadata.deletionTimestamp === undefined ? found : undefined;
  }

  /** Those of a namespace that are not being deleted, in no order. */
  *list(namespace: string): Iterable<SandboxSnapshot> {
    for (const snapshot of this.#objects?.listByIndex(BY_NAMESPACE, namespace) ?? []) {
      if (snapshot.metadata.deletionTimestamp === undefined) yield snapshot;
    }
  }

  /** Those of a namespace as the API server has them now. Rejects with a KubeError. */
  async listNow(namespace: string): Promise<readonly SandboxSnapshot[]> {
    if (this.#objects === undefined) return [];
    const selection = { namespace, labelSelector: labels.e2bSnapshot };
    const { items } = await this.#options.client.list(sandboxSnapshots, selection);
    return items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  }

  /** The snapshot that made this template, if a client of the API asked for it. */
  findSourceOf(template: KubeObject): SandboxSnapshot | undefined {
    const key = findOwnerKey(template);
    return key === undefined ? undefined : this.#objects?.get(key);
  }

  /**
   * Like {@link findSourceOf}, and asks the API server what the watch has not shown yet. `gone`: garbage collection is about to
   * delete the template, because its snapshot is deleted. Rejects with a KubeError.
   */
  async readSourceOf(template: KubeObject): Promise<SandboxSnapshot | 'gone' | undefined> {
    const key = findOwnerKey(template);
    if (key === undefined || this.#objects === undefined) return undefined;
    const found = this.#objects.get(key) ?? (await this.#options.client.find(sandboxSnapshots, parseKey(key)));
    if (found === undefined || found.metadata.uid !== findController(template)?.uid) return 'gone';
    if (found.metadata.deletionTimestamp !== undefined) return 'gone';
    return findSnapshotKind(found) === undefined ? undefined : found;
  }

  /**
   * The unfinished snapshot of a Sandbox, which stands still until it is saved. What the watch shows as unfinished is read again:
   * a client may know of its end already, from another replica. Rejects with a KubeError.
   */
  async readUnfinished(namespace: string, sandboxName: string): Promise<SandboxSnapshot | undefined> {
    const known = [...this.list(namespace)].filter((each) => each.spec.sandboxName === sandboxName && !isSettled(each));
    for (const snapshot of known) {
      const current = await this.#read(formatKey(snapshot));
      if (current?.metadata.deletionTimestamp === undefined && current !== undefined && !isSettled(current))
        return current;
    }
    return undefined;
  }

  /** Rejects with a KubeError. */
  async create(snapshot: SandboxSnapshot): Promise<SandboxSnapshot> {
    if (this.#objects === undefined) throw this.#refuse();
    const { client } = this.#options;
    const create = (): Promise<SandboxSnapshot> => client.create(sandboxSnapshots, snapshot, { priority: 'claim' });
    return this.#objects.write(formatKey(snapshot), create);
  }

  /** Waits until it is Ready or Failed; the last known state after `timeoutMs`, and undefined once it is gone. */
  async waitUntilSettled(snapshot: SandboxSnapshot, timeoutMs: number): Promise<SandboxSnapshot | undefined> {
    const key = formatKey(snapshot);
    const look = (): { readonly current: SandboxSnapshot | undefined } | undefined => {
      const current = this.get(key);
      return current === undefined || isSettled(current) ? { current } : undefined;
    };
    const settled = await this.#options.waiters.waitUntil({ keys: [waiterKey(key)], look, timeoutMs });
    return settled === undefined ? this.get(key) : settled.current;
  }

  /**
   * Deletes what a replica that is gone has left: snapshots of forks, and those whose save does not end, which would keep every
   * other save of their sandbox away. A client may have the id of one that is Ready, so it stays. Rejects with a KubeError.
   */
  async dropOverdue(): Promise<void> {
    const { informer, clock } = this.#options;
    const all = [...(informer?.store.values() ?? [])];
    const overdue = all.filter((object) => clock.now() - getRequestedMs(object) > OVERDUE_MS);
    for (const snapshot of overdue) {
      const isLeft = findSnapshotKind(snapshot) === 'fork' || !isSettled(snapshot);
      if (isLeft && snapshot.metadata.deletionTimestamp === undefined) await this.delete(snapshot);
    }
  }

  /** Deletes it, and with it the template and the data. Resolves if it is gone already; rejects with a KubeError. */
  async delete(snapshot: SandboxSnapshot): Promise<void> {
    const { namespace, name = '', uid } = snapshot.metadata;
    try {
      await this.#options.client.delete(sandboxSnapshots, { namespace, name }, { uid, priority: 'claim' });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    this.#objects?.recordDelete(snapshot);
  }

  #refuse(): ApiError {
    return notEnabled('memory snapshots are');
  }

  close(): void {
    this.#objects?.[Symbol.dispose]();
  }

  /** The watch has not shown the answer of a write in time. A failed read leaves it to the watch. */
  async #reread(key: string): Promise<void> {
    try {
      await this.#read(key);
    } catch {
      this.#objects?.forget(key);
    }
    this.#options.waiters.notify(waiterKey(key));
  }

  async #read(key: string): Promise<SandboxSnapshot | undefined> {
    return this.#objects?.read(key, () => this.#options.client.find(sandboxSnapshots, parseKey(key)));
  }
}

/** Undefined for a snapshot that no client of the API asked for. */
export function findSnapshotKind({ metadata }: SandboxSnapshot): SnapshotKind | undefined {
  const kind = metadata.labels?.[labels.e2bSnapshot];
  return kind === 'snapshot' || kind === 'fork' ? kind : undefined;
}

function isSettled({ status }: SandboxSnapshot): boolean {
  return status?.phase === 'Ready' || status?.phase === 'Failed';
}

/** Whether clients may start from it. */
export function isUsable(snapshot: SandboxSnapshot): boolean {
  return findSnapshotKind(snapshot) === 'snapshot' && snapshot.status?.phase === 'Ready';
}

/** When it was requested, epoch milliseconds. */
export function getRequestedMs({ metadata }: SandboxSnapshot): number {
  return Date.parse(metadata.annotations?.[annotations.createdAt] ?? metadata.creationTimestamp ?? '') || 0;
}

function formatKey({ metadata }: SandboxSnapshot): string {
  return `${metadata.namespace ?? ''}/${metadata.name ?? ''}`;
}

/** `namespace/name` of the snapshot that controls a template. */
function findOwnerKey(template: KubeObject): string | undefined {
  const owner = findController(template);
  const isSnapshot = owner?.kind === 'SandboxSnapshot' && owner.apiVersion.startsWith('sandlot.dev/');
  return isSnapshot ? `${template.metadata.namespace ?? ''}/${owner.name}` : undefined;
}

const MINUTE_MS = 60_000;

/** Every replica runs it, without a lease. */
export function buildSnapshotSweep(snapshots: Pick<Snapshots, 'dropOverdue'>): Sweep {
  return { name: 'overdue snapshots', everyMs: MINUTE_MS, run: () => snapshots.dropOverdue() };
}
