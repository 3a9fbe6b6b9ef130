import { mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '@sandlot/std';
import type { Logger } from '@sandlot/std';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FIRST, SECOND } from '../../test/certificates.ts';
import { followAuthority } from './follow-authority.ts';

const KEY = '-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n';

let folder: string;
let file: string;
let errors: string[];
let log: Logger;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'authority-'));
  file = join(folder, 'ca.crt');
  errors = [];
  log = { ...silentLogger, error: (fields: object) => errors.push(String((fields as { err: unknown }).err)) };
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

/** As the kubelet does: the file is a link into a folder that is replaced as a whole. */
function publish(name: string, content: string): void {
  writeFileSync(join(folder, name), content);
  symlinkSync(name, join(folder, 'next'));
  renameSync(join(folder, 'next'), file);
}

describe('the authority of the egress proxy', () => {
  it('is read again when the kubelet has renewed the file, without a restart', () => {
    publish('old', FIRST);
    const read = followAuthority(file, log);
    expect([read?.(), read?.()]).toEqual([FIRST, FIRST]);
    publish('both', FIRST + SECOND);
    expect(read?.()).toBe(FIRST + SECOND);
    publish('new', SECOND);
    expect([read?.(), errors]).toEqual([SECOND, []]);
  });

  it('consists of certificates and nothing else that stands in the file', () => {
    writeFileSync(file, `# old\n${FIRST}\n${KEY}# new\n${SECOND}`);
    expect(followAuthority(file, log)?.()).toBe(FIRST + SECOND);
  });

  it.each([
    ['is missing', undefined, /ENOENT/],
    ['is empty', '', /no certificate/],
    ['has a key', KEY, /no certificate/],
    ['has no true certificate', FIRST.replace('MIIB', 'AAAA'), /./],
    ['is too large for a variable', FIRST.repeat(100), /more than 32768 bytes/],
  ])('is none while the file %s, which the log says once and without its content', (_, content, why) => {
    if (content !== undefined) writeFileSync(file, content);
    const read = followAuthority(file, log);
    expect([read?.(), read?.()]).toEqual(['', '']);
    expect(errors).toEqual([expect.stringMatching(why)]);
    expect(errors.join()).not.toMatch(/BEGIN|c2VjcmV0/);
    publish('good', FIRST);
    expect(read?.()).toBe(FIRST);
  });

  it('is not asked for in an installation without the proxy', () => {
    expect(followAuthority(undefined, log)).toBeUndefined();
  });
});
