import { configMaps, isConflict } from '@sandlot/kube';
import type { ConfigMap, KubeClient, ObjectKey } from '@sandlot/kube';
import { z } from 'zod';

// The record is a ConfigMap of the release: a key for each namespace with images of builds, and under it which of them nothing needs, since
// when. Its UID stands for the installation: two clusters may use one registry, and have namespaces of the same name.

const markSchema = z.object({ digest: z.string(), since: z.string() });
const entrySchema = z.object({
  marks: z.record(z.string(), markSchema).default({}),
  emptySince: z.string().optional(),
});

/** An image that nothing needs. A tag that points at another digest later is another image. */
export interface Mark {
  readonly digest: string;
  /** RFC 3339. */
  readonly since: string;
}

export interface Entry {
  /** By tag. */
  readonly marks: ReadonlyMap<string, Mark>;
  /** Since when the namespace has had neither an image nor an object, RFC 3339. */
  readonly emptySince?: string | undefined;
}

export interface ImageRecord {
  /** Begins the tags of all images of this installation. */
  readonly installation: string;
  readonly resourceVersion: string;
  readonly entries: ReadonlyMap<string, Entry>;
}

interface RecordPlace {
  readonly client: Pick<KubeClient, 'find' | 'mergePatch'>;
  /** The ConfigMap; undefined: this installation has none. */
  readonly key: ObjectKey | undefined;
}

/** A ConfigMap has 1 MiB at most: this many namespaces with their marks have room. */
const MOST_NAMESPACES = 4_000;
const MOST_TRIES = 5;
const EMPTY: Entry = { marks: new Map() };

/** Reads the record as the API server has it. Undefined: there is none. */
export async function readRecord({ client, key }: RecordPlace, signal: AbortSignal): Promise<ImageRecord | undefined> {
  const found = key && (await client.find<ConfigMap>(configMaps, key, { signal }));
  const { uid, resourceVersion } = found?.metadata ?? {};
  if (found === undefined || uid === undefined || resourceVersion === undefined) return undefined;
  const entries = Object.entries(found.data ?? {}).map(([name, text]) => [name, readEntry(text)] as const);
  return { installation: uid, resourceVersion, entries: new Map(entries) };
}

interface EntriesWrite {
  readonly entries: ReadonlyMap<string, Entry | undefined>;
  readonly signal: AbortSignal;
}

/** Writes entries; undefined removes one. Fails with a conflict if the record has changed since it was read. */
export async function writeEntries(
  { client, key }: RecordPlace,
  { installation, resourceVersion }: ImageRecord,
  { entries, signal }: EntriesWrite,
): Promise<void> {
  if (key === undefined || entries.size === 0) return;
  const data = Object.fromEntries([...entries].map(([name, entry]) => [name, entry ? formatEntry(entry) : null]));
  await client.mergePatch(configMaps, key, { metadata: { uid: installation, resourceVersion }, data }, { signal });
}

/**
 * Notes that a namespace gets images, before the first one is pushed: an image that no record leads to would never be deleted. Returns the
 * installation for their tags; undefined if there is no record, or no room in it.
 */
export async function enrolNamespace(
  place: RecordPlace,
  namespace: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  for (let tries = 1; ; tries += 1) {
    const record = await readRecord(place, signal);
    if (record === undefined) return undefined;
    const entry = record.entries.get(namespace);
    if (entry !== undefined && entry.emptySince === undefined) return record.installation;
    if (entry === undefined && record.entries.size >= MOST_NAMESPACES) return undefined;
    const entries = new Map([[namespace, { marks: entry?.marks ?? EMPTY.marks }]]);
    const isWritten = await tryToWrite(place, record, { entries, signal, isLast: tries === MOST_TRIES });
    if (isWritten) return record.installation;
  }
}

/** False: somebody else has changed the record since it was read. Of the last try that is an error. */
async function tryToWrite(
  place: RecordPlace,
  record: ImageRecord,
  { isLast, ...write }: EntriesWrite & { readonly isLast: boolean },
): Promise<boolean> {
  try {
    await writeEntries(place, record, write);
    return true;
  } catch (error) {
    if (isLast || !(error instanceof Error) || !isConflict(error)) throw error;
    return false;
  }
}

/** An entry that cannot be read counts as one without marks: the time of its images begins anew. */
function readEntry(text: string): Entry {
  try {
    const { data } = entrySchema.safeParse(JSON.parse(text));
    return data === undefined ? EMPTY : { ...data, marks: new Map(Object.entries(data.marks)) };
  } catch {
    return EMPTY;
  }
}

function formatEntry({ marks, emptySince }: Entry): string {
  return JSON.stringify({ marks: Object.fromEntries(marks), ...(emptySince === undefined ? {} : { emptySince }) });
}
