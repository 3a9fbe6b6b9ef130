export type { StatusCause } from './api-error.ts';
export type { ApiObject } from './api-object.ts';
export type { FakeResource, ScalePaths } from './served-resource.ts';
export type { ActiveFault, FailOptions, FaultAnswer, Faults, RequestMatch } from './faults.ts';
export type { RequestRecord } from './journal.ts';
export type { PodBehaviour } from './pod-status.ts';
export { given, reconcileTable } from './reconcile-table.ts';
export type {
  GivenObjects,
  Reconciler,
  ReconcileRow,
  ReconcileSetup,
  ReconcileTableOptions,
  RunnableRow,
  WantedResult,
  WantedWrite,
} from './reconcile-table.ts';
export type { RequestInfo, RequestVerb } from './request.ts';
export { startFakeApiServer } from './server.ts';
export type { FakeApiServer, FakeApiServerOptions } from './server.ts';
export { simulatePods } from './simulate-pods.ts';
export type { PodMatch, PodSimulation, SimulatePodsOptions } from './simulate-pods.ts';
