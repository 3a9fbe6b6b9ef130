import { isDeepStrictEqual } from 'node:util';
import { systemClock } from '@sandlot/std';
import type { Clock, Timer } from '@sandlot/std';
import { formatKey, persistentVolumeClaims, pods } from '@sandlot/kube';
import type { KubeObject, ObjectKey, Pod } from '@sandlot/kube';
import { formatTimestamp } from '../storage/api-object.ts';
import { buildPodStatus, buildUnschedulableCondition } from './pod-status.ts';
import type { PodBehaviour, PodStatus } from './pod-status.ts';
import type { FakeApiServer } from '../server/server.ts';
import { listDiskNames } from '../controllers/volume-protection.ts';

export interface SimulatePodsOptions {
  /** Delay of a pod's status after its creation, and of its end after its deletion. Default 0: none. */
  readonly delayMs?: number | undefined;
  readonly clock?: Clock | undefined;
  /** Behaviour of pods without a rule. Default `run`. */
  readonly behaviour?: PodBehaviour | undefined;
  /** Whether to bind PersistentVolumeClaims as soon as they exist. Default true. */
  readonly bindVolumes?: boolean | undefined;
}

/** Selects pods by a predicate, by namespace or name, or all of them (`{}`). */
export type PodMatch = Partial<ObjectKey> | ((pod: Pod) => boolean);

export interface PodSimulation extends Disposable {
  /** Sets the behaviour of existing and new pods that match. The latest rule wins. Ended pods stay ended. */
  behave(match: PodMatch, behaviour: PodBehaviour): void;
  stop(): void;
}

const NODE = 'simulated-node';

/**
 * Simulates a scheduler, a kubelet and a volume binder: it gives pods a node, an IP and a status, ends deleted pods after
 * the delay and binds PersistentVolumeClaims. Its writes do not appear in the server's records.
 */
export function simulatePods(server: FakeApiServer, options: SimulatePodsOptions = {}): PodSimulation {
  return new Simulation(server, options);
}

class Simulation implements PodSimulation {
  readonly #server: FakeApiServer;
  readonly #clock: Clock;
  readonly #delayMs: number;
  readonly #rules: { match: PodMatch; behaviour: PodBehaviour }[];
  readonly #timers = new Map<string, Timer>();
  readonly #unsubscribe: (() => void)[];
  #addresses = 0;

  constructor(
    server: FakeApiServer,
    { delayMs = 0, clock = systemClock, behaviour = 'run', bindVolumes = true }: SimulatePodsOptions,
  ) {
    this.#server = server;
    this.#clock = clock;
    this.#delayMs = delayMs;
    this.#rules = [{ match: {}, behaviour }];
    this.#unsubscribe = [server.onChange(pods, (key) => this.#schedule(key))];
    for (const pod of server.objects(pods)) this.#schedule(buildKey(pod));
    if (!bindVolumes) return;
    this.#unsubscribe.push(server.onChange(persistentVolumeClaims, (key) => this.#bind(key)));
    for (const disk of server.objects(persistentVolumeClaims)) this.#bind(buildKey(disk));
  }

  behave(match: PodMatch, behaviour: PodBehaviour): void {
    this.#rules.unshift({ match, behaviour });
    for (const pod of this.#server.objects(pods)) if (isNamed(match, pod)) this.#schedule(buildKey(pod));
  }

  stop(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    for (const timer of this.#timers.values()) timer.cancel();
    this.#timers.clear();
  }

  [Symbol.dispose](): void {
    this.stop();
  }

  /** Schedules one step per pod at a time. Without a delay it runs at once, so that tests take no real time. */
  #schedule(key: ObjectKey): void {
    if (this.#delayMs === 0) {
      this.#step(key);
      return;
    }
    const name = formatKey(key);
    if (this.#timers.has(name)) return;
    const step = (): void => {
      this.#timers.delete(name);
      this.#step(key);
    };
    this.#timers.set(name, this.#clock.setTimeout(step, this.#delayMs));
  }

  #step(key: ObjectKey): void {
    const pod = this.#server.object(pods, key);
    if (pod === undefined) return;
    if (pod.metadata.deletionTimestamp !== undefined) this.#end(key, pod);
    else if (pod.status?.phase !== 'Failed' && pod.status?.phase !== 'Succeeded') this.#run(key, pod);
  }

  /** The containers have stopped, so the kubelet deletes the pod without grace. Finalizers may still keep it. */
  #end(key: ObjectKey, { metadata }: Pod): void {
    if (metadata.deletionGracePeriodSeconds === 0) return;
    this.#server.change(pods, key, (pod) => (pod.metadata.deletionGracePeriodSeconds = 0));
  }

