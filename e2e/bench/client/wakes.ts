import { resolveMode, findCondition, sandboxClaims, sandboxes } from '@sandlot/api-types';
import { createInformer, pods } from '@sandlot/kube';
import type { KubeClient, KubeObject, Resource } from '@sandlot/kube';
import { Sandbox } from 'e2b';
import type { SandboxOpts } from 'e2b';

/** The moments of one wake, in milliseconds after the request was sent. */
export interface Wake {
  /** The spec asks for a running Sandbox. */
  readonly wantedMs: number;
  readonly podCreatedMs: number;
  readonly podReadyMs: number;
  readonly sandboxReadyMs: number;
  readonly claimReadyMs: number;
  readonly answeredMs: number;
}

type Moment = Exclude<keyof Wake, 'answeredMs'>;

/** Records when watches first show each moment of a sandbox's wake. */
class WakeRecorder implements AsyncDisposable {
  readonly #seen = new Map<Moment, number>();
  readonly #stop = new AbortController();
  readonly #running: Promise<unknown>[] = [];
  #change = (): void => undefined;

  static async of(
    client: KubeClient,
    namespace: string,
    names: { claim: string; sandbox: string },
  ): Promise<WakeRecorder> {
    const recorder = new WakeRecorder();
    const follow = async <T extends KubeObject>(
      resource: Resource<T>,
      name: string,
      momentOf: (object: T) => Moment | undefined,
    ): Promise<void> => {
      const informer = createInformer({ client, resource, namespaces: [namespace] });
      informer.onChange(({ next }) => {
        if (next?.metadata.name === name) recorder.#note(momentOf(next));
      });
      recorder.#running.push(informer.run(recorder.#stop.signal));
      await informer.waitUntilSynced();
    };
    await follow(pods, names.sandbox, ({ metadata, status }) => {
      if (metadata.deletionTimestamp !== undefined) return undefined;
      return status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'True') === true
        ? 'podReadyMs'
        : 'podCreatedMs';
    });
    await follow(sandboxes, names.sandbox, ({ spec, status }) => {
      if (resolveMode(spec) === 'Suspended') return undefined;
      return findCondition(status?.conditions, 'Ready')?.status === 'True' ? 'sandboxReadyMs' : 'wantedMs';
    });
    await follow(sandboxClaims, names.claim, ({ status }) =>
      findCondition(status?.conditions, 'Ready')?.status === 'True' ? 'claimReadyMs' : undefined,
    );
    return recorder;
  }

  /** Forgets the moments of the wake before. */
  forget(): void {
    this.#seen.clear();
  }

  /** Waits until the watches show the moment. */
  async when(moment: Moment): Promise<number> {
    for (;;) {
      const seen = this.#seen.get(moment);
      if (seen !== undefined) return seen;
      await new Promise<void>((resolve) => (this.#change = resolve));
    }
  }

  #note(moment: Moment | undefined): void {
    if (moment === undefined || this.#seen.has(moment)) return;
    this.#seen.set(moment, performance.now());
    this.#change();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#running);
  }
}

const MOMENTS = ['wantedMs', 'podCreatedMs', 'podReadyMs', 'sandboxReadyMs', 'claimReadyMs'] as const;

export interface WakeRounds {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly options: SandboxOpts;
  readonly rounds: number;
}

/** Pauses a sandbox and wakes it, in turn by a request to it and by connect of the API. */
export async function measureWakes({ client, namespace, options, rounds }: WakeRounds): Promise<{
  readonly byRequest: Wake[];
  readonly byConnect: Wake[];
}> {
  const lifecycle = { onTimeout: 'pause', autoResume: true } as const;
  const sandbox = await Sandbox.create('base', { ...options, lifecycle, timeoutMs: 1_800_000 });
  try {
    const { status } = await client.get(sandboxClaims, { namespace, name: sandbox.sandboxId });
    const names = { claim: sandbox.sandboxId, sandbox: status?.sandbox?.name ?? '' };
    await using recorder = await WakeRecorder.of(client, namespace, names);
    const wake = async (call: () => Promise<unknown>): Promise<Wake> => {
      await sandbox.pause();
      await new Promise((resolve) => setTimeout(resolve, 500));
      recorder.forget();
      const startedMs = performance.now();
      await call();
      const answeredMs = performance.now() - startedMs;
      const seen = await Promise.all(
        MOMENTS.map(async (moment) => [moment, (await recorder.when(moment)) - startedMs]),
      );
      return { ...(Object.fromEntries(seen) as Record<Moment, number>), answeredMs };
    };
    const [byRequest, byConnect]: [Wake[], Wake[]] = [[], []];
    for (let round = 0; round < rounds; round += 1) {
      byRequest.push(await wake(() => sandbox.commands.run('true')));
      byConnect.push(await wake(() => sandbox.connect()));
    }
    return { byRequest, byConnect };
  } finally {
    await sandbox.kill();
  }
}
