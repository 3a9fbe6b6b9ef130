import { createInformer, leases } from '@sandlot/kube';
import type { KubeClient, Lease } from '@sandlot/kube';
import { startServiceProcess } from '../service-process.ts';
import type { ServiceProcess } from '../service-process.ts';
import { stopBetweenTurns } from './stop-process.ts';
import type { ShardTerm } from './stray-writes.ts';

/** Namespace of the leases. */
const NAMESPACE = 'default';

export interface ShardedReplicasOptions {
  readonly client: KubeClient;
  /** Name of the controller, as in its leases. */
  readonly name: string;
  readonly main: URL;
  readonly shards: number;
  readonly env: Readonly<Record<string, string>>;
  /** Path of a kubeconfig of the user, who has the name of the replica. */
  readonly kubeconfigFor: (user: string) => Promise<string>;
}

/** Replicas of one controller that divide its work, and a record of the terms of their shards. */
export class ShardedReplicas implements AsyncDisposable {
  readonly #o: ShardedReplicasOptions;
  readonly #running = new Map<string, ServiceProcess>();
  readonly #users = new Set<string>();
  readonly #terms: ShardTerm[] = [];
  readonly #over = new AbortController();
  readonly #watching: Promise<void>;

  constructor(options: ShardedReplicasOptions) {
    this.#o = options;
    const informer = createInformer({ client: options.client, resource: leases, namespaces: [NAMESPACE] });
    informer.onChange(({ next }) => (next === undefined ? undefined : this.#record(next)));
    this.#watching = informer.run(this.#over.signal);
  }

  /** Every term of every shard so far. */
  get terms(): readonly ShardTerm[] {
    return this.#terms;
  }

  /** The users of all replicas so far. */
  get users(): ReadonlySet<string> {
    return this.#users;
  }

  async start(count: number): Promise<void> {
    const { name, kubeconfigFor } = this.#o;
    const kubeconfigs = new Map<string, string>();
    while (kubeconfigs.size < count) {
      const replica = `${name}-${this.#users.size}`;
      this.#users.add(replica);
      kubeconfigs.set(replica, await kubeconfigFor(replica));
    }
    await Promise.all([...kubeconfigs].map(([replica, kubeconfig]) => this.#startOne(replica, kubeconfig)));
  }

  /** The latest term of a shard. */
  findTerm(shard: number): ShardTerm | undefined {
    return this.#terms.filter((term) => term.shard === shard).toSorted((a, b) => b.token - a.token)[0];
  }

  /** The shards whose latest term is of this replica. */
  listShardsOf(replica: string): readonly number[] {
    const shards = Array.from({ length: this.#o.shards }, (_, shard) => shard);
    return shards.filter((shard) => this.findTerm(shard)?.holder === replica);
  }

  /** The running replicas that hold a shard. */
  listHolders(): readonly string[] {
    return [...this.#running.keys()].filter((replica) => this.listShardsOf(replica).length > 0);
  }

  async kill(replica: string): Promise<void> {
    await this.#running.get(replica)?.kill();
    this.#running.delete(replica);
  }

  /** Stops a replica as a debugger or a starved machine does: its timers and its connections wait. */
  async freeze(replica: string): Promise<void> {
    await stopBetweenTurns(this.#getPid(replica));
  }

  thaw(replica: string): void {
    process.kill(this.#getPid(replica), 'SIGCONT');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort();
    await Promise.all([this.#watching, ...[...this.#running.values()].map((replica) => replica.kill())]);
  }

  async #startOne(replica: string, kubeconfig: string): Promise<void> {
    const { main, env, shards } = this.#o;
    const settings = { ...env, KUBECONFIG: kubeconfig, POD_NAME: replica, POD_NAMESPACE: NAMESPACE };
    const started = await startServiceProcess(main, { LOG_LEVEL: 'info', ...settings, SHARDS: String(shards) });
    this.#running.set(replica, started);
  }

  #getPid(replica: string): number {
    const { pid } = this.#running.get(replica) ?? {};
    if (pid === undefined) throw new Error(`no replica ${replica} runs`);
    return pid;
  }

  #record({ metadata, spec = {} }: Lease): void {
    const [, shard] = new RegExp(`^sandlot-${this.#o.name}-(\\d+)$`).exec(metadata.name ?? '') ?? [];
    const { holderIdentity: holder = '', leaseTransitions: token = 0, acquireTime = '' } = spec;
    if (shard === undefined || holder === '') return;
    const term = { shard: Number(shard), token, holder, sinceMs: Date.parse(acquireTime) };
    const isKnown = this.#terms.some((one) => one.shard === term.shard && one.token === token);
    if (!isKnown) this.#terms.push(term);
  }
}
