import type { JsonObject, JsonPatchOp, KubeObject, ObjectKey, Resource } from '../objects/object.ts';

/**
 * Each priority has its own token bucket, so that claims never wait behind refills. `background` is for work that can
 * wait: it has few requests in flight while the server is busy with requests of any client.
 */
export type Priority = 'claim' | 'normal' | 'background';

export interface CallOptions {
  /** Ends the call at once with an `Aborted` error; a write that was already sent may still be committed. */
  signal?: AbortSignal | undefined;
  /** Time for the whole call, its retries and its wait in the token bucket included. Default 15,000 ms. */
  deadlineMs?: number | undefined;
  /** Default `normal`. */
  priority?: Priority | undefined;
  /** Recorded by the server as owner of the fields a write sets. */
  fieldManager?: string | undefined;
  subresource?: 'status' | 'scale' | undefined;
}

export interface Selection {
  /** Absent: all namespaces. */
  namespace?: string | undefined;
  labelSelector?: string | undefined;
  fieldSelector?: string | undefined;
}

export interface ListOptions extends CallOptions, Selection {
  limit?: number | undefined;
  continue?: string | undefined;
  resourceVersion?: string | undefined;
  resourceVersionMatch?: 'Exact' | 'NotOlderThan' | undefined;
}

/** Items carry `apiVersion` and `kind`, as objects from a watch do. */
export interface ListPage<T> {
  items: T[];
  resourceVersion: string;
  continue?: string | undefined;
}

export interface WatchOptions extends CallOptions, Selection {
  /** Where to start; events after it are delivered. */
  resourceVersion?: string | undefined;
  /** Streaming list: the present objects as ADDED, then a bookmark with the `k8s.io/initial-events-end` annotation. */
  sendInitialEvents?: boolean | undefined;
  /** The server ends the watch after this time. The client's own deadline is 10 s later unless `deadlineMs` is given. Default 300. */
  timeoutSeconds?: number | undefined;
  /**
   * Ends the watch with a `Timeout` when not even a bookmark comes for this long: the stream has stalled although its
   * connection answers. Default 180,000 ms.
   */
  silenceMs?: number | undefined;
}

/** A bookmark moves the resourceVersion only: its object has no other content. */
export type WatchEvent<T> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T }
  | { readonly type: 'BOOKMARK'; readonly object: KubeObject };

export type ApplyOptions = CallOptions & {
  fieldManager: string;
  /** Takes over fields that others own; without it, theirs are a `Conflict`. */
  force: boolean;
};

export type DeleteOptions = CallOptions & {
  /** Deletes only this incarnation of the name: `Conflict` otherwise. */
  uid?: string | undefined;
  /** Deletes only this version of the object: `Conflict` otherwise. */
  resourceVersion?: string | undefined;
  propagationPolicy?: 'Background' | 'Foreground' | 'Orphan' | undefined;
  gracePeriodSeconds?: number | undefined;
};

/**
 * The Kubernetes API as raw JSON: what the server sends is what callers get, unknown fields included.
 * Every method rejects with a `KubeError`. A write that fails without a clear answer satisfies `isUnknownOutcome`:
 * it may have been committed.
 */
export interface KubeClient {
  get<T extends KubeObject>(resource: Resource<T>, key: ObjectKey, options?: CallOptions): Promise<T>;
  /** As `get`, but undefined when the server answers 404: the object, or the whole resource, does not exist. */
  find<T extends KubeObject>(resource: Resource<T>, key: ObjectKey, options?: CallOptions): Promise<T | undefined>;
  /** One page; `continue` is set when there are more. An expired token is `Gone`. */
  list<T extends KubeObject>(resource: Resource<T>, options?: ListOptions): Promise<ListPage<T>>;
  /** All pages (500 objects each unless `limit` says otherwise) of one consistent snapshot. */
  listAll<T extends KubeObject>(resource: Resource<T>, options?: ListOptions): Promise<ListPage<T>>;
  /** Into the namespace of the object's own metadata; `apiVersion` and `kind` are the resource's. */
  create<T extends KubeObject>(resource: Resource<T>, object: T, options?: CallOptions): Promise<T>;
  /** RFC 7396; lists are replaced whole. `metadata.resourceVersion` or `metadata.uid` in the patch guard it. */
  mergePatch<T extends KubeObject>(
    resource: Resource<T>,
    key: ObjectKey,
    patch: JsonObject,
    options?: CallOptions,
  ): Promise<T>;
  /** RFC 6902; guard it with a leading `test`. */
  jsonPatch<T extends KubeObject>(
    resource: Resource<T>,
    key: ObjectKey,
    ops: readonly JsonPatchOp[],
    options?: CallOptions,
  ): Promise<T>;
  /** Server-side apply: creates the object, or changes exactly the fields given. */
  apply<T extends KubeObject>(resource: Resource<T>, object: T, options: ApplyOptions): Promise<T>;
  /** Resolves when the deletion is accepted; finalizers may keep the object for longer. */
  delete(resource: Resource<KubeObject>, key: ObjectKey, options?: DeleteOptions): Promise<void>;
  /** Deletes a pod unless a disruption budget forbids it: then `TooManyRequests`. */
  evict(key: ObjectKey, options?: CallOptions): Promise<void>;
  /**
   * Events until the server ends the watch. A slow reader slows the server down, nothing is dropped or buffered without
   * bound. An ERROR event is thrown as the `KubeError` it describes (`Gone`: list again). Leaving the loop closes the stream.
   */
  watch<T extends KubeObject>(resource: Resource<T>, options?: WatchOptions): AsyncIterable<WatchEvent<T>>;
  /** Ends every call and watch and closes all connections. */
  close(): Promise<void>;
}
