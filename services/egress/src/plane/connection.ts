import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { Clock, Logger } from '@sandlot/std';
import type { PlaneSandbox, ProxyAddresses } from '../plan/plan.ts';
import { answerSchema } from './protocol.ts';
import type { Message, Refused } from './protocol.ts';

export interface ConnectionOptions {
  readonly path: string;
  readonly blocked: readonly string[];
  /** Where the proxy is, or the reason why that is not known. */
  readonly findProxy: () => ProxyAddresses | string;
  /** What holds for every address now. */
  readonly listAll: () => Iterable<readonly [string, PlaneSandbox]>;
  /** The values to which rules refer now, by reference. */
  readonly listValues: () => Iterable<readonly [string, string]>;
  /** How old the view of the cluster is, in milliseconds. */
  readonly getAgeMs: () => number;
  readonly onRefused: (refused: Refused) => void;
  readonly clock: Clock;
  readonly log: Logger;
}

const BEAT_MS = 1_000;
/** The data plane starts beside this process, and may be started anew at any time. */
const RETRY_MS = 200;
/** A data plane that confirms nothing for so long does not read: what waits for it would grow without end. */
const CONFIRM_MS = 10_000;
/** The data plane refuses a longer line, and with it the connection of all sandboxes. */
const MAX_LINE = 1_000_000;

/** The key of what a connection begins with. */
const EVERYTHING = 'everything';

