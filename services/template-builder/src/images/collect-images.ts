import type { KubeClient, ObjectKey } from '@sandlot/kube';
import { isServed } from '@sandlot/service';
import type { ServedNamespaces } from '@sandlot/service';
import type { Clock, Logger } from '@sandlot/std';
import type { ImageStore } from '../plane/plane.ts';
import { PlaneError } from '../plane/plane.ts';
import { formatImageRepository } from '../run/repositories.ts';
import type { ImageMetrics } from '../telemetry/image-metrics.ts';
import { decideImages, isMentioned } from './decide-images.ts';
import type { ImagePlan, StoredImage } from './decide-images.ts';
import { findBuildOfTag } from './image-tag.ts';
import { readMentions } from './mentions.ts';
import type { Mentions } from './mentions.ts';
import { readRecord, writeEntries } from './record.ts';
import type { Entry, ImageRecord } from './record.ts';

export interface CollectDeps {
  readonly client: Pick<KubeClient, 'find' | 'listAll' | 'mergePatch'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Logger;
  readonly plane: ImageStore;
  readonly metrics: ImageMetrics;
  /** Of the record. */
  readonly key: ObjectKey;
  readonly served: ServedNamespaces;
  readonly graceMs: number;
}

/** What one pass over all images came to. */
type Outcome = 'done' | 'blocked' | 'refused';

/** Of one namespace in one pass, so that one with much garbage does not keep the others waiting. */
const MOST_LOOKED_UP = 100;
/** In all namespaces: the record has 1 MiB at most. */
const MOST_MARKS = 2_500;
const EMPTY: Entry = { marks: new Map() };

/**
 * Deletes images that nothing has needed for the grace period. It reads the registry first and the objects after it, and the objects again
 * before the first deletion. Rejects if anything cannot be read: then nothing is deleted.
 */
export async function collectImages(deps: CollectDeps, signal: AbortSignal): Promise<Outcome> {
  const record = await readRecord(deps, signal);
  if (record === undefined) return block(deps, 'the ConfigMap with the record of images is not there', []);
  const hidden = [...record.entries.keys()].filter((namespace) => !isServed(deps.served, namespace));
  if (hidden.length > 0) return block(deps, 'namespaces of the record are not served any more', hidden);
  const tags = await listTags(deps, record, signal);
  const mentions = await readMentions(deps.client, deps.served, signal);
  const images = await lookUp(deps, record, { tags, mentions, signal });
  let plans = decideAll(deps, record, { images, mentions });
  if (plans.some(({ plan }) => plan.deletions.length > 0))
    plans = decideAll(deps, record, { images, mentions: await readMentions(deps.client, deps.served, signal) });
  await writeEntries(deps, record, { entries: listChanged(record, plans), signal });
  const outcome = await deleteAll(deps, plans, signal);
  deps.metrics.onPass(
    plans.map(({ plan }) => plan),
    Math.floor(deps.clock.now() / 1_000),
  );
  return outcome;
}

/** Objects in a namespace that this release does not see may need an image of another one. */
function block({ log, metrics }: CollectDeps, why: string, namespaces: readonly string[]): Outcome {
  log.warn({ namespaces }, `no image is deleted: ${why}`);
  metrics.onBlocked();
  return 'blocked';
}

/** The served namespaces that are listed one by one are part of the record, so that a later pass knows what it does not see any more. */
function listNamespaces({ served }: CollectDeps, { entries }: ImageRecord): readonly string[] {
  return [...new Set([...(served ?? []), ...entries.keys()])];
}

type ImagesByNamespace = ReadonlyMap<string, readonly StoredImage[]>;

async function listTags(deps: CollectDeps, record: ImageRecord, signal: AbortSignal): Promise<ImagesByNamespace> {
  const found = new Map<string, readonly StoredImage[]>();
  for (const namespace of listNamespaces(deps, record)) {
    const list = await askAbout(deps, namespace, () => deps.plane.listTags(formatImageRepository(namespace), signal));
    if (list === undefined) continue;
    const { tags, whole } = list;
    if (!whole) deps.log.warn({ namespace }, 'the registry has more images of the namespace than are looked at');
    const images = tags.flatMap((tag) => {
      const build = findBuildOfTag(tag, record.installation);
      return build === undefined ? [] : [{ tag, build }];
    });
    found.set(namespace, images);
  }
  return found;
}

