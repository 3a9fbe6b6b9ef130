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

/** Keeps the data plane up to date over its socket: with everything after a connection, and with each change after that. */
export class PlaneConnection {
  readonly #options: ConnectionOptions;
  #socket: Socket | undefined;
  #end: ((reason: string) => void) | undefined;
  #sent = 0;
  #applied = 0;
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
    if (this.#socket !== undefined) this.#send({ type: 'value', ref, value: value ?? null });
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
    this.#confirmedMs = clock.monotonic();
    createInterface({ input: socket }).on('line', (line) => this.#read(line));
    this.#beat();
    this.#send({ type: 'reset', blocked, ...proxy });
    for (const [ref, value] of listValues()) this.putValue(ref, value);
    for (const [address, sandbox] of listAll()) this.#put(address, sandbox);
    this.#send({ type: 'synced' });
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
    const isKept = sandbox !== undefined && !this.#isTooLong(sandbox);
    this.#send(isKept ? { type: 'sandbox', address, sandbox } : { type: 'gone', address });
  }

  #isTooLong(sandbox: PlaneSandbox): boolean {
    const { namespace, uid: sandboxUid, claim } = sandbox;
    if (JSON.stringify(sandbox).length <= MAX_LINE) return false;
    this.#options.log.warn({ namespace, sandboxUid, claim }, 'the rules of a sandbox are too long: it reaches nothing');
    return true;
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
    else if (data.type === 'applied') this.#confirm(data.n);
    else this.#options.onRefused(data);
  }

  #confirm(n: number): void {
    this.#applied = n;
    this.#confirmedMs = this.#options.clock.monotonic();
  }
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
