import type { EventEmitter } from 'node:events';
import { isRuntimeApi } from '../access/check-access.ts';
import { findEndOfIncarnation } from '../directory/decide-ending.ts';
import type { SandboxSnapshot } from '../directory/snapshot.ts';
import type { Target, Terms } from '../directory/target.ts';
import type { Refusal } from '../refusals/refusal.ts';
import { DialError } from './dial.ts';
import { refuse } from './exchange.ts';
import type { SandboxExchange } from './exchange.ts';
import { breakOff } from './messages.ts';
import type { Holder, OpenExchanges } from './open-exchanges.ts';
import { trackUpgraded } from './track-upgraded.ts';
import { Transfer } from './transfer.ts';
import type { SocketPair, TransferOptions } from './transfer.ts';
import type { ActiveExchange, EndReason, Upstream } from './upstreams.ts';

export interface ForwarderDeps {
  readonly openExchanges: OpenExchanges;
  /** Port of the daemon's agent-sandbox API, which answers the gateway only. */
  readonly execPort: number;
  readonly onBegin: (target: Target) => void;
  readonly onEnd: (target: Target) => void;
  readonly onUpgrade: (change: 1 | -1) => void;
  readonly onAnswer: TransferOptions['onAnswer'];
  readonly onRefusal: (refusal: Refusal) => void;
  /** Looks the sandbox of the exchange up again. */
  readonly find: () => SandboxSnapshot;
  readonly clock: TransferOptions['clock'];
}

/** Pauses between failed dials of an agent-sandbox request (docs/reference/runtime.md#agent-sandbox-api). */
const ROUTER_PAUSES_MS = [200, 400, 800];

/** Forwards one exchange to a sandbox: counts it, ends it with the sandbox and turns failures into refusals. */
export class Forwarder implements ActiveExchange {
  readonly #exchange: SandboxExchange;
  readonly #upstream: Upstream;
  readonly #holder: Holder;
  readonly #deps: ForwarderDeps;
  #transfer: Transfer | undefined;
  #dials = 0;
  readonly #onClose = (): void => this.#finish();

  constructor(
    exchange: SandboxExchange,
    to: { readonly upstream: Upstream; readonly terms: Terms },
    deps: ForwarderDeps,
  ) {
    this.#exchange = exchange;
    this.#upstream = to.upstream;
    const { namespace, keyId } = to.terms;
    this.#holder = { uid: to.upstream.target.uid, namespace, keyId };
    this.#deps = deps;
  }

  /** Forwards the exchange, or refuses it when the sandbox, its namespace or its API key has too many. */
  start(): void {
    const { target, active } = this.#upstream;
    const refusal = this.#takePlaces();
    if (refusal !== undefined) {
      this.#refuse(refusal);
      return;
    }
    active.add(this);
    if (!this.#exchange.isHealthCheck) this.#deps.onBegin(target);
    // An upgrade is over when its connection closes, anything else with its response.
    this.#closing.once('close', this.#onClose);
    this.#send();
  }

  get #closing(): EventEmitter {
    return this.#exchange.upgrade?.socket ?? this.#exchange.response;
  }

  end(reason: EndReason): void {
    this.#transfer?.cancel();
    const { response, id } = this.#exchange;
    if (response.headersSent) breakOff(response);
    else this.#refuse(reason === 'stopping' ? { kind: 'stopping', id } : { kind: 'gone', id, reason });
  }

  #send(): void {
    const { target, connections, prove } = this.#upstream;
    const { port, dialect, peer, timeoutMs } = this.#exchange;
    const [address] = target.addresses;
    const bracketed = address.includes(':') ? `[${address}]` : address;
    this.#transfer = new Transfer({
      exchange: this.#exchange,
      hop: {
        agent: connections,
        hostname: address,
        port,
        host: dialect === 'router' ? `${bracketed}:${port}` : peer.host,
        kind: dialect === 'router' ? 'router' : 'sandbox',
        proof: isRuntimeApi(port, { execPort: this.#deps.execPort, identity: target.identity }) ? prove() : undefined,
      },
      clock: this.#deps.clock,
      timeoutMs,
      onAnswer: this.#deps.onAnswer,
      onUpgrade: (sockets) => this.#handOver(sockets),
      onFailure: (error, isLate) => this.#onFailure(error, isLate),
    });
    this.#transfer.start();
  }

  /** Thousands of upgraded connections stay open for long: this object and the request are freed, only the places stay. */
  #handOver(sockets: SocketPair): void {
    this.#closing.off('close', this.#onClose);
    this.#upstream.active.delete(this);
    const { openExchanges, onEnd, onUpgrade } = this.#deps;
    trackUpgraded({ upstream: this.#upstream, holder: this.#holder, openExchanges, onEnd, onUpgrade }, sockets);
  }

  #onFailure(error: NodeJS.ErrnoException, isLate: boolean): void {
    const { id, port, dialect, timeoutMs = 0 } = this.#exchange;
    const gone = findEndOfIncarnation(this.#upstream.target, this.#deps.find());
    const pauseMs = ROUTER_PAUSES_MS[this.#dials];
    if (gone !== undefined) this.#refuse({ kind: 'gone', id, reason: gone });
    else if (isLate) this.#refuse({ kind: 'timeout', id, seconds: timeoutMs / 1_000 });
    else if (!isClosed(error)) this.#refuse({ kind: 'no-answer', id, port, detail: error.message });
    else if (dialect === 'router' && pauseMs !== undefined) this.#sendAgain(pauseMs);
    else this.#refuse({ kind: 'port-closed', id, port });
  }

  #sendAgain(pauseMs: number): void {
    this.#dials += 1;
    const { response } = this.#exchange;
    const timer = this.#deps.clock.setTimeout(() => this.#send(), pauseMs);
    response.once('close', () => timer.cancel());
  }

  #refuse(refusal: Refusal): void {
    this.#deps.onRefusal(refusal);
    refuse(this.#exchange, refusal);
  }

  /** Takes places of the sandbox, its namespace and its API key; the refusal when one of them has none left. */
  #takePlaces(): Refusal | undefined {
    const full = this.#deps.openExchanges.enter(this.#holder);
    return full === undefined ? undefined : { kind: 'too-many', id: this.#exchange.id, ...full };
  }

  #finish(): void {
    const { target, active } = this.#upstream;
    if (!active.delete(this)) return;
    this.#deps.openExchanges.leave(this.#holder);
    if (!this.#exchange.isHealthCheck) this.#deps.onEnd(target);
  }
}

/** Whether nothing listens on the port yet. */
const isClosed = (error: Error): boolean => error instanceof DialError && error.code !== 'stranger';
