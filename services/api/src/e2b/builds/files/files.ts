import type { Clock } from '@sandlot/std';
import type { ApiKey, Places, TokenKeys } from '@sandlot/tenancy';
import { badRequest } from '../../../errors/api-error.ts';
import { badSignature, noTemplate, tooManyUploads } from '../../../errors/build-errors.ts';
import type { BodyStream } from '../../../http/route.ts';
import type { TemplateBuilds } from '../../../state/builds.ts';
import type { Builder } from '../builder/builder.ts';
import { formatUploadUrl, isSigned } from './upload-url.ts';
import type { UploadQuery } from './upload-url.ts';

export interface FilesDeps {
  readonly builds: Pick<TemplateBuilds, 'assertEnabled' | 'listOf' | 'listNow'>;
  readonly builder: Pick<Builder, 'hasFiles' | 'putFiles'>;
  readonly answers: { readonly tokenKeys: TokenKeys };
  readonly clock: Pick<Clock, 'now' | 'setTimeout'>;
  /** Longest archive. */
  readonly mostFileBytes: number;
  readonly uploadPlaces: Places;
}

/** An upload may stand still so long: a client that sends one byte at a time is ended by the longest time. */
const IDLE_MS = 30_000;
/** The template-builder passes the archive on to the registry before it answers. */
const STORE_MS = 10 * 60_000;
/** A client sends the files of all its COPY steps at the same time. More of a namespace would take the connections of others. */
const MOST_UPLOADS = 200;
/** Clients give up after as long. */
const LONGEST_MS = 60 * 60_000;

export interface AskedFiles {
  readonly templateID: string;
  readonly hash: string;
}

/** Whether the builder has the archive, and where the client may send it. A client may upload it again, so there is always a URL. */
export async function askForFiles(
  deps: FilesDeps,
  { namespace }: ApiKey,
  { templateID, hash, origin, signal }: AskedFiles & { readonly origin: string; readonly signal: AbortSignal },
): Promise<{ readonly present: boolean; readonly url: string }> {
  const { builds, builder, answers, clock } = deps;
  builds.assertEnabled();
  assertHash(hash);
  if (!(await hasBuild(builds, namespace, templateID))) throw noTemplate(templateID);
  const present = await builder.hasFiles({ namespace, hash }, signal);
  const nowMs = clock.now();
  return { present, url: formatUploadUrl(answers.tokenKeys, { namespace, templateID, hash }, { origin, nowMs }) };
}

async function hasBuild(builds: FilesDeps['builds'], namespace: string, templateID: string): Promise<boolean> {
  if (!/^[a-z0-9]{1,63}$/.test(templateID)) return false;
  if (builds.listOf(namespace, templateID).length > 0) return true;
  // Another replica may have answered the request for the template.
  return (await builds.listNow(namespace, templateID)).length > 0;
}

function assertHash(hash: string): void {
  if (!/^[0-9a-f]{64}$/.test(hash)) throw badRequest('Invalid files hash');
}

interface ReceivedFiles extends AskedFiles {
  readonly query: UploadQuery;
  readonly content: BodyStream;
  readonly signal: AbortSignal;
}

/**
 * Passes an archive on to the builder. Throws an ApiError before anything is read: 403 for a signature that does not count, 429 for too
 * many uploads of the namespace at the same time.
 */
export async function receiveFiles(
  { builds, builder, answers, clock, mostFileBytes: mostBytes, uploadPlaces }: FilesDeps,
  { templateID, hash, query: { namespace, ...given }, content, signal }: ReceivedFiles,
): Promise<void> {
  builds.assertEnabled();
  const upload = { namespace, templateID, hash };
  if (!isSigned(answers.tokenKeys, upload, { ...given, nowMs: clock.now() })) throw badSignature();
  assertHash(hash);
  using place = uploadPlaces.take(namespace, { present: 0, limit: MOST_UPLOADS, wanted: 1 });
  if (place === undefined) throw tooManyUploads(MOST_UPLOADS);
  const tooLong = new AbortController();
  const timer = clock.setTimeout(() => tooLong.abort(), LONGEST_MS);
  const bounds = { mostBytes, idleMs: IDLE_MS, storeMs: STORE_MS, clock };
  try {
    await builder.putFiles(
      { namespace, hash },
      { ...content, ...bounds, signal: AbortSignal.any([signal, tooLong.signal]) },
    );
  } finally {
    timer.cancel();
  }
}
