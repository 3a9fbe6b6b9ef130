export { purposes } from './deadline.ts';
export type { Deadline, Purpose } from './deadline.ts';
export { DeadlineKeeper } from './keeper.ts';
export type { DeadlineKeeperOptions, DeadlineSource } from './keeper.ts';
export type { DeadlineMetrics, Fate } from './metrics.ts';
export type { DeadlineStore, DeadlineStoreOptions } from './store.ts';
export type { RedisTls } from './redis.ts';
