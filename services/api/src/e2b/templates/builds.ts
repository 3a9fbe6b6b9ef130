// The builds of a template. No build makes the templates and pools of a cluster: each of them counts as one that was ready when
// it was created. built/built-listing.ts has those of templates that were built over the API.
import type { TemplateBuild } from './schemas.ts';
import { formatIsoTime } from '../answer/sandbox.ts';
import type { Size } from '../answer/size.ts';
import type { BuildStatus } from '../builds/progress/schemas.ts';
import type { Source } from './source.ts';

export interface Build {
  /** A UUID. */
  readonly id: string;
  /** Epoch milliseconds. */
  readonly createdMs: number;
  /** Undefined: it has not ended. */
  readonly finishedMs: number | undefined;
  readonly status: BuildStatus;
  /** Undefined: that of the template. */
  readonly size?: Size | undefined;
}

/** The build that a create of this template starts from. */
export function getCurrentBuild(source: Source): Build {
  return toBuild((source.kind === 'template' ? source.snapshot : undefined) ?? source.object);
}

/** An object that stands for a build of its own. */
export function toBuild({ metadata }: Pick<Source['object'], 'metadata'>): Build {
  const createdMs = Date.parse(metadata.creationTimestamp ?? '') || 0;
  return { id: metadata.uid ?? '', createdMs, finishedMs: createdMs, status: 'ready' };
}

/** All builds of a template. */
export function listBuilds(source: Source): readonly Build[] {
  return [getCurrentBuild(source)];
}

export function buildBuildAnswer(build: Build, usual: Size, envdVersion: string): TemplateBuild {
  const { id, createdMs, finishedMs, status, size = usual } = build;
  return {
    buildID: id,
    status,
    createdAt: formatIsoTime(createdMs),
    updatedAt: formatIsoTime(finishedMs ?? createdMs),
    ...(finishedMs === undefined ? {} : { finishedAt: formatIsoTime(finishedMs) }),
    ...size,
    envdVersion,
  };
}
