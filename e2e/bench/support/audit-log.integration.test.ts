import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { listAuditEntries, sortByTime, isWrite } from '../../src/support/audit-log.ts';
import type { AuditEntry } from '../../src/support/audit-log.ts';

const getLine = (verb: string, username: string, second: number): string =>
  JSON.stringify({ verb, user: { username }, requestReceivedTimestamp: `2030-01-01T00:00:0${second}Z`, stage: 'X' });

it('reads an audit log with its rotated files, and parses only lines with one of the words', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'audit-'));
  try {
    await writeFile(join(folder, 'audit.log'), `${getLine('get', 'a', 3)}\nnot JSON\n${getLine('patch', 'a', 2)}\n`);
    await writeFile(join(folder, 'audit-2030-01-01T00-00-01.log'), `${getLine('create', 'a', 1)}\n`);
    await writeFile(join(folder, 'other.log'), `${getLine('delete', 'a', 0)}\n`);
    const found: AuditEntry[] = [];
    for await (const entry of listAuditEntries(join(folder, 'audit.log'), ['"a"', '"b"'])) found.push(entry);
    expect(sortByTime(found).map(({ verb }) => verb)).toEqual(['create', 'patch', 'get']);
    expect(sortByTime(found).filter(isWrite)).toHaveLength(2);
  } finally {
    await rm(folder, { recursive: true });
  }
});
