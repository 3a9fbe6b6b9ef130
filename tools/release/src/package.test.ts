import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { buildPackage } from './package.ts';

test('the package has a program that runs without the checkout', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sandlot-package-'));
  try {
    await buildPackage(folder);
    const manifest = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as object;
    expect(manifest).toMatchObject({
      bin: { sandlot: './sandlot.js' },
      dependencies: { '@kubernetes/client-node': expect.any(String) as string },
    });
    const help = execFileSync(join(folder, 'sandlot.js'), ['--help'], { cwd: folder, encoding: 'utf8' });
    expect(help).toContain('usage: sandlot COMMAND');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
