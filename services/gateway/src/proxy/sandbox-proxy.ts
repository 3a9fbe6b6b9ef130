import type { Networks } from '../access/address.ts';
import { checkAccess } from '../access/check-access.ts';
import { decide } from '../decide.ts';
import type { Decision } from '../decide.ts';
import type { Directory } from '../directory/directory.ts';
import type { Query } from '../directory/query.ts';
import type { SandboxSnapshot } from '../directory/snapshot.ts';
import { findSource } from '../limits/source.ts';
import type { Refusal } from '../refusals/refusal.ts';
import { DAEMON_PORT } from '../routing/paths.ts';
import type { GatewayMetrics } from '../telemetry/metrics.ts';
import { findCarrier, runInWaitSpan } from '../telemetry/trace.ts';
import type { ClientTraces } from '../telemetry/trace.ts';
import type { HeldRequests, NoPlace } from '../waiting/held-requests.ts';
import { waitUntilReady } from '../waiting/wait-until-ready.ts';
import type { WaitDeps, WaitEnd } from '../waiting/wait-until-ready.ts';
import { refuse } from './exchange.ts';
import type { SandboxExchange } from './exchange.ts';
import { Forwarder } from './forwarder.ts';
import type { ForwarderDeps } from './forwarder.ts';
import { getBodyBytes } from './messages.ts';
import type { OpenExchanges } from './open-exchanges.ts';
import type { Upstreams } from './upstreams.ts';

export interface SandboxProxyDeps extends WaitDeps {
  readonly directory: Directory;
  readonly upstreams: Upstreams;
  readonly heldRequests: HeldRequests;
  readonly openExchanges: OpenExchanges;
  /** Networks of proxies whose X-Forwarded-For names the client. */
  readonly trustedProxies: Networks;
  readonly metrics: GatewayMetrics;
  readonly isDialable: (address: string) => boolean;
  readonly execPort: number;
  readonly holdMs: number;
  readonly traces: ClientTraces;
  /** The namespace is that of the sandbox. */
  readonly onAnswer: (exchange: SandboxExchange, status: number, namespace: string) => void;
  readonly onRefusal: (exchange: SandboxExchange, refusal: Refusal) => void;
  readonly onBegin: ForwarderDeps['onBegin'];
  readonly onEnd: ForwarderDeps['onEnd'];
  readonly onUpgrade: ForwarderDeps['onUpgrade'];
}

const NOT_SYNCED: Refusal = { kind: 'unsure', message: 'The gateway does not know the sandboxes yet; try again' };
const TOO_MANY_LOOKUPS: Refusal = {
  kind: 'limited',
  limit: 'lookups-by-source',
  message: 'Too many requests from this client address to sandboxes that the gateway does not know; try again',
};
const TOO_MANY_HELD: Refusal = {
  kind: 'unsure',
  message: 'Too many requests wait for their sandboxes; try again',
};

/** Serves exchanges with sandboxes: looks the sandbox up, decides, and then forwards, holds or refuses the exchange. */
export class SandboxProxy {
  readonly #deps: SandboxProxyDeps;

  constructor(deps: SandboxProxyDeps) {
    this.#deps = deps;
  }

  /** Serves an exchange. Returns undefined when it is forwarded or refused at once, which costs no promise. */
  serve(exchange: SandboxExchange, query: Query): Promise<void> | undefined {
    const { directory } = this.#deps;
    if (!directory.hasSynced()) {
      this.#refuse(exchange, NOT_SYNCED);
      return undefined;
    }
    const decision = this.#decide(exchange, directory.find(query));
    if (decision.kind === 'go') {
      this.#forward(exchange, query, decision);
      return undefined;
    }
    return this.#serveLater(exchange, query, decision);
  }

  #decide(exchange: SandboxExchange, { claim, sandbox }: SandboxSnapshot): Decision {
    return decide({
      claim,
      sandbox,
      dialable: (sandbox?.status?.podIPs ?? []).filter(this.#deps.isDialable),
      // Clients probe the daemon to learn whether a sandbox runs (docs/reference/e2b-api.md#access-rules).
      wakes: !(exchange.isHealthCheck && exchange.port === DAEMON_PORT),
    });
  }

