import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { Clock, Logger } from '@sandlot/std';
import type { PlaneSandbox } from '../plan/plan.ts';
import { answerSchema } from './protocol.ts';
import type { Message, Refused } from './protocol.ts';

export interface ConnectionOptions {
  readonly path: string;
  readonly blocked: readonly string[];
  /** What holds for every address now. */
  readonly listAll: () => Iterable<readonly [string, PlaneSandbox]>;
  /** How old the view of the cluster is, in milliseconds. */
  readonly getAgeMs: () => number;
  readonly onRefused: (refused: Refused) => void;
  readonly clock: Clock;
  readonly log: Logger;
}

const BEAT_MS = 1_000;
/** The data plane starts beside this process, and may be started anew at any time. */
const RETRY_MS = 200;

/** Keeps the data plane up to date over its socket: with everything after a connection, and with each change after that. */
export class PlaneConnection {
  readonly #options: ConnectionOptions;
  #socket: Socket | undefined;
  #sent = 0;
  #applied = 0;
  #isWhole = false;

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  /** Whether the data plane has confirmed everything that was sent. */
  isCurrent(): boolean {
    return this.#isWhole && this.#applied === this.#sent;
  }

  /** Says what holds for an address from now on; undefined: nothing does. Without a connection the next one says it. */
  put(address: string, sandbox: PlaneSandbox | undefined): void {
    if (this.#socket === undefined) return;
    this.#send(sandbox === undefined ? { type: 'gone', address } : { type: 'sandbox', address, sandbox });
  }

  /** Connects, again and again, until the signal aborts. Never rejects. */
  async keep(stop: AbortSignal): Promise<void> {
    const { clock, log, path } = this.#options;
    const isStopped = (): boolean => stop.aborted;
    let reported = '';
    while (!isStopped()) {
      const problem = await this.#serve(stop).catch((error: unknown) =>
        error instanceof Error ? error.message : String(error),
      );
      if (problem !== reported && !isStopped()) log.warn({ path, reason: problem }, 'the data plane is not connected');
      reported = problem;
      await clock.sleep(RETRY_MS, stop);
    }
  }

  /** Resolves with the reason why the connection ended. */
  async #serve(stop: AbortSignal): Promise<string> {
    const socket = connect(this.#options.path);
    const ended = Promise.withResolvers<string>();
    socket.once('error', (error) => ended.resolve(error.message));
    socket.once('close', () => ended.resolve('the data plane closed the connection'));
    const abort = (): unknown => socket.destroy();
    stop.addEventListener('abort', abort, { once: true });
    socket.once('connect', () => this.#begin(socket));
    const reason = await ended.promise;
    stop.removeEventListener('abort', abort);
    socket.destroy();
    this.#socket = undefined;
    this.#isWhole = false;
    return reason;
  }

  #begin(socket: Socket): void {
    const { blocked, listAll, clock } = this.#options;
    this.#socket = socket;
    this.#sent = 0;
    this.#applied = 0;
    createInterface({ input: socket }).on('line', (line) => this.#read(line));
    this.#beat();
    this.#send({ type: 'reset', blocked });
    for (const [address, sandbox] of listAll()) this.#send({ type: 'sandbox', address, sandbox });
    this.#send({ type: 'synced' });
    this.#isWhole = true;
    const arm = (): void => {
      const timer = clock.setTimeout(() => {
        if (this.#socket !== socket) return;
        this.#beat();
        arm();
      }, BEAT_MS);
      socket.once('close', () => timer.cancel());
    };
    arm();
  }

  #beat(): void {
    const ageMs = this.#options.getAgeMs();
    this.#write({ type: 'beat', ageMs: Number.isFinite(ageMs) ? Math.round(ageMs) : null });
  }

  #send(message: Message): void {
    this.#sent += 1;
    this.#write({ ...message, n: this.#sent });
  }

  #write(message: Message): void {
    this.#socket?.write(`${JSON.stringify(message)}\n`);
  }

  /** The data plane reads hostile bytes: what it says is checked, and ends nothing here. */
  #read(line: string): void {
    const { data } = answerSchema.safeParse(parseJson(line));
    if (data === undefined) this.#options.log.warn({}, 'the data plane said something unknown');
    else if (data.type === 'applied') this.#applied = data.n;
    else this.#options.onRefused(data);
  }
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
