export type { Deadline, DeadlineId, Purpose } from './deadline.ts';
export { connectDeadlines } from './deadlines.ts';
export type { Deadlines, DeadlinesOptions, DueHandler } from './deadlines.ts';
export type { RedisTls } from './redis.ts';
