import type { BuildReason } from '@sandlot/api-types';

/** Where a build failed: `base`, the position of a step from 1, or `finalize`. Both clients of E2B look it up in the script. */
export type StepName = string;

/** The build failed for good, by what its author wrote or what the installation allows. */
export class BuildFailure extends Error {
  readonly reason: BuildReason;
  readonly step: StepName | undefined;

  constructor(reason: BuildReason, message: string, step?: StepName) {
    super(message);
    this.name = 'BuildFailure';
    this.reason = reason;
    this.step = step;
  }
}
