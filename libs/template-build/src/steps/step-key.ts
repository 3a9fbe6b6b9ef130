import { createHash } from 'node:crypto';
import type { Step } from './instruction.ts';

/** What the base step does to an image, as part of every key: a change of it must not find what an older release has cached. */
const PROVISION_VERSION = 1;

/** 64 hex digits that say what an image has in it: equal keys, equal results. */
export type StepKey = string;

/** Key of the base step; `digest` is that of the image it starts from. */
export function computeBaseKey(digest: string): StepKey {
  return digestOf(['base', PROVISION_VERSION, digest]);
}

/** Keys of the steps, in their order: each depends on all before it, and none on credentials or on `force`. */
export function computeStepKeys(base: StepKey, steps: readonly Step[]): StepKey[] {
  let previous = base;
  return steps.map(({ type, args, filesHash = '' }) => (previous = digestOf([previous, type, args, filesHash])));
}

/** How many of the first steps may come from the cache: all before the first one with `force`. */
export function countCacheable(steps: readonly Step[]): number {
  const forced = steps.findIndex(({ force }) => force === true);
  return forced === -1 ? steps.length : forced;
}

function digestOf(parts: readonly unknown[]): StepKey {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}
