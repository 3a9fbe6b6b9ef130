import { initialState } from '@sandlot/template-build';
import type { BuildState, StepKey } from '@sandlot/template-build';
import { z } from 'zod';
import type { BuiltImage, ImagePlane } from '../plane/plane.ts';

/** Label of a cached image: what its steps leave to later ones. */
const STATE_LABEL = 'dev.sandlot.build.state';
/** How many tags are looked up at a time. */
const AT_A_TIME = 8;

const stateSchema = z.object({
  user: z.string(),
  workdir: z.string().optional(),
  env: z.record(z.string(), z.string()),
});

export interface CachedStep {
  /** Index of the key: 0 is the base. */
  readonly index: number;
  readonly image: BuiltImage;
  readonly state: BuildState;
}

export interface CachePlace {
  readonly plane: Pick<ImagePlane, 'findTag'>;
  readonly repository: string;
}

export function formatCacheTag(key: StepKey): string {
  return `c-${key}`;
}

export function formatStateLabels(state: BuildState): Record<string, string> {
  return { [STATE_LABEL]: JSON.stringify(state) };
}

/** Finds the last of the keys whose image is cached. An image without a readable state counts as absent. */
export async function findLastCached(
  { plane, repository }: CachePlace,
  keys: readonly StepKey[],
  signal: AbortSignal,
): Promise<CachedStep | undefined> {
  for (let end = keys.length; end > 0; end -= AT_A_TIME) {
    const start = Math.max(0, end - AT_A_TIME);
    const found = await Promise.all(
      keys.slice(start, end).map((key) => plane.findTag(repository, formatCacheTag(key), signal)),
    );
    for (let at = found.length - 1; at >= 0; at -= 1) {
      const image = found[at];
      const state = image && readState(image);
      if (image !== undefined && state !== undefined) return { index: start + at, image, state };
    }
  }
  return undefined;
}

/** What the steps of an image that a build made leave to later ones. */
export function readState({ labels }: Pick<BuiltImage, 'labels'>): BuildState | undefined {
  const text = labels[STATE_LABEL];
  if (text === undefined) return undefined;
  try {
    const { data } = stateSchema.safeParse(JSON.parse(text));
    return data && { ...initialState, ...data };
  } catch {
    return undefined;
  }
}
