import { refuse } from './exchange.ts';
import type { SandboxCall } from './exchange.ts';
import type { Counters } from './concurrency-limit.ts';
import { decide } from '../decide.ts';
import type { Decision } from '../decide.ts';
import type { Holds } from '../waiting/held-requests.ts';
import { bodyBytes } from './messages.ts';
import type { GatewayMetrics } from '../telemetry/metrics.ts';
import { obstacle, Passage } from './forwarder.ts';
import type { PassageDeps } from './forwarder.ts';
import type { Refusal } from '../refusals/refusal.ts';
import { DAEMON_PORT } from '../routing/paths.ts';
import type { Routes } from '../directory/directory.ts';
import type { Query, Situation } from '../directory/snapshot.ts';
import { carrierOf, inWaitSpan } from '../telemetry/trace.ts';
import type { ClientTraces } from '../telemetry/trace.ts';
import type { Upstreams } from './upstreams.ts';
import { waitFor } from '../waiting/wait-until-ready.ts';
import type { WaitDeps, WaitEnd } from '../waiting/wait-until-ready.ts';

export interface SandboxDoorDeps extends WaitDeps {
  readonly routes: Routes;
  readonly upstreams: Upstreams;
  readonly holds: Holds;
  readonly perSandbox: Counters;
  readonly perKey: Counters;
  readonly metrics: GatewayMetrics;
  readonly isRoutable: (address: string) => boolean;
  readonly execPort: number;
  readonly holdMs: number;
  readonly traces: ClientTraces;
  readonly onAnswer: (call: SandboxCall, status: number) => void;
  readonly refused: (call: SandboxCall, refusal: Refusal) => void;
  readonly began: PassageDeps['began'];
  readonly ended: PassageDeps['ended'];
  readonly onUpgrade: PassageDeps['onUpgrade'];
}

const COLD: Refusal = { kind: 'unsure', message: 'The gateway does not know the sandboxes yet; try again' };

/** Lets calls through to sandboxes: those that are there at once, those that sleep or start when they are ready. */
export class SandboxDoor {
  readonly #deps: SandboxDoorDeps;

  constructor(deps: SandboxDoorDeps) {
    this.#deps = deps;
  }

  /** Passes a call on, refuses it or holds it. Resolves when that is settled; undefined: it is already. */
  pass(call: SandboxCall, query: Query): Promise<void> | undefined {
    const { routes } = this.#deps;
    if (!routes.hasSynced()) {
      this.#refuse(call, COLD);
      return undefined;
    }
    const decision = this.#decide(call, routes.situation(query));
    if (decision.kind === 'go') {
      this.#go(call, query, decision);
      return undefined;
    }
    return this.#slowly(call, query, decision);
  }

  #decide(call: SandboxCall, situation: Situation): Decision {
    // A probe of the daemon has no side effect: clients ask by it whether a sandbox runs (E2B wire contract 3.3).
    const wakes = !(call.isHealthCheck && call.port === DAEMON_PORT);
    return decide(situation, { wakes, isRoutable: this.#deps.isRoutable });
  }

  async #slowly(call: SandboxCall, query: Query, cached: Exclude<Decision, { kind: 'go' }>): Promise<void> {
    // A client may know of a write that our watches have not brought yet: nobody is sent away because of them alone.
    const confirmed = cached.kind === 'gone' ? await this.#deps.routes.confirm(query) : undefined;
    if (call.response.destroyed) return;
    if (confirmed === 'unsure' && cached.kind === 'gone' && cached.reason === 'unknown') {
      this.#refuse(call, COLD);
      return;
    }
    const isKnown = confirmed !== undefined && confirmed !== 'unsure';
    const decision = isKnown ? this.#decide(call, confirmed) : cached;
    if (decision.kind === 'wait') await this.#hold(call, query, decision);
    else this.#settle(call, query, decision);
  }

  #settle(call: SandboxCall, query: Query, end: WaitEnd): void {
    const { id } = call;
    if (end.kind === 'go') this.#go(call, query, end);
    else if (end.kind === 'gone') this.#refuse(call, { kind: 'gone', id, reason: end.reason });
    else if (end.kind === 'late') this.#refuse(call, { kind: 'late', id, seconds: this.#deps.holdMs / 1_000 });
  }

  #go(call: SandboxCall, query: Query, { target, terms }: Extract<Decision, { kind: 'go' }>): void {
    const { upstreams, routes, execPort } = this.#deps;
    const refusal = obstacle(call, terms, execPort);
    if (refusal !== undefined) {
      this.#refuse(call, refusal);
      return;
    }
    const upstream = upstreams.get(target);
    new Passage(
      call,
      { upstream, terms },
      {
        ...this.#deps,
        onAnswer: (status) => this.#deps.onAnswer(call, status),
        refused: (what) => this.#deps.refused(call, what),
        now: () => routes.situation(query),
      },
    ).start();
  }

  async #hold(call: SandboxCall, query: Query, first: Extract<Decision, { kind: 'wait' }>): Promise<void> {
    const { holds, clock, metrics, traces, holdMs, execPort } = this.#deps;
    const refusal = obstacle(call, first.terms, execPort);
    if (refusal !== undefined) {
      this.#refuse(call, refusal);
      return;
    }
    using place = holds.enter(bodyBytes(call.request));
    if (place === undefined) {
      this.#refuse(call, { kind: 'unsure', message: 'Too many requests wait for their sandboxes; try again' });
      return;
    }
    const startedMs = clock.monotonic();
    const end = await inWaitSpan({ carrier: carrierOf(call.request), traces, wake: first.wake }, async () => {
      const how = await waitFor(this.#deps, {
        query,
        first,
        limitMs: holdMs,
        decide: (situation) => this.#decide(call, situation),
        onLeft: (left) => call.response.once('close', left),
      });
      metrics.waited(how.kind, (clock.monotonic() - startedMs) / 1_000);
      return how;
    });
    this.#settle(call, query, end);
  }

  #refuse(call: SandboxCall, refusal: Refusal): void {
    this.#deps.refused(call, refusal);
    refuse(call, refusal);
  }
}
