// The builds of a template. No build makes the templates and pools of a cluster: each of them counts as one that was ready when
// it was created.
import type { TemplateBuild } from './schemas.ts';
import { formatIsoTime } from '../answer/sandbox.ts';
import type { Size } from '../answer/size.ts';
import type { Source } from './find-source.ts';

export interface Build {
  /** A UUID. */
  readonly id: string;
  /** Epoch milliseconds. */
  readonly createdMs: number;
}

/** The build that a create of this template starts from. */
export function getCurrentBuild(source: Source): Build {
  return toBuild((source.kind === 'template' ? source.snapshot : undefined) ?? source.object);
}

/** An object that stands for a build of its own. */
export function toBuild({ metadata }: Pick<Source['object'], 'metadata'>): Build {
  return { id: metadata.uid ?? '', createdMs: Date.parse(metadata.creationTimestamp ?? '') || 0 };
}

/** All builds of a template. */
export function listBuilds(source: Source): readonly Build[] {
  return [getCurrentBuild(source)];
}

export function buildBuildAnswer({ id, createdMs }: Build, size: Size, envdVersion: string): TemplateBuild {
  const at = formatIsoTime(createdMs);
  return { buildID: id, status: 'ready', createdAt: at, updatedAt: at, finishedAt: at, ...size, envdVersion };
}
