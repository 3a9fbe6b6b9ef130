import assert from 'node:assert/strict';
import { defineResource, KubeError } from '@sandlot/kube';
import type {
  KubeClient,
  KubeObject,
  ObjectKey,
  ObjectMeta,
  OwnerReference,
  Pod,
  Resource,
  WatchOptions,
} from '@sandlot/kube';
import type { RawRequester } from './raw.ts';

/** One behaviour of an API server: its description and its test. */
export interface ConformanceCase {
  readonly name: string;
  /** Rejects when the server behaves differently. */
  readonly run: (context: ConformanceContext) => Promise<void>;
}

export interface ConformanceContext {
  readonly client: KubeClient;
  /** For requests and answers that the client hides. */
  readonly raw: RawRequester;
  /** An existing namespace that only this case uses. */
  readonly namespace: string;
}

/** The custom resource of the suite, with status and scale subresources and a minimal schema. */
export interface Widget extends KubeObject {
  spec?: { replicas?: number; color?: string; tags?: string[]; size?: Record<string, string> } | undefined;
  status?: { replicas?: number; phase?: string; selector?: string; details?: Record<string, string> } | undefined;
}

const group = 'testkit.sandlot.dev';

export const widgets = defineResource<Widget>({
  group,
  version: 'v1',
  plural: 'widgets',
  kind: 'Widget',
  namespaced: true,
});

/** The same objects in an older version. */
export const widgetsV1Alpha1 = defineResource<Widget>({ ...widgets, version: 'v1alpha1' });

const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
const version = (name: string, storage: boolean): object => ({
  name,
  storage,
  served: true,
  subresources: {
    status: {},
    scale: {
      specReplicasPath: '.spec.replicas',
      statusReplicasPath: '.status.replicas',
      labelSelectorPath: '.status.selector',
    },
  },
  schema: {
    openAPIV3Schema: {
      type: 'object',
      properties: {
        spec: { ...open, properties: { replicas: { type: 'integer' } } },
        status: { ...open, properties: { replicas: { type: 'integer' }, selector: { type: 'string' } } },
      },
    },
  },
});

/** The CRD of {@link widgets} for a real server. */
export const widgetCrd = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `widgets.${group}` },
  spec: {
    group,
    scope: 'Namespaced',
    names: { kind: 'Widget', listKind: 'WidgetList', plural: 'widgets', singular: 'widget' },
    versions: [version('v1', true), version('v1alpha1', false)],
  },
};

/** The scale subresource of {@link widgets} for the fake. */
export const widgetScale = {
  specReplicas: ['spec', 'replicas'],
  statusReplicas: ['status', 'replicas'],
  labelSelector: ['status', 'selector'],
};

/** Builds a widget. */
export function widget(
  namespace: string,
  name: string,
  parts: Partial<Omit<Widget, 'metadata'>> & { metadata?: ObjectMeta } = {},
): Widget {
  const { metadata, ...rest } = parts;
  return {
    apiVersion: `${group}/v1`,
    kind: 'Widget',
    spec: { color: 'red' },
    ...rest,
    metadata: { namespace, name, ...metadata },
  };
}

export function pod(namespace: string, name: string, metadata: ObjectMeta = {}): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace, name, ...metadata },
    spec: { containers: [{ name: 'main', image: 'example.com/none:1' }] },
  };
}

export function ownedBy(owner: Widget, more: Partial<OwnerReference> = {}): OwnerReference[] {
  const { name = '', uid = '' } = owner.metadata;
  return [{ apiVersion: `${group}/v1`, kind: 'Widget', name, uid, controller: true, ...more }];
}

/** The path of widgets for raw requests. */
export function widgetPath(namespace: string, rest = ''): string {
  return `/apis/${group}/v1/namespaces/${namespace}/widgets${rest}`;
}

/** Returns the error of a failing call. Rejects when the call succeeds. */
export async function expectRejection(call: Promise<unknown>): Promise<KubeError> {
  const error: unknown = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof KubeError, 'the call should have failed with a KubeError');
  return error;
}

const PATIENCE_MS = 30_000;

/** Repeats a check until it passes, for effects of controllers. */
export async function eventually(check: () => Promise<void>): Promise<void> {
  let waitedMs = 0;
  for (let pauseMs = 2; ; pauseMs = Math.min(pauseMs * 2, 250)) {
    try {
      await check();
      return;
    } catch (error) {
      if (waitedMs > PATIENCE_MS) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    waitedMs += pauseMs;
  }
}

export async function exists(client: KubeClient, resource: Resource<KubeObject>, key: ObjectKey): Promise<boolean> {
  const found = await client.get(resource, key).catch((error: unknown) => error);
  if (!(found instanceof KubeError)) return true;
  assert.equal(found.code, 'NotFound');
  return false;
}

/** A watch event and its short form for comparison: `ADDED a`, `BOOKMARK`. */
export interface SeenEvent<T extends KubeObject> {
  readonly type: string;
  readonly name: string;
  readonly object: T;
}

export interface Recorder<T extends KubeObject> extends AsyncDisposable {
  /** Resolves with all events so far once `enough` returns true. Rejects when the watch fails or ends before. */
  until(enough: (seen: readonly SeenEvent<T>[]) => boolean): Promise<readonly SeenEvent<T>[]>;
  /** Resolves with all events when the server has ended the watch. */
  ended(): Promise<readonly SeenEvent<T>[]>;
}

/** Watches in the background until disposed. */
export function record<T extends KubeObject>(
  client: KubeClient,
  resource: Resource<T>,
  options: WatchOptions,
): Recorder<T> {
  const abort = new AbortController();
  const seen: SeenEvent<T>[] = [];
  let wake: () => void = () => undefined;
  const run = async (): Promise<void> => {
    for await (const { type, object } of client.watch(resource, { ...options, signal: abort.signal })) {
      seen.push({ type, name: object.metadata.name ?? '', object: object as T });
      wake();
    }
  };
  const finished = run().finally(() => wake());
  let over = false;
  const outcome = finished.then(
    () => (over = true),
    (error: unknown) => {
      over = true;
      return error;
    },
  );
  return {
    until: async (enough) => {
      while (!enough(seen)) {
        if (over) await finished;
        assert.ok(!over, `the watch ended after ${JSON.stringify(seen.map(({ type, name }) => `${type} ${name}`))}`);
        await new Promise<void>((resolve) => (wake = resolve));
      }
      return seen;
    },
    ended: () => finished.then(() => seen),
    [Symbol.asyncDispose]: async () => {
      abort.abort();
      await outcome;
    },
  };
}

export function listTypes(seen: readonly SeenEvent<KubeObject>[]): string[] {
  return seen.map(({ type, name }) => `${type} ${name}`.trim());
}
