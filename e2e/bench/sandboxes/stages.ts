import { sandboxes } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { pods } from '@sandlot/kube';
import type { KubeClient, KubeObject, Pod, Resource } from '@sandlot/kube';
import type { Observer } from './observer.ts';
import { SPACES } from './surroundings.ts';

/** The moments of one start, in milliseconds after the creation was sent. */
export interface Start {
  readonly acceptedMs: number;
  readonly podMs: number;
  /** Undefined for a bare Pod. */
  readonly sandboxMs: number | undefined;
}

/** The starts of one burst. */
export interface Burst {
  readonly starts: readonly Start[];
  /** From the first creation sent until the last one is accepted. */
  readonly createdMs: number;
  /** From the first creation sent until the last object is Ready. */
  readonly readyMs: number;
}

export interface Bench {
  readonly client: KubeClient;
  readonly observer: Observer;
}

const BURST_LIMIT_MS = 600_000;

/** Concurrent creations during a burst. */
const CREATORS = 32;

const podSpec = {
  terminationGracePeriodSeconds: 0,
  containers: [{ name: 'box', image: 'busybox', command: ['sleep', 'infinity'] }],
};

/** A creation that has been sent. */
interface Sent {
  readonly accepted: Promise<number>;
  readonly start: Promise<Start>;
}

/** Creates a bare Pod. */
function startPod({ client, observer }: Bench, namespace: string, name: string): Sent {
  const sentMs = performance.now();
  const pod: Pod = { metadata: { namespace, name }, spec: podSpec };
  const accepted = createTimed(client, pods, pod);
  const ready = observer.pods.of(`${namespace}/${name}`);
  const start = Promise.all([accepted, ready]).then(([acceptedMs, podMs]) => ({
    acceptedMs: acceptedMs - sentMs,
    podMs: podMs - sentMs,
    sandboxMs: undefined,
  }));
  return { accepted, start };
}

/** Creates a Sandbox with the same Pod. */
function startSandbox({ client, observer }: Bench, namespace: string, name: string): Sent {
  const sentMs = performance.now();
  const sandbox: Sandbox = { metadata: { namespace, name }, spec: { podTemplate: { spec: podSpec } } };
  const accepted = createTimed(client, sandboxes, sandbox);
  const key = `${namespace}/${name}`;
  const all = Promise.all([accepted, observer.pods.of(key), observer.sandboxes.of(key)]);
  const start = all.then(([acceptedMs, podMs, sandboxMs]) => ({
    acceptedMs: acceptedMs - sentMs,
    podMs: podMs - sentMs,
    sandboxMs: sandboxMs - sentMs,
  }));
  return { accepted, start };
}

async function createTimed<T extends KubeObject>(
  client: KubeClient,
  resource: Resource<T>,
  object: T,
): Promise<number> {
  await client.create(resource, object);
  return performance.now();
}

/** Creates `count` bare Pods as fast as the API server accepts them. */
export function runBurstOfPods(bench: Bench, count: number, prefix = 'pod'): Promise<Burst> {
  return runBurst(count, (index) => startPod(bench, SPACES.bare, `${prefix}-${index}`));
}

/** Creates `count` Sandboxes as fast as the API server accepts them. */
export function runBurstOfSandboxes(bench: Bench, count: number): Promise<Burst> {
  return runBurst(count, (index) => startSandbox(bench, SPACES.burst, `box-${index}`));
}

async function runBurst(count: number, send: (index: number) => Sent): Promise<Burst> {
  const startedMs = performance.now();
  const starts: Promise<Start>[] = [];
  const create = async (): Promise<void> => {
    while (starts.length < count) {
      const { accepted, start } = send(starts.length);
      starts.push(start);
      await accepted;
    }
  };
  await Promise.all(Array.from({ length: CREATORS }, create));
  const createdMs = performance.now() - startedMs;
  return { starts: await runWithinLimit(Promise.all(starts)), createdMs, readyMs: performance.now() - startedMs };
}

async function runWithinLimit<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('a burst was not Ready within ten minutes')), BURST_LIMIT_MS);
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}

/** Creates Pods and Sandboxes in turn, one at a time, with `pauseMs` after each. */
export async function measureQuietStarts(bench: Bench, pairs: number): Promise<{ pods: Start[]; sandboxes: Start[] }> {
  const pauseMs = 60;
  const found: { pods: Start[]; sandboxes: Start[] } = { pods: [], sandboxes: [] };
  for (let index = 0; index < pairs; index += 1) {
    found.pods.push(await startPod(bench, SPACES.quiet, `pod-${index}`).start);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    found.sandboxes.push(await startSandbox(bench, SPACES.quiet, `box-${index}`).start);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
  return found;
}
