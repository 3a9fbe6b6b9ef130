import { logLevels } from '@sandlot/template-build';
import type { LogEntry, LogQuery } from '@sandlot/template-build';
import { z } from 'zod';
import { noBuilder } from '../../../errors/build-errors.ts';
import { notEnabled } from '../../../errors/refusals.ts';
import { sendArchive } from './send-archive.ts';
import type { Archive } from './send-archive.ts';

/** Where the template-builder keeps an archive. */
export interface FilePlace {
  readonly namespace: string;
  /** 64 hex digits. */
  readonly hash: string;
}

/** What the API asks of the template-builder. */
export interface Builder {
  /** One page of the log of the build with that UID. Rejects with an ApiError 503 when the builder does not answer. */
  readLog(build: string, query: LogQuery, signal?: AbortSignal): Promise<readonly LogEntry[]>;
  /** Rejects like `readLog`. */
  hasFiles(place: FilePlace, signal?: AbortSignal): Promise<boolean>;
  /** Resolves once the builder has all of it. Rejects with the ApiError that the client gets. */
  putFiles(place: FilePlace, archive: Archive): Promise<void>;
}

/** An answer comes from memory or from one read. */
const PATIENCE_MS = 5_000;

const logPage: z.ZodType<readonly LogEntry[]> = z.array(
  z.object({
    timestamp: z.string(),
    message: z.string(),
    level: z.enum(logLevels),
    step: z.string().optional(),
  }),
);

/** Speaks to the template-builder at `url`; without one every call throws an ApiError 403. */
export function createBuilder(url: string | undefined, token: string): Builder {
  const headers = { authorization: `Bearer ${token}` };
  const ask = async (method: 'GET' | 'HEAD', path: string, signal?: AbortSignal): Promise<Response> => {
    const patience = AbortSignal.any([AbortSignal.timeout(PATIENCE_MS), signal ?? []].flat());
    try {
      return await fetch(new URL(path, requireUrl(url)), { method, headers, signal: patience });
    } catch {
      throw noBuilder();
    }
  };
  return {
    readLog: async (build, { offset, limit, level }, signal) => {
      requireUrl(url);
      const response = await ask('GET', `/logs/${build}?offset=${offset}&limit=${limit}&level=${level}`, signal);
      if (!response.ok) throw noBuilder();
      return logPage.parse(await response.json());
    },
    hasFiles: async (place, signal) => {
      requireUrl(url);
      const { ok, status } = await ask('HEAD', formatFilesPath(place), signal);
      if (!ok && status !== 404) throw noBuilder();
      return ok;
    },
    putFiles: (place, archive) => sendArchive(new URL(formatFilesPath(place), requireUrl(url)), headers, archive),
  };
}

function formatFilesPath({ namespace, hash }: FilePlace): string {
  return `/files/${namespace}/${hash}`;
}

function requireUrl(url: string | undefined): string {
  if (url === undefined) throw notEnabled('template builds are');
  return url;
}
