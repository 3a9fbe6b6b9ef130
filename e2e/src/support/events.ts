import { connectBus } from '@sandlot/bus';
import type { Bus, CloudEvent, Consumed } from '@sandlot/bus';
import { readSession } from '@sandlot/bus/testing';
import { silentLogger } from '@sandlot/std';
import { readNatsAccess } from './nats.ts';
import type { NatsAccess } from './nats.ts';
import { runSandlot } from './sandlot.ts';
import { eventually } from './team.ts';
import type { Team } from './team.ts';

const STREAM = 'SANDLOT_EVENTS';

/**
 * Records the events of a team through a durable consumer, as another service would. Disposing deletes the consumers whose
 * names begin with the team's namespace.
 */
export class EventRecorder implements AsyncDisposable {
  /** In the order of arrival, each as often as it was handled. */
  readonly events: CloudEvent[] = [];
  readonly outcomes: Consumed[] = [];
  readonly bus: Bus;
  readonly #access: NatsAccess;
  readonly #durable: string;
  readonly #consumption: AsyncDisposable | undefined;

  private constructor(bus: Bus, access: NatsAccess, namespace: string) {
    this.bus = bus;
    this.#access = access;
    this.#durable = namespace;
    this.#consumption = bus.consume({
      durable: namespace,
      filter: `sandlot.${namespace}.>`,
      backoffMs: [5_000, 5_000],
      handle: async (event) => void this.events.push(event),
      onOutcome: (outcome) => void this.outcomes.push(outcome),
    });
  }

  static async open(team: Team): Promise<EventRecorder> {
    const access = await readNatsAccess(team);
    const bus = await connectBus({ ...access, service: 'e2e', log: silentLogger });
    await eventually('NATS is reached', async () => (bus.isConnected() ? true : undefined));
    return new EventRecorder(bus, access, team.namespace);
  }

  /** The types of the events of an object with that name, in alphabetical order, with repetitions. */
  listTypes(kind: string, name: string): string[] {
    const own = this.events.filter(({ type, data }) => type.startsWith(`${kind}.`) && data.name === name);
    return own.map(({ type }) => type.slice(kind.length + 1)).toSorted();
  }

  /** Deletes the stream of events. */
  async deleteStream(): Promise<void> {
    await using session = await readSession(this.#access.url, { ...this.#access, pass: this.#access.password });
    await session.manager.streams.delete(STREAM);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#consumption?.[Symbol.asyncDispose]();
    await using session = await readSession(this.#access.url, { ...this.#access, pass: this.#access.password });
    for await (const { name } of session.manager.consumers.list(STREAM)) {
      if (name.startsWith(this.#durable)) await session.manager.consumers.delete(STREAM, name);
    }
    await this.bus.close();
  }
}

/** Runs `sandlot events` and returns its lines. Throws when it fails. */
export async function listSandlotEvents(...args: readonly string[]): Promise<string[]> {
  return (await runSandlot('events', ...args)).split('\n').filter((line) => line !== '');
}
