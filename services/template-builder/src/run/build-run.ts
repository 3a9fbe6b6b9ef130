import type { Clock } from '@sandlot/std';
import type { BuildState, LogLevel, Step } from '@sandlot/template-build';
import type { BuildSandbox } from '../sandbox/build-sandbox.ts';
import type { BuiltImage, ImagePlane, ImageSource } from '../plane/plane.ts';
import type { StepName } from './build-failure.ts';

/** One build, as the steps need it. */
export interface BuildRequest {
  /** Of the image that is built. No other image has it. */
  readonly tag: string;
  /** Template and build in the log. */
  readonly title: string;
  readonly source: ImageSource;
  /** The source as the author of the build wrote it. */
  readonly sourceTitle: string;
  /** Whether the source is a template that a build made. */
  readonly isFromTemplate: boolean;
  readonly steps: readonly Step[];
  readonly force: boolean;
  readonly startCommand?: string | undefined;
  readonly readyCommand?: string | undefined;
  /** Of the image that is built. */
  readonly repository: string;
  /** Of the images of steps, which all builds of the namespace share. */
  readonly cacheRepository: string;
  /** Of the archives of COPY. */
  readonly filesRepository: string;
}

export interface BuildLog {
  /** What a command wrote. It is not waited for, and bounded. */
  addOutput(level: LogLevel, message: string, step: StepName): void;
  /** `step` says where in the script it belongs. Resolves once the entry cannot be lost by the death of this process. */
  add(level: LogLevel, message: string, step?: StepName): Promise<void>;
}

export interface BuildTools {
  readonly plane: ImagePlane;
  readonly log: BuildLog;
  readonly clock: Pick<Clock, 'now' | 'sleep'>;
  /** Starts a sandbox from an image of ours. Throws a BuildFailure if it does not start. */
  readonly openSandbox: (image: BuiltImage, signal: AbortSignal) => Promise<BuildSandbox>;
}

/** What a build has reached: an image and the state that goes with it. */
export interface Reached {
  readonly image: BuiltImage;
  readonly state: BuildState;
}
