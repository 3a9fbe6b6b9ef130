import { createHash, timingSafeEqual } from 'node:crypto';
import type { EventEmitter } from 'node:events';
import { refuse } from './exchange.ts';
import type { SandboxCall } from './exchange.ts';
import type { Counters } from './concurrency-limit.ts';
import { endOfIncarnation } from '../decide.ts';
import type { GoneReason, Target, Terms } from '../decide.ts';
import { DialError } from './dial.ts';
import { breakOff } from './messages.ts';
import { DAEMON_PORT } from '../routing/paths.ts';
import type { Refusal } from '../refusals/refusal.ts';
import type { Situation } from '../directory/snapshot.ts';
import { Transfer } from './transfer.ts';
import type { Ends, TransferOptions } from './transfer.ts';
import { hold } from './track-upgraded.ts';
import type { Ongoing, Upstream } from './upstreams.ts';

/** What stands in the way of a call to a sandbox that may be there; undefined: nothing. */
export function obstacle(call: SandboxCall, terms: Terms, execPort: number): Refusal | undefined {
  const { port, path, id, dialect } = call;
  if (dialect === 'e2b' && terms.hasDaemon && port === execPort && execPort !== 0) return { kind: 'blocked', path };
  if (terms.trafficTokenHash === undefined || port === DAEMON_PORT) return undefined;
  const token = call.request.headers['e2b-traffic-access-token'];
  const isRight = typeof token === 'string' && isHashOf(token, terms.trafficTokenHash);
  return isRight ? undefined : { kind: 'traffic-token', id };
}

function isHashOf(token: string, hash: string): boolean {
  const expected = Buffer.from(hash, 'hex');
  const actual = createHash('sha256').update(token).digest();
  return expected.length === actual.length && timingSafeEqual(actual, expected);
}

export interface PassageDeps {
  readonly perSandbox: Counters;
  readonly perKey: Counters;
  readonly began: (target: Target) => void;
  readonly ended: (target: Target) => void;
  readonly onUpgrade: (change: 1 | -1) => void;
  readonly onAnswer: TransferOptions['onAnswer'];
  readonly refused: (refusal: Refusal) => void;
  /** What is known now of whom the call is for. */
  readonly now: () => Situation;
  readonly clock: TransferOptions['clock'];
}

/** Dials of agent-sandbox calls that found nobody are tried again so much later (E2B wire contract 6.3). */
const ROUTER_PAUSES_MS = [200, 400, 800];

/** A call on its way to a sandbox: counted, known to the sandbox's upstream, and over when either side is. */
export class Passage implements Ongoing {
  readonly #call: SandboxCall;
  readonly #upstream: Upstream;
  readonly #terms: Terms;
  readonly #deps: PassageDeps;
  #transfer: Transfer | undefined;
  #dials = 0;
  readonly #onClose = (): void => this.#over();

  constructor(call: SandboxCall, to: { readonly upstream: Upstream; readonly terms: Terms }, deps: PassageDeps) {
    this.#call = call;
    this.#upstream = to.upstream;
    this.#terms = to.terms;
    this.#deps = deps;
  }

  /** Passes the call on, unless there are too many already. */
  start(): void {
    const { target, ongoing } = this.#upstream;
    const full = this.#enter();
    if (full !== undefined) {
      this.#refuse(full);
      return;
    }
    ongoing.add(this);
    if (!this.#call.isHealthCheck) this.#deps.began(target);
    // What is to be upgraded is over with its connection, anything else with its answer.
    this.#closing.once('close', this.#onClose);
    this.#send();
  }

  get #closing(): EventEmitter {
    return this.#call.upgrade?.socket ?? this.#call.response;
  }

  end(reason: GoneReason): void {
    this.#transfer?.cancel();
    const { response, id } = this.#call;
    if (response.headersSent) breakOff(response);
    else this.#refuse({ kind: 'gone', id, reason });
  }

  #send(): void {
    const { target, connections } = this.#upstream;
    const { port, dialect, origin, timeoutMs } = this.#call;
    const [address] = target.addresses;
    const bracketed = address.includes(':') ? `[${address}]` : address;
    this.#transfer = new Transfer({
      call: this.#call,
      hop: {
        agent: connections,
        hostname: address,
        port,
        host: dialect === 'router' ? `${bracketed}:${port}` : origin.host,
        kind: dialect === 'router' ? 'router' : 'sandbox',
      },
      clock: this.#deps.clock,
      timeoutMs,
      onAnswer: this.#deps.onAnswer,
      onUpgraded: (ends) => this.#upgraded(ends),
      onFailure: (error, late) => this.#failed(error, late),
    });
    this.#transfer.start();
  }

  /** Many are open for long: what the passage knows of the request is let go, and a little is kept of its place. */
  #upgraded(ends: Ends): void {
    this.#closing.off('close', this.#onClose);
    this.#upstream.ongoing.delete(this);
    const { perSandbox, perKey, ended, onUpgrade } = this.#deps;
    hold({ upstream: this.#upstream, keyId: this.#terms.keyId, perSandbox, perKey, ended, onUpgrade }, ends);
  }

  #failed(error: NodeJS.ErrnoException, late: boolean): void {
    const { id, port, dialect, timeoutMs = 0 } = this.#call;
    const gone = endOfIncarnation(this.#upstream.target, this.#deps.now());
    const pauseMs = ROUTER_PAUSES_MS[this.#dials];
    if (gone !== undefined) this.#refuse({ kind: 'gone', id, reason: gone });
    else if (late) this.#refuse({ kind: 'timeout', id, seconds: timeoutMs / 1_000 });
    else if (error instanceof DialError && dialect === 'router' && pauseMs !== undefined) this.#again(pauseMs);
    else if (error instanceof DialError) this.#refuse({ kind: 'port-closed', id, port });
    else this.#refuse({ kind: 'no-answer', id, port, detail: error.message });
  }

  #again(pauseMs: number): void {
    this.#dials += 1;
    const { response } = this.#call;
    const timer = this.#deps.clock.setTimeout(() => this.#send(), pauseMs);
    response.once('close', () => timer.cancel());
  }

  #refuse(refusal: Refusal): void {
    this.#deps.refused(refusal);
    refuse(this.#call, refusal);
  }

  #enter(): Refusal | undefined {
    const { perSandbox, perKey } = this.#deps;
    const { id } = this.#call;
    const { uid } = this.#upstream.target;
    const { keyId } = this.#terms;
    if (!perSandbox.enter(uid)) return { kind: 'too-many', id, limit: perSandbox.limit, whose: 'a sandbox' };
    if (keyId === undefined || perKey.enter(keyId)) return undefined;
    perSandbox.leave(uid);
    return { kind: 'too-many', id, limit: perKey.limit, whose: 'all sandboxes of an API key together' };
  }

  #over(): void {
    const { target, ongoing } = this.#upstream;
    if (!ongoing.delete(this)) return;
    this.#deps.perSandbox.leave(target.uid);
    if (this.#terms.keyId !== undefined) this.#deps.perKey.leave(this.#terms.keyId);
    if (!this.#call.isHealthCheck) this.#deps.ended(target);
  }
}
