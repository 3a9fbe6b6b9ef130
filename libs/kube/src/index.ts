export { createKubeClient } from './client/client.ts';
export type { KubeClientOptions } from './client/client.ts';
export type {
  ApplyOptions,
  CallOptions,
  DeleteOptions,
  KubeClient,
  ListOptions,
  ListPage,
  Priority,
  WatchEvent,
  WatchOptions,
} from './client/types.ts';
export { loadCredentials } from './credentials.ts';
export type { Credentials } from './credentials.ts';
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
export { apiVersionOf, controllerOf, defineResource, keyOf, parseKey } from './object.ts';
export type {
  Condition,
  JsonObject,
  JsonPatchOp,
  JsonValue,
  KubeObject,
  ObjectKey,
  ObjectMeta,
  OwnerReference,
  Resource,
} from './object.ts';
export {
  customResourceDefinitions,
  events,
  leases,
  namespaces,
  networkPolicies,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  secrets,
  services,
  storageClasses,
} from './resources.ts';
export type {
  Container,
  ContainerStatus,
  CustomResourceDefinition,
  EnvVar,
  Event,
  Lease,
  Namespace,
  NetworkPolicy,
  Node,
  ObjectReference,
  PersistentVolume,
  PersistentVolumeClaim,
  PersistentVolumeClaimSpec,
  Pod,
  PodSpec,
  Secret,
  Service,
  Volume,
} from './resources.ts';