/** Keeps the data plane up to date over its socket: with everything after a connection, and with each change after that. */
export class PlaneConnection {
  readonly #options: ConnectionOptions;
  #socket: Socket | undefined;
  #end: ((reason: string) => void) | undefined;
  #sent = 0;
  #applied = 0;
  /** The last number of what is sent and not confirmed, in their order: by address, and by reference of a value. */
  readonly #awaited = new Map<string, number>();
  /** Monotonic time at which something was confirmed, or nothing waited to be. */
  #confirmedMs = 0;

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  /** Says what holds for an address from now on; undefined: nothing does. Without a connection the next one says it. */
  put(address: string, sandbox: PlaneSandbox | undefined): void {
    if (this.#socket !== undefined) this.#put(address, sandbox);
  }

  /** Sets the value of a reference; undefined: it has none any more. Without a connection the next one says it. */
  putValue(ref: string, value: string | undefined): void {
    if (this.#socket !== undefined) this.#send({ type: 'value', ref, value: value ?? null }, formatValueKey(ref));
  }

  /** Ends the connection, so that the next one says everything anew. The data plane keeps what it has until that is complete. */
  renew(reason: string): void {
    this.#end?.(reason);
  }

  get isConnected(): boolean {
    return this.#socket !== undefined;
  }

  /** How many messages the data plane has not confirmed. */
  get unconfirmed(): number {
    return this.isConnected ? this.#sent - this.#applied : 0;
  }

  /**
   * Whether the data plane has confirmed what holds for the address, and the values of its rules. After a new connection it has
   * confirmed nothing until it has everything.
   */
  hasConfirmed(address: string, sandbox: PlaneSandbox): boolean {
    if (!this.isConnected || this.#awaited.has(EVERYTHING) || isTooLong(sandbox)) return false;
    const refs = sandbox.rules.flatMap(({ headers }) => headers.map(({ ref }) => formatValueKey(ref)));
    return ![address, ...refs].some((key) => this.#awaited.has(key));
  }

  /** Connects, again and again, until the signal aborts. Never rejects. */
  async keep(stop: AbortSignal): Promise<void> {
    const { clock, log, path } = this.#options;
    const isStopped = (): boolean => stop.aborted;
    let reported = '';
    while (!isStopped()) {
      const problem = await this.#serve(stop);
      if (problem !== reported && !isStopped()) log.warn({ path, reason: problem }, 'the data plane is not connected');
      reported = problem;
      await clock.sleep(RETRY_MS, stop);
    }
  }

  /** Resolves with the reason why the connection ended. */
  async #serve(stop: AbortSignal): Promise<string> {
    const proxy = this.#options.findProxy();
    if (typeof proxy === 'string') return proxy;
    const socket = connect(this.#options.path);
    const ended = Promise.withResolvers<string>();
    this.#end = ended.resolve;
    socket.once('error', (error) => ended.resolve(error.message));
    socket.once('close', () => ended.resolve('the data plane closed the connection'));
    const abort = (): unknown => socket.destroy();
    stop.addEventListener('abort', abort, { once: true });
    socket.once('connect', () => this.#begin(socket, proxy));
    const reason = await ended.promise;
    stop.removeEventListener('abort', abort);
    socket.destroy();
    this.#socket = undefined;
    this.#end = undefined;
    return reason;
  }

  #begin(socket: Socket, proxy: ProxyAddresses): void {
    const { blocked, listAll, listValues, clock } = this.#options;
    this.#socket = socket;
    this.#sent = 0;
    this.#applied = 0;
    this.#awaited.clear();
    this.#confirmedMs = clock.monotonic();
    createInterface({ input: socket }).on('line', (line) => this.#read(line));
    this.#beat();
    this.#send({ type: 'reset', blocked, ...proxy }, EVERYTHING);
    for (const [ref, value] of listValues()) this.putValue(ref, value);
    for (const [address, sandbox] of listAll()) this.#put(address, sandbox);
    this.#send({ type: 'synced' }, EVERYTHING);
    const arm = () =>
      clock.setTimeout(() => {
        this.#beat();
        this.#checkConfirmed();
        timer = arm();
      }, BEAT_MS);
    let timer = arm();
    socket.once('close', () => timer.cancel());
  }

  #beat(): void {
    const ageMs = this.#options.getAgeMs();
    this.#write({ type: 'beat', ageMs: Number.isFinite(ageMs) ? Math.round(ageMs) : null });
  }

  #checkConfirmed(): void {
    const nowMs = this.#options.clock.monotonic();
    if (this.#applied === this.#sent) this.#confirmedMs = nowMs;
    if (nowMs - this.#confirmedMs > CONFIRM_MS) this.renew('the data plane confirms nothing');
  }

  #put(address: string, sandbox: PlaneSandbox | undefined): void {
    const isKept = sandbox !== undefined && !this.#isRefused(sandbox);
    this.#send(isKept ? { type: 'sandbox', address, sandbox } : { type: 'gone', address }, address);
  }

  #isRefused(sandbox: PlaneSandbox): boolean {
    const { namespace, uid: sandboxUid, claim } = sandbox;
    if (!isTooLong(sandbox)) return false;
    this.#options.log.warn({ namespace, sandboxUid, claim }, 'the rules of a sandbox are too long: it reaches nothing');
    return true;
  }

  /** The key names what the message is about. */
  #send(message: Message, key: string): void {
    this.#sent += 1;
    // The last number of a key is the newest of the map.
    this.#awaited.delete(key);
    this.#awaited.set(key, this.#sent);
    this.#write({ ...message, n: this.#sent });
  }

  #write(message: Message): void {
    this.#socket?.write(`${JSON.stringify(message)}\n`);
  }

  /** The data plane reads hostile bytes: what it says is checked, and ends nothing here. */
  #read(line: string): void {
    const { data } = answerSchema.safeParse(parseJson(line));
    if (data === undefined) this.#options.log.warn({}, 'the data plane said something unknown');
    else if (data.type === 'applied') this.#confirm(data.n);
    else this.#options.onRefused(data);
  }

  #confirm(n: number): void {
    this.#applied = n;
    for (const [key, number] of this.#awaited) {
      if (number > n) break;
      this.#awaited.delete(key);
    }
    this.#confirmedMs = this.#options.clock.monotonic();
  }
}

function isTooLong(sandbox: PlaneSandbox): boolean {
  return JSON.stringify(sandbox).length > MAX_LINE;
}

/** No address has a space. */
function formatValueKey(ref: string): string {
  return `value ${ref}`;
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