  async #serveLater(exchange: SandboxExchange, query: Query, cached: Exclude<Decision, { kind: 'go' }>): Promise<void> {
    // The client may know of a write that the watches do not show yet: the API server confirms before a refusal.
    const source = this.#findSource(exchange);
    const live = cached.kind === 'gone' ? await this.#deps.directory.findLive(query, source) : undefined;
    if (exchange.response.destroyed) return;
    if (typeof live === 'string' && cached.kind === 'gone' && cached.reason === 'unknown') {
      this.#refuse(exchange, live === 'limited' ? TOO_MANY_LOOKUPS : NOT_SYNCED);
      return;
    }
    const isKnown = live !== undefined && typeof live !== 'string';
    const decision = isKnown ? this.#decide(exchange, live) : cached;
    if (decision.kind === 'wait') await this.#hold(exchange, query, decision);
    else this.#finish(exchange, query, decision);
  }

  #finish(exchange: SandboxExchange, query: Query, end: WaitEnd): void {
    const { id } = exchange;
    if (end.kind === 'go') this.#forward(exchange, query, end);
    else if (end.kind === 'gone') this.#refuse(exchange, { kind: 'gone', id, reason: end.reason });
    else if (end.kind !== 'left') this.#refuse(exchange, { kind: end.kind, id, seconds: this.#deps.holdMs / 1_000 });
  }

  #forward(exchange: SandboxExchange, query: Query, { target, terms }: Extract<Decision, { kind: 'go' }>): void {
    const { upstreams, directory, execPort, clock } = this.#deps;
    const refusal = checkAccess(exchange, terms, { execPort, identity: target.identity, nowMs: clock.now() });
    if (refusal !== undefined) {
      this.#refuse(exchange, refusal);
      return;
    }
    const upstream = upstreams.get(target);
    new Forwarder(
      exchange,
      { upstream, terms },
      {
        ...this.#deps,
        onAnswer: (status) => this.#deps.onAnswer(exchange, status, terms.namespace),
        onRefusal: (what) => this.#deps.onRefusal(exchange, what),
        find: () => directory.find(query),
      },
    ).start();
  }

  /** Keeps an exchange until its sandbox is ready, and has the sandbox woken while it sleeps. */
  async #hold(exchange: SandboxExchange, query: Query, first: Extract<Decision, { kind: 'wait' }>): Promise<void> {
    const { heldRequests, clock, metrics, traces, holdMs, execPort } = this.#deps;
    const refusal = checkAccess(exchange, first.terms, { execPort, identity: undefined, nowMs: clock.now() });
    if (refusal !== undefined) {
      this.#refuse(exchange, refusal);
      return;
    }
    const { uid: sandbox, namespace } = first.terms;
    const source = this.#findSource(exchange);
    const given = heldRequests.enter({ bodyBytes: getBodyBytes(exchange.request), sandbox, namespace, source });
    if (!(Symbol.dispose in given)) {
      this.#refuse(exchange, buildHeldRefusal(given));
      return;
    }
    using _place = given;
    const startedMs = clock.monotonic();
    const end = await runInWaitSpan({ carrier: findCarrier(exchange.request), traces, wake: first.wake }, async () => {
      const how = await waitUntilReady(this.#deps, {
        query,
        source,
        first,
        limitMs: holdMs,
        decide: (snapshot) => this.#decide(exchange, snapshot),
        onLeft: (left) => exchange.response.once('close', left),
      });
      metrics.recordWait(how.kind, (clock.monotonic() - startedMs) / 1_000);
      return how;
    });
    this.#finish(exchange, query, end);
  }

  #findSource({ peer, request }: SandboxExchange): string {
    return findSource(peer, request.headers['x-forwarded-for'], this.#deps.trustedProxies);
  }

  #refuse(exchange: SandboxExchange, refusal: Refusal): void {
    this.#deps.onRefusal(exchange, refusal);
    refuse(exchange, refusal);
  }
}

const WHOSE = {
  'held-by-sandbox': 'one sandbox',
  'held-by-namespace': 'the sandboxes of one namespace',
  'held-by-source': 'one client address',
} as const;

function buildHeldRefusal({ limit, requests }: NoPlace): Refusal {
  if (limit === 'all') return TOO_MANY_HELD;
  const message = `Too many requests wait for a sandbox to be ready: ${WHOSE[limit]} may have ${requests} at a time; try again`;
  return { kind: 'limited', limit, message };
}
