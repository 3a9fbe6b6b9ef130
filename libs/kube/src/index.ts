export { createKubeClient } from './client/client.ts';
export type { KubeClientOptions } from './client/client.ts';
export type {
  ApplyOptions,
  CallOptions,
  DeleteOptions,
  KubeClient,
  ListOptions,
  ListPage,
  LogOptions,
  Priority,
  WatchEvent,
  WatchOptions,
} from './client/types.ts';
export { loadCredentials } from './credentials/load-credentials.ts';
export type { Credentials } from './credentials/credentials.ts';
export {
  KubeError,
  isAborted,
  isAlreadyExists,
  isConflict,
  isForbidden,
  isGone,
  isInvalid,
  isNotFound,
  isServerError,
  isTimeout,
  isTooManyRequests,
  isUnknownOutcome,
} from './errors.ts';
export type { KubeErrorCode, Verb } from './errors.ts';
export { createKubeMetrics, noMetrics } from './metrics.ts';
export type { KubeMetrics } from './metrics.ts';
// Its names are listed there, one by one.
export * from './objects/index.ts';
export { createManager } from './controller/manager.ts';
export type { ControllerHandle, Manager, ManagerOptions } from './controller/manager.ts';
export type { ControllerOptions, ReconcileContext } from './controller/controller.ts';
export { done, requeueAfter, RetryableError, TerminalError } from './controller/result.ts';
export type { ReconcileResult } from './controller/result.ts';
export { createChannelSource, watchSource } from './controller/source.ts';
export type { ChannelSource, Source } from './controller/source.ts';
export { createExpectations } from './own-writes/expectations.ts';
export type { Expectations, ExpectationsOptions, PendingExpectations } from './own-writes/expectations.ts';
export { createInformer } from './informer/informer.ts';
export type { Change, ChangeHandler, Informer, InformerOptions } from './informer/informer.ts';
export type { Indexers, Store } from './informer/store.ts';
export { dropBulk } from './informer/transform.ts';
export { findShard, formatDivision } from './shards/shard.ts';
export { TermLimits } from './lease/term-limits.ts';
export { LeaseElector, LeaseLostError } from './lease/elector.ts';
export type { ElectorOptions, LeaseOptions, Term } from './lease/elector.ts';
export { createOwnWrites } from './own-writes/own-writes.ts';
export type { OwnWrites, OwnWritesOptions } from './own-writes/own-writes.ts';
export { FairOrder } from './queue/fair-order.ts';
export type { QueueOrder } from './queue/order.ts';
export { createWorkQueue } from './queue/workqueue.ts';
export type { AddOptions, QueueStats, WorkQueue, WorkQueueOptions } from './queue/workqueue.ts';
export { createEventRecorder } from './events/recorder.ts';
export type { EventInput, EventRecorder, EventRecorderOptions } from './events/recorder.ts';
export { splitLimits } from './transport/limiter.ts';
export type { RateLimits } from './transport/limiter.ts';
