// Reads the audit log of an API server, for tests and benchmarks.
import { readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { createLineBuffer } from '@sandlot/local-cluster';
import { z } from 'zod';
import { formatResource } from '../../rights/rights.ts';
import type { Request } from '../../rights/rights.ts';

const entrySchema = z.object({
  verb: z.string(),
  user: z.object({ username: z.string() }),
  objectRef: z
    .object({
      apiGroup: z.string().optional(),
      resource: z.string(),
      namespace: z.string().optional(),
      name: z.string().optional(),
      subresource: z.string().optional(),
    })
    .optional(),
  annotations: z.record(z.string(), z.string()).optional(),
  responseStatus: z.object({ code: z.number() }).optional(),
  requestReceivedTimestamp: z.string(),
});

/** One answered request. */
export type AuditEntry = z.output<typeof entrySchema>;

const WRITES: ReadonlySet<string> = new Set(['create', 'update', 'patch', 'delete']);

export function isWrite({ verb }: Pick<AuditEntry, 'verb'>): boolean {
  return WRITES.has(verb);
}

/** The request of an entry about an object, if the API server authorised it; admission may still have refused it. */
export function formatRequest({ verb, user, objectRef, annotations }: AuditEntry): Request | undefined {
  if (objectRef === undefined || annotations?.['authorization.k8s.io/decision'] !== 'allow') return undefined;
  const { apiGroup = '', resource, subresource, namespace, name } = objectRef;
  const path = subresource === undefined ? resource : `${resource}/${subresource}`;
  return { account: user.username, verb, resource: formatResource(apiGroup, path), namespace, name };
}

/**
 * Reads the requests of an audit log and of its rotated files, file by file. It parses only lines that contain one of `words`,
 * which are about one in a hundred.
 */
export async function* listAuditEntries(path: string, words: readonly string[]): AsyncGenerator<AuditEntry> {
  for (const file of await listAuditFiles(path)) {
    for await (const line of createLineBuffer(file)) {
      if (words.some((word) => line.includes(word))) yield entrySchema.parse(JSON.parse(line));
    }
  }
}

/** Sorts requests by the time the server received them. */
export function sortByTime(entries: readonly AuditEntry[]): AuditEntry[] {
  return [...entries].sort((a, b) => (a.requestReceivedTimestamp < b.requestReceivedTimestamp ? -1 : 1));
}

/** The log and its rotated files. */
async function listAuditFiles(path: string): Promise<string[]> {
  const stem = basename(path, '.log');
  const names = await readdir(dirname(path));
  return names
    .filter((name) => name.startsWith(stem) && name.endsWith('.log'))
    .map((name) => join(dirname(path), name));
}
