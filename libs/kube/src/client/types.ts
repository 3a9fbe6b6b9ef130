import type { JsonObject, JsonPatchOp, KubeObject, ObjectKey, Resource } from '../objects/object.ts';

/**
 * Each priority has its own token bucket, so that claims never wait behind refills. `background` is for work that can
 * wait: the client keeps few such requests in flight while the server is busy.
 */
export type Priority = 'claim' | 'normal' | 'background';

export interface CallOptions {
  /** Ends the call at once with an `Aborted` error. The server may still commit a write that was already sent. */
  signal?: AbortSignal | undefined;
  /** Limit for the whole call, including retries and the wait for a token. Default 15,000 ms. */
  deadlineMs?: number | undefined;
  /** Default `normal`. */
  priority?: Priority | undefined;
  /** The server records it as the owner of the fields that a write sets. */
  fieldManager?: string | undefined;
  subresource?: 'status' | 'scale' | 'resize' | undefined;
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

/** Items have `apiVersion` and `kind`, like objects of a watch. */
export interface ListPage<T> {
  items: T[];
  resourceVersion: string;
  continue?: string | undefined;
}

export interface WatchOptions extends CallOptions, Selection {
  /** The watch delivers the events after this version. */
  resourceVersion?: string | undefined;
  /** Streaming list: existing objects as ADDED, then a bookmark with the `k8s.io/initial-events-end` annotation. */
  sendInitialEvents?: boolean | undefined;
  /** The server ends the watch after this time. The client's own deadline is 10 s later unless `deadlineMs` is given. Default 300. */
  timeoutSeconds?: number | undefined;
  /**
   * Ends the watch with a `Timeout` after this time without an event or bookmark: the stream has stalled even if the
   * connection still works. Default 180,000 ms.
   */
  silenceMs?: number | undefined;
}

/** The object of a bookmark contains only a resourceVersion. */
export type WatchEvent<T> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T }
  | { readonly type: 'BOOKMARK'; readonly object: KubeObject };

export type ApplyOptions = CallOptions & {
  fieldManager: string;
  /** Takes over fields of other owners. When false, such fields cause a `Conflict`. */
  force: boolean;
};

export type DeleteOptions = CallOptions & {
  /** Precondition: fails with `Conflict` when the object has another uid. */
  uid?: string | undefined;
  /** Precondition: fails with `Conflict` when the object has another version. */
  resourceVersion?: string | undefined;
  propagationPolicy?: 'Background' | 'Foreground' | 'Orphan' | undefined;
  gracePeriodSeconds?: number | undefined;
};

export type LogOptions = Pick<CallOptions, 'signal' | 'deadlineMs' | 'priority'> & {
  /** Name of the container. */
  container: string;
  /** Lines from this moment on, RFC 3339. Absent: all that the node still has. */
  sinceTime?: string | undefined;
  /** The last lines alone. */
  tailLines?: number | undefined;
  /** The server ends the log behind these bytes, in the middle of a line. */
  limitBytes?: number | undefined;
};

/**
 * The Kubernetes API as raw JSON. Callers get exactly what the server sends, including unknown fields. Every method
 * rejects with a `KubeError`. When a write fails without a clear answer, the error satisfies `isUnknownOutcome`: the
 * server may have committed the write.
 */
export interface KubeClient {
  get<T extends KubeObject>(resource: Resource<T>, key: ObjectKey, options?: CallOptions): Promise<T>;
  /** Like `get`, but returns undefined when the server answers 404: the object or its resource does not exist. */
  find<T extends KubeObject>(resource: Resource<T>, key: ObjectKey, options?: CallOptions): Promise<T | undefined>;
  /** Reads one page. `continue` is set when there are more pages. Fails with `Gone` when the token has expired. */
  list<T extends KubeObject>(resource: Resource<T>, options?: ListOptions): Promise<ListPage<T>>;
  /** Reads all pages of one consistent snapshot. `limit` is the page size, default 500. */
  listAll<T extends KubeObject>(resource: Resource<T>, options?: ListOptions): Promise<ListPage<T>>;
  /** Creates the object in the namespace of its metadata, with the resource's `apiVersion` and `kind`. */
  create<T extends KubeObject>(resource: Resource<T>, object: T, options?: CallOptions): Promise<T>;
  /** RFC 7396; replaces whole lists. `metadata.resourceVersion` and `metadata.uid` in the patch are preconditions. */
  mergePatch<T extends KubeObject>(
    resource: Resource<T>,
    key: ObjectKey,
    patch: JsonObject,
    options?: CallOptions,
  ): Promise<T>;
  /** RFC 6902. A leading `test` operation serves as the precondition. */
  patchJson<T extends KubeObject>(
    resource: Resource<T>,
    key: ObjectKey,
    ops: readonly JsonPatchOp[],
    options?: CallOptions,
  ): Promise<T>;
  /** Server-side apply: creates the object or changes exactly the given fields. */
  apply<T extends KubeObject>(resource: Resource<T>, object: T, options: ApplyOptions): Promise<T>;
  /** Resolves when the server has accepted the deletion. Finalizers may keep the object longer. */
  delete(resource: Resource<KubeObject>, key: ObjectKey, options?: DeleteOptions): Promise<void>;
  /** Deletes a pod. Fails with `TooManyRequests` when a disruption budget forbids it. */
  evict(key: ObjectKey, options?: CallOptions): Promise<void>;
  /**
   * Yields events until the server ends the watch. A slow reader slows the server down: the client neither drops events
   * nor buffers them without limit. Throws an ERROR event as the `KubeError` it describes (`Gone`: list again). Leaving
   * the loop closes the stream.
   */
  watch<T extends KubeObject>(resource: Resource<T>, options?: WatchOptions): AsyncIterable<WatchEvent<T>>;
  /**
   * Yields the log of a container that the node has now, as bytes: each line begins with its RFC 3339 time and a space. The program
   * in the container chooses what it has. A slow reader slows the server down, and leaving the loop closes the stream.
   */
  readLog(key: ObjectKey, options: LogOptions): AsyncIterable<Buffer>;
  /** Ends every call and watch and closes all connections. */
  close(): Promise<void>;
}