  #run(key: ObjectKey, pod: Pod): void {
    const behaviour = this.#getBehaviour(pod);
    const missing = listDiskNames(pod).filter((name) => !this.#isBound({ namespace: key.namespace, name }));
    const blocked = behaviour === 'unschedulable' || missing.length > 0;
    if (blocked && pod.spec.nodeName !== undefined) return;
    const now = formatTimestamp(this.#clock.now());
    const [first] = missing;
    const status: PodStatus =
      first === undefined
        ? buildPodStatus(behaviour, { pod, ip: pod.status?.podIP ?? this.#nextAddress(), now })
        : {
            phase: 'Pending',
            conditions: [buildUnschedulableCondition(now, `persistentvolumeclaim "${first}" not found or not bound`)],
          };
    if (isSame(pod.status, status)) return;
    this.#server.change(pods, key, (current) => {
      if (!blocked) current.spec.nodeName ??= NODE;
      current.status = status;
    });
  }

  #getBehaviour(pod: Pod): PodBehaviour {
    return this.#rules.find(({ match }) => isNamed(match, pod))?.behaviour ?? 'run';
  }

  #isBound(key: ObjectKey): boolean {
    return this.#server.object(persistentVolumeClaims, key)?.status?.phase === 'Bound';
  }

  #bind(key: ObjectKey): void {
    const disk = this.#server.object(persistentVolumeClaims, key);
    if (disk === undefined) return;
    if (disk.status?.phase === 'Bound') {
      this.#reviewUsers(key);
      return;
    }
    this.#server.change(persistentVolumeClaims, key, (current) => {
      const storage = String(current.spec.resources?.requests?.['storage'] ?? '1Gi');
      current.spec.volumeName ??= `pvc-${current.metadata.uid ?? ''}`;
      current.status = { phase: 'Bound', capacity: { storage } };
    });
  }

  /** Continues pods that waited for a PersistentVolumeClaim. */
  #reviewUsers({ namespace, name }: ObjectKey): void {
    for (const pod of this.#server.objects(pods, namespace))
      if (listDiskNames(pod).includes(name)) this.#schedule(buildKey(pod));
  }

  #nextAddress(): string {
    this.#addresses += 1;
    return `10.244.${Math.floor(this.#addresses / 250)}.${(this.#addresses % 250) + 1}`;
  }
}

function buildKey({ metadata: { namespace, name = '' } }: KubeObject): ObjectKey {
  return { namespace, name };
}

function isNamed(match: PodMatch, pod: Pod): boolean {
  if (typeof match === 'function') return match(pod);
  const { namespace, name } = pod.metadata;
  return (match.name ?? name) === name && (match.namespace ?? namespace) === namespace;
}

/** Whether two statuses are equal apart from times. */
function isSame(current: PodStatus | undefined, next: PodStatus): boolean {
  const getContent = (status: PodStatus | undefined): unknown => [
    status?.phase,
    status?.conditions?.map(({ type, status: holds, message }) => [type, holds, message]),
    status?.containerStatuses?.map(({ ready, state }) => [ready, state?.waiting?.reason, state?.terminated?.reason]),
  ];
  return isDeepStrictEqual(getContent(current), getContent(next));
}
