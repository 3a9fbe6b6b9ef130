import { formatRfc3339 } from '@sandlot/api-types';
import type { Entry, Mark } from './record.ts';
import type { Mentions } from './mentions.ts';

/** An image of this installation, as the registry has it. */
export interface StoredImage {
  readonly tag: string;
  /** UID of the build that made it. */
  readonly build: string;
  /** Undefined: the registry was not asked, because a build or a template keeps the image, or because others go first. */
  readonly digest?: string | undefined;
}

/** What is known about the images of one namespace. */
export interface ImageScene {
  readonly nowMs: number;
  /** How long nothing may need an image before it is deleted. */
  readonly graceMs: number;
  readonly namespace: string;
  /** All images of the namespace, whatever their number. */
  readonly images: readonly StoredImage[];
  /** What the record says of it. */
  readonly entry: Entry;
  readonly mentions: Mentions;
}

export interface ImagePlan {
  /** What the record is to say; undefined: the namespace leaves it. */
  readonly entry: Entry | undefined;
  /** Images that go now. They keep their marks until the registry no longer lists them. */
  readonly deletions: readonly { readonly tag: string; readonly digest: string }[];
  readonly kept: number;
  readonly waiting: number;
}

/** Whether an object needs the image: the build that made it, or one that names its digest or the build. */
export function isMentioned({ build, digest }: StoredImage, { uids, digests }: Mentions): boolean {
  return uids.has(build) || (digest !== undefined && digests.has(digest));
}

/** Which images of a namespace go, and which begin to wait for that. */
export function decideImages(scene: ImageScene): ImagePlan {
  const marks = new Map<string, Mark>();
  const deletions: { readonly tag: string; readonly digest: string }[] = [];
  for (const image of scene.images) {
    const { tag, digest } = image;
    if (digest === undefined || isMentioned(image, scene.mentions)) continue;
    const mark = chooseMark(scene, tag, digest);
    marks.set(tag, mark);
    if (scene.nowMs - Date.parse(mark.since) >= scene.graceMs) deletions.push({ tag, digest });
  }
  const counts = { kept: scene.images.length - marks.size, waiting: marks.size - deletions.length };
  return { entry: decideEntry(scene, marks), deletions, ...counts };
}

/** The mark of before, as long as it is of this image. One of the future comes from a clock that was wrong. */
function chooseMark({ entry, nowMs }: ImageScene, tag: string, digest: string): Mark {
  const mark = entry.marks.get(tag);
  const isValid = mark?.digest === digest && Date.parse(mark.since) <= nowMs;
  return isValid ? mark : { digest, since: formatRfc3339(nowMs) };
}

/** A namespace leaves the record once it has been empty for as long as an image waits. */
function decideEntry(scene: ImageScene, marks: ReadonlyMap<string, Mark>): Entry | undefined {
  const { images, mentions, namespace, nowMs, graceMs } = scene;
  if (images.length > 0 || mentions.namespaces.has(namespace)) return { marks };
  const since = Date.parse(scene.entry.emptySince ?? '');
  if (!(since <= nowMs)) return { marks, emptySince: formatRfc3339(nowMs) };
  return nowMs - since >= graceMs ? undefined : { marks, emptySince: scene.entry.emptySince };
}
