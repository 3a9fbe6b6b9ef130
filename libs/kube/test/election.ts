import type { Clock, Random } from '@sandlot/std';
import type { FakeClock } from '@sandlot/std/testing';
import type { CallOptions, KubeClient, WatchEvent } from '../src/client/types.ts';
import { KubeError } from '../src/errors.ts';
import type { KubeErrorCode } from '../src/errors.ts';
import type { Lease } from '../src/objects/resources.ts';
import { LeaseElector } from '../src/lease/elector.ts';
import type { ElectorOptions, LeaseOptions, Term } from '../src/lease/elector.ts';

type Spec = NonNullable<Lease['spec']>;

/** What happens to one call: refused on the way there, or carried out and the answer lost; both after a delay. */
export interface Weather {
  readonly delayMs: number;
  readonly fault?: 'refused' | 'answer lost' | undefined;
}

/** The one lease of an API server, and the network in front of it. */
export class LeaseServer {
  readonly clock: FakeClock;
  lease: Lease | undefined;
  /** Answers `watch` with Forbidden. */
  refuseWatches = false;
  #version = 0;
  #moved = Promise.withResolvers<undefined>();

  constructor(clock: FakeClock) {
    this.clock = clock;
  }

  write(spec: Spec, metadata: object = {}): Lease {
    this.#version += 1;
    const resourceVersion = `rv${this.#version}`;
    this.lease = {
      metadata: { uid: 'uid', ...this.lease?.metadata, ...metadata, resourceVersion },
      spec: { ...this.lease?.spec, ...spec },
    };
    this.#moved.resolve(undefined);
    this.#moved = Promise.withResolvers();
    return this.lease;
  }

  remove(): void {
    this.lease = undefined;
  }

  read(): Lease {
    if (this.lease === undefined) throw failure('NotFound');
    return this.lease;
  }

  create(lease: Lease): Lease {
    if (this.lease !== undefined) throw failure('AlreadyExists');
    return this.write(lease.spec ?? {}, lease.metadata);
  }

  patch({ metadata, spec }: Lease): Lease {
    if (metadata.resourceVersion !== this.read().metadata.resourceVersion) throw failure('Conflict');
    const annotations = { ...this.read().metadata.annotations, ...metadata.annotations };
    const kept = Object.fromEntries(Object.entries(annotations).filter(([, value]) => (value as unknown) !== null));
    return this.write(spec ?? {}, metadata.annotations === undefined ? {} : { annotations: kept });
  }

  async *watch(signal: AbortSignal): AsyncGenerator<WatchEvent<Lease>> {
    if (this.refuseWatches) throw failure('Forbidden');
    const aborted = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    for (;;) {
      const moved = this.#moved.promise;
      if (this.lease !== undefined) yield { type: 'MODIFIED', object: this.lease };
      await Promise.race([moved, aborted]);
      if (signal.aborted) throw failure('Aborted');
    }
  }
}

export interface CandidateOptions extends Partial<LeaseOptions>, Pick<ElectorOptions, 'patienceMs'> {
  readonly random?: Random;
  /** How fast its clock runs. */
  readonly rate?: number;
  /** How wrong its wall clock is. */
  readonly wallOffsetMs?: number;
  /** Called for every request. Default: no delay, no fault. */
  readonly weather?: () => Weather;
}

/** One process that takes part in an election, on a machine of its own. */
export class Candidate {
  readonly terms: Term[] = [];
  /** After a stop, goes on working for so long. */
  drainMs = 0;
  weather: () => Weather;
  running: Promise<void> | undefined;
  readonly #server: LeaseServer;
  readonly #options: CandidateOptions;
  readonly #stop = new AbortController();
  #dead = false;
  #working = 0;

  constructor(server: LeaseServer, options: CandidateOptions = {}) {
    this.#server = server;
    this.#options = options;
    this.weather = options.weather ?? (() => ({ delayMs: 0 }));
  }

