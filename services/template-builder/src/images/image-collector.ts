import { createChannelSource, requeueAfter } from '@sandlot/kube';
import type { ObjectKey, ReconcileContext, ReconcileResult } from '@sandlot/kube';
import type { ControllerParts } from '@sandlot/service';
import type { ImageStore } from '../plane/plane.ts';
import { createImageMetrics } from '../telemetry/image-metrics.ts';
import type { BuilderSettings } from '../wiring/config.ts';
import { collectImages } from './collect-images.ts';

/** The one key: a pass looks at all images. */
const ALL = 'all';
/** A pass asks the registry about each namespace, one after the other. */
const PASS_LIMIT_MS = 600_000;
const SHORTEST_MS = 5_000;
const LONGEST_MS = 3_600_000;
/** A registry that deletes nothing is asked once in this time, in case its operator has changed that. */
const AFTER_REFUSAL_MS = 24 * 3_600_000;

interface ImagePlaces {
  readonly plane: ImageStore;
  /** Of the record; undefined: this installation has none. */
  readonly key: ObjectKey | undefined;
}

/** Looks for images that nothing needs, on the leader alone. */
export function addImageCollector(
  { client, clock, log, manager, registry }: ControllerParts,
  { WATCH_NAMESPACES: served, BUILD_IMAGES_GRACE_SECONDS: graceSeconds }: BuilderSettings,
  { plane, key }: ImagePlaces,
): void {
  if (key === undefined) return;
  const graceMs = graceSeconds * 1_000;
  const deps = { ...{ client, clock, log, plane, key, served, graceMs }, metrics: createImageMetrics(registry) };
  const everyMs = Math.min(LONGEST_MS, Math.max(SHORTEST_MS, graceMs / 2));
  manager.add({
    name: 'template-images',
    concurrency: 1,
    deadlineMs: PASS_LIMIT_MS,
    sources: [createChannelSource(() => [ALL])],
    reconcile: async (_key: string, { signal }: ReconcileContext): Promise<ReconcileResult> => {
      const outcome = await collectImages(deps, signal);
      return requeueAfter(outcome === 'refused' ? AFTER_REFUSAL_MS : everyMs, 'the next look for images');
    },
  });
}
