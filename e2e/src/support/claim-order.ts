import { sandboxClaims } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { createInformer, getKey } from '@sandlot/kube';
import { findReadyCondition } from './sandboxes.ts';
import { eventually } from './team.ts';
import type { Team } from './team.ts';

/**
 * Records the order in which the API server committed the first status and the first Ready of claims. One watch of all
 * namespaces shows that order, independent of clocks and of how long answers take.
 */
export class ClaimOrder implements AsyncDisposable {
  /** Keys of claims in the order of their first status. */
  readonly answered: string[] = [];
  /** Keys of claims in the order in which they became Ready. */
  readonly served: string[] = [];
  readonly #namespaces: ReadonlySet<string>;
  readonly #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();

  private constructor(teams: readonly Team[]) {
    this.#namespaces = new Set(teams.map(({ namespace }) => namespace));
  }

  /** Starts the watch. Claims that already have a status come in no particular order. */
  static async watch(first: Team, ...others: readonly Team[]): Promise<ClaimOrder> {
    const order = new ClaimOrder([first, ...others]);
    const informer = createInformer({ client: first.client, resource: sandboxClaims });
    informer.onChange(({ next }) => {
      if (next !== undefined) order.#see(next);
    });
    order.#running = informer.run(order.#stop.signal);
    await informer.waitUntilSynced();
    return order;
  }

  /** Waits until at least that many claims have a status and are Ready. */
  async until(least: { readonly answered?: number; readonly served?: number }): Promise<void> {
    const { answered = 0, served = 0 } = least;
    await eventually(
      `${answered} claims are answered and ${served} served`,
      async () => (this.answered.length >= answered && this.served.length >= served ? true : undefined),
      180_000,
    );
  }

  #see(claim: SandboxClaim): void {
    if (!this.#namespaces.has(claim.metadata.namespace ?? '')) return;
    const key = getKey(claim);
    const ready = findReadyCondition(claim);
    if (ready !== undefined && !this.answered.includes(key)) this.answered.push(key);
    if (ready?.status === 'True' && !this.served.includes(key)) this.served.push(key);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }
}
