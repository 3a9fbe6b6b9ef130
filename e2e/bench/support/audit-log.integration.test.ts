import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { auditEntries, sortByTime, isWrite } from '../../src/support/audit-log.ts';
import type { AuditEntry } from '../../src/support/audit-log.ts';

const lineOf = (verb: string, username: string, second: number): string =>
  JSON.stringify({ verb, user: { username }, requestReceivedTimestamp: `2030-01-01T00:00:0${second}Z`, stage: 'X' });

it('reads an audit log with its rotated files, and parses only lines with one of the words', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'audit-'));
  try {
    await writeFile(join(folder, 'audit.log'), `${lineOf('get', 'a', 3)}\nnot JSON\n${lineOf('patch', 'a', 2)}\n`);
    await writeFile(join(folder, 'audit-2030-01-01T00-00-01.log'), `${lineOf('create', 'a', 1)}\n`);
    await writeFile(join(folder, 'other.log'), `${lineOf('delete', 'a', 0)}\n`);
    const found: AuditEntry[] = [];
    for await (const entry of auditEntries(join(folder, 'audit.log'), ['"a"', '"b"'])) found.push(entry);
    expect(sortByTime(found).map(({ verb }) => verb)).toEqual(['create', 'patch', 'get']);
    expect(sortByTime(found).filter(isWrite)).toHaveLength(2);
  } finally {
    await rm(folder, { recursive: true });
  }
});
