export { ControllerHarness, startTestEnvironment } from './controller-harness.ts';
export { hostileRequests, sendHostile } from './hostile.ts';
export type { HostileAnswer, Target } from './hostile.ts';
export { secureTemplates } from './secure-templates.ts';
export { startServiceProcess } from './service-process.ts';
export type { ServiceProcess } from './service-process.ts';
export { ShardedReplicas } from './shards/sharded-replicas.ts';
export { findGaps, findOverlaps, findStrayWrites, parseWrites } from './shards/stray-writes.ts';
export type { TestController } from './test-controller.ts';
