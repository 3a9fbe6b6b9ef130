// The audit log of an API server, for tests and benchmarks alike.
import { readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { completeLines } from '@sandlot/local-cluster';
import { z } from 'zod';

const entrySchema = z.object({
  verb: z.string(),
  user: z.object({ username: z.string() }),
  objectRef: z
    .object({
      resource: z.string(),
      namespace: z.string().optional(),
      name: z.string().optional(),
      subresource: z.string().optional(),
    })
    .optional(),
  responseStatus: z.object({ code: z.number() }).optional(),
  requestReceivedTimestamp: z.string(),
});

/** One request that the server has answered. */
export type AuditEntry = z.output<typeof entrySchema>;

const WRITES: ReadonlySet<string> = new Set(['create', 'update', 'patch', 'delete']);

export function isWrite({ verb }: Pick<AuditEntry, 'verb'>): boolean {
  return WRITES.has(verb);
}

/**
 * Requests in an audit log and in what was rotated out of it, file by file. Only lines in which one of `words` occurs are
 * parsed: a log has a hundred times as many.
 */
export async function* auditEntries(path: string, words: readonly string[]): AsyncGenerator<AuditEntry> {
  for (const file of await auditFiles(path)) {
    for await (const line of completeLines(file)) {
      if (words.some((word) => line.includes(word))) yield entrySchema.parse(JSON.parse(line));
    }
  }
}

/** In the order in which the server received them. */
export function sortByTime(entries: readonly AuditEntry[]): AuditEntry[] {
  return [...entries].sort((a, b) => (a.requestReceivedTimestamp < b.requestReceivedTimestamp ? -1 : 1));
}

/** The server begins a new file when one is full. */
async function auditFiles(path: string): Promise<string[]> {
  const stem = basename(path, '.log');
  const names = await readdir(dirname(path));
  return names
    .filter((name) => name.startsWith(stem) && name.endsWith('.log'))
    .map((name) => join(dirname(path), name));
}
