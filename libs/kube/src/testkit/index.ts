export type { StatusCause } from './api-error.ts';
export type { ApiObject } from './api-object.ts';
export type { FakeResource, ScalePaths } from './definitions.ts';
export type { ActiveFault, FailOptions, FaultAnswer, Faults, RequestMatch } from './faults.ts';
export type { RequestRecord } from './journal.ts';
export type { RequestInfo, RequestVerb } from './request.ts';
export { startFakeApiServer } from './server.ts';
export type { FakeApiServer, FakeApiServerOptions } from './server.ts';
