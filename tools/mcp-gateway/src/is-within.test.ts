import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { catalogue } from './catalogue.ts';
import { isWithin } from './is-within.ts';

describe('whether a path is within folders', () => {
  let root: string;
  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'within-'));
    await mkdir(join(root, 'in/deep'), { recursive: true });
    await mkdir(join(root, 'inside-out'));
    await writeFile(join(root, 'in/file'), '');
    await symlink(join(root, 'inside-out'), join(root, 'in/link'));
    await symlink(join(root, 'in/circle'), join(root, 'in/circle'));
    await symlink(join(root, 'in'), join(root, 'alias'));
  });
  afterAll(() => rm(root, { recursive: true }));

  it.each([
    ['in', true],
    ['in/', true],
    ['in/deep', true],
    ['in/none/yet', true],
    ['in/deep/..', true],
    ['alias/deep', true],
    ['in/..', false],
    ['in/../inside-out', false],
    ['inside-out', false],
    ['in/link', false],
    ['in/link/none/yet', false],
    ['in/circle', false],
    ['in/file/x', false],
    ['in/\0', false],
    ['', false],
  ])('%j: %s', async (path, expected) => {
    expect(await isWithin(join(root, path), [join(root, 'in')])).toBe(expected);
  });

  it.each([undefined, null, 7, ['/'], 'in', ''])('refuses %j', async (path) => {
    expect(await isWithin(path, ['/'])).toBe(false);
  });

  it('accepts everything below the root, and what is in a folder of several', async () => {
    expect(await isWithin(root, ['/'])).toBe(true);
    expect(await isWithin(join(root, 'inside-out'), [join(root, 'in'), join(root, 'inside-out')])).toBe(true);
  });

  it('keeps the git server to its paths', async () => {
    const settings = { paths: [join(root, 'in')] };
    const guard = catalogue['git']?.guard;
    expect(await guard?.({ repo_path: join(root, 'in/deep') }, settings)).toBeUndefined();
    expect(await guard?.({ repo_path: root }, settings)).toBe(`repo_path is not within ${join(root, 'in')}`);
    expect(await guard?.({}, settings)).toBe(`repo_path is not within ${join(root, 'in')}`);
  });
});