/** What the registry answers about one namespace. Undefined: a lasting refusal, which must not keep the images of the others. */
async function askAbout<T>({ log }: CollectDeps, namespace: string, ask: () => Promise<T>): Promise<T | undefined> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof PlaneError) || error.isPassing) throw error;
    log.warn({ namespace, err: error }, 'images of a namespace stay, because the registry does not say what it has');
    return undefined;
  }
}

interface LookUp {
  readonly tags: ImagesByNamespace;
  readonly mentions: Mentions;
  readonly signal: AbortSignal;
}

/** Asks the registry for the digests of images whose build is gone. Those that wait already go first: others keep no mark. */
async function lookUp(
  deps: CollectDeps,
  { entries }: ImageRecord,
  { tags, mentions, signal }: LookUp,
): Promise<ImagesByNamespace> {
  const most = Math.min(MOST_LOOKED_UP, Math.max(1, Math.floor(MOST_MARKS / Math.max(1, tags.size))));
  const found = new Map<string, readonly StoredImage[]>();
  for (const [namespace, images] of tags) {
    const isMarked = ({ tag }: StoredImage): boolean => entries.get(namespace)?.marks.has(tag) ?? false;
    const gone = images.filter((image) => !isMentioned(image, mentions));
    const asked = [...gone.filter(isMarked), ...gone.filter((image) => !isMarked(image))].slice(0, most);
    const digests = new Map<string, string | undefined>();
    for (const { tag } of asked) {
      const find = () => deps.plane.findTag(formatImageRepository(namespace), tag, signal);
      const image = await askAbout(deps, namespace, find);
      digests.set(tag, image?.digest);
    }
    found.set(
      namespace,
      images.map((image) => ({ ...image, digest: digests.get(image.tag) })),
    );
  }
  return found;
}

interface Decided {
  readonly namespace: string;
  readonly plan: ImagePlan;
}

function decideAll(
  { clock, graceMs }: CollectDeps,
  { entries }: ImageRecord,
  { images, mentions }: { readonly images: ImagesByNamespace; readonly mentions: Mentions },
): readonly Decided[] {
  const nowMs = clock.now();
  return [...images].map(([namespace, each]) => {
    const entry = entries.get(namespace) ?? EMPTY;
    return { namespace, plan: decideImages({ nowMs, graceMs, namespace, images: each, entry, mentions }) };
  });
}

function listChanged({ entries }: ImageRecord, plans: readonly Decided[]): ReadonlyMap<string, Entry | undefined> {
  const changed = plans.filter(({ namespace, plan }) => !isSame(entries.get(namespace), plan.entry));
  return new Map(changed.map(({ namespace, plan }) => [namespace, plan.entry]));
}

function isSame(before: Entry | undefined, after: Entry | undefined): boolean {
  if (before === undefined || after === undefined) return before === after;
  const isEveryKept = [...after.marks].every(([tag, mark]) => {
    const old = before.marks.get(tag);
    return old?.digest === mark.digest && old.since === mark.since;
  });
  return before.emptySince === after.emptySince && before.marks.size === after.marks.size && isEveryKept;
}

/** One image after the other. The first refusal ends the pass: what this registry does not delete it does not delete a second later. */
async function deleteAll(
  { plane, log, metrics }: CollectDeps,
  plans: readonly Decided[],
  signal: AbortSignal,
): Promise<Outcome> {
  for (const { namespace, plan } of plans) {
    for (const { tag, digest } of plan.deletions) {
      const refusal = await deleteImage(plane, `${formatImageRepository(namespace)}@${digest}`, signal);
      if (refusal !== undefined) {
        metrics.onRefused();
        log.warn({ namespace, tag }, `the registry keeps an image that nothing needs: ${refusal}`);
        return 'refused';
      }
      metrics.onDeleted();
      log.info({ namespace, tag, digest }, 'deleted an image that nothing needs');
    }
  }
  return 'done';
}

/** Why the registry does not delete it; undefined: it is gone. */
async function deleteImage(plane: ImageStore, reference: string, signal: AbortSignal): Promise<string | undefined> {
  try {
    const { kept } = await plane.deleteImage(reference, signal);
    return kept ? 'it cannot delete images' : undefined;
  } catch (error) {
    if (!(error instanceof PlaneError) || error.reason !== 'denied') throw error;
    return 'the credentials of the installation may not delete';
  }
}