  /** Whether it acts as the holder. */
  get leads(): boolean {
    return !this.#dead && this.#working > 0 && this.terms.at(-1)?.signal.aborted === false;
  }

  start(onLead: () => void = () => undefined): this {
    const { identity = 'me', random = () => 0.5 } = this.#options;
    const clock = this.#clock();
    const elector = new LeaseElector({
      name: 'lease',
      namespace: 'ns',
      random,
      ...this.#options,
      identity,
      client: this.client(clock),
      clock,
    });
    this.running = elector.run(this.#stop.signal, async (term) => {
      this.terms.push(term);
      this.#working += 1;
      onLead();
      await untilEither(this.#stop.signal, term.signal);
      await clock.sleep(this.drainMs, term.signal);
      this.#working -= 1;
    });
    return this;
  }

  stop(): Promise<void> | undefined {
    this.#stop.abort();
    return this.running;
  }

  /** The process is gone: its timers never fire again and its calls are never answered. */
  kill(): void {
    this.#dead = true;
  }

  #clock(): Clock {
    const { rate = 1, wallOffsetMs = 0 } = this.#options;
    const { clock } = this.#server;
    const setTimeout: Clock['setTimeout'] = (fn, delayMs) =>
      clock.setTimeout(() => (this.#dead ? undefined : fn()), delayMs / rate);
    return {
      now: () => clock.now() + wallOffsetMs,
      monotonic: () => clock.monotonic() * rate,
      setTimeout,
      sleep: (delayMs, signal) =>
        new Promise((resolve) => {
          const timer = setTimeout(resolve, delayMs);
          const onAbort = (): void => {
            timer.cancel();
            resolve();
          };
          if (signal?.aborted === true) onAbort();
          else signal?.addEventListener('abort', onAbort, { once: true });
        }),
    };
  }

  client(clock: Clock = this.#clock()): KubeClient {
    const server = this.#server;
    const surface = {
      get: (...[, , call]: [unknown, unknown, CallOptions]) => this.#call(clock, call, () => server.read()),
      create: (...[, lease, call]: [unknown, Lease, CallOptions]) =>
        this.#call(clock, call, () => server.create(lease)),
      mergePatch: (...[, , patch, call]: [unknown, unknown, Lease, CallOptions]) =>
        this.#call(clock, call, () => server.patch(patch)),
      watch: (...[, { signal }]: [unknown, { signal: AbortSignal }]) => server.watch(signal),
    };
    return surface as unknown as KubeClient;
  }

  async #call(clock: Clock, { deadlineMs = 15_000, signal }: CallOptions, perform: () => Lease): Promise<Lease> {
    const answered = new AbortController();
    const ended = AbortSignal.any([answered.signal, ...(signal === undefined ? [] : [signal])]);
    const late = clock.sleep(deadlineMs, ended).then(() => Promise.reject(failure('Timeout')));
    try {
      return await Promise.race([this.#travel(perform), late]);
    } finally {
      answered.abort();
    }
  }

  async #travel(perform: () => Lease): Promise<Lease> {
    const { delayMs, fault } = this.weather();
    await this.#server.clock.sleep(delayMs);
    if (fault === 'refused') throw failure('Network');
    let answer = (): Lease => {
      throw failure('Network');
    };
    try {
      const lease = perform();
      if (fault !== 'answer lost') answer = () => lease;
    } catch (error) {
      answer = () => {
        throw error;
      };
    }
    await this.#server.clock.sleep(delayMs);
    return answer();
  }
}

function untilEither(a: AbortSignal, b: AbortSignal): Promise<void> {
  const either = AbortSignal.any([a, b]);
  return new Promise((resolve) => {
    if (either.aborted) resolve();
    either.addEventListener('abort', () => resolve(), { once: true });
  });
}

function failure(code: KubeErrorCode): KubeError {
  return new KubeError({ verb: 'mergePatch', resource: 'leases', key: 'ns/lease', message: 'scripted', code });
}
