import type { Pod, Store } from '@sandlot/kube';
import type { Clock } from '@sandlot/std';
import { AgentClient } from './agent-client.ts';
import type { AgentSettings } from './agent-client.ts';
import { AgentAway } from './agent-error.ts';

/** Index of the Pods of agents by their node. */
export const BY_NODE = 'byNode';

export interface AgentsOptions extends AgentSettings {
  readonly clock: Clock;
  readonly pods: Store<Pod>;
}

/** The agents of the nodes: the DaemonSet has one Pod on each. */
export class Agents {
  readonly #o: AgentsOptions;

  constructor(options: AgentsOptions) {
    this.#o = options;
  }

  /** The agent that runs on the node now. Throws {@link AgentAway} when none does. */
  get(nodeName: string): AgentClient {
    const { clock, tlsDir, port } = this.#o;
    const host = this.#findAddress(nodeName);
    if (host === undefined) throw new AgentAway('no Pod of the agent runs there');
    return new AgentClient({ clock, host, tlsDir, port });
  }

  has(nodeName: string): boolean {
    return this.#findAddress(nodeName) !== undefined;
  }

  /** Whether there is a Pod of the agent for the node, in whatever state. */
  hasPod(nodeName: string): boolean {
    return [...this.#o.pods.listByIndex(BY_NODE, nodeName)].length > 0;
  }

  /** The name of a node whose agent runs; undefined: there is none. */
  findServing(): string | undefined {
    const names = [...this.#o.pods.values()].filter(isServing).flatMap(({ spec }) => spec.nodeName ?? []);
    return names.sort()[0];
  }

  #findAddress(nodeName: string): string | undefined {
    return [...this.#o.pods.listByIndex(BY_NODE, nodeName)].find(isServing)?.status?.podIP;
  }
}

function isServing({ metadata, status }: Pod): boolean {
  return metadata.deletionTimestamp === undefined && status?.phase === 'Running' && status.podIP !== undefined;
}
