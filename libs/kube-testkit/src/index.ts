export type { StatusCause } from './server/api-error.ts';
export type { ApiObject } from './storage/api-object.ts';
export type { FakeResource, ScalePaths } from './storage/served-resource.ts';
export type { ActiveFault, FailOptions, FaultAnswer, Faults, RequestMatch } from './faults/faults.ts';
export type { RequestRecord } from './server/journal.ts';
export type { PodBehaviour } from './pods/pod-status.ts';
export { given, reconcileTable } from './reconcile-table/reconcile-table.ts';
export type {
  GivenObjects,
  Reconciler,
  ReconcileRow,
  ReconcileSetup,
  ReconcileTableOptions,
  RunnableRow,
  WantedResult,
  WantedWrite,
} from './reconcile-table/reconcile-table.ts';
export { fixtureCertificate, fixtureKey } from './server/certificate.ts';
export type { RequestInfo, RequestVerb } from './server/request.ts';
export { startFakeApiServer } from './server/server.ts';
export type { FakeApiServer, FakeApiServerOptions } from './server/server.ts';
export { simulatePods } from './pods/simulate-pods.ts';
export type { PodMatch, PodSimulation, SimulatePodsOptions } from './pods/simulate-pods.ts';
