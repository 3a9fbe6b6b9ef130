import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ensurePackages } from '@sandlot/local-cluster';
import { cacheDir, readEnv } from '@sandlot/up';
import { beforeAll, expect, it } from 'vitest';
import { z } from 'zod';

const run = promisify(execFile);
const folder = join(import.meta.dirname, 'python');
const outcome = z.object({ name: z.string(), error: z.string().nullable() });

/** A Python that has the stock clients, at the versions of requirements.txt; made once for each set of them. */
export async function pythonWithClients(): Promise<string> {
  const requirements = join(folder, 'requirements.txt');
  const key = createHash('sha256')
    .update(await readFile(requirements))
    .digest('hex')
    .slice(0, 16);
  const venv = cacheDir('python', key);
  const python = join(venv, 'bin/python');
  if (existsSync(join(venv, 'complete'))) return python;
  await rm(venv, { recursive: true, force: true });
  await mkdir(cacheDir('python'), { recursive: true });
  await run('python3', ['-c', 'import ensurepip, venv']).catch(() => ensurePackages(['python3-venv']));
  await run('python3', ['-m', 'venv', venv]);
  await run(python, ['-m', 'pip', 'install', '--quiet', '--no-deps', '--requirement', requirements]);
  await writeFile(join(venv, 'complete'), '');
  return python;
}

/** Every test of a module of `python/` as one of ours, with the variables of `.sandlot/env` and those given. */
export function pythonTests(
  module: string,
  more: () => Promise<Readonly<Record<string, string>>> = async () => ({}),
): void {
  const outcomes = new Map<string, string | null>();
  beforeAll(async () => {
    const python = await pythonWithClients();
    const env = { ...process.env, ...(await readEnv()), ...(await more()) };
    const { stdout, stderr } = await run(python, ['-B', 'report.py', module], { cwd: folder, env, maxBuffer: 1 << 26 });
    for (const line of stdout.trim().split('\n')) {
      const parsed = outcome.safeParse(JSON.parse(line));
      if (!parsed.success) throw new Error(`${module} printed ${line}\n${stderr}`);
      outcomes.set(parsed.data.name, parsed.data.error);
    }
  }, 300_000);
  const source = readFileSync(join(folder, `${module}.py`), 'utf8');
  const names = [...source.matchAll(/^ {4}(?:async )?def (test_\w+)/gm)].map(([, name = '']) => name);
  it.each(names)('%s', (name) => {
    expect(Object.fromEntries(outcomes)).toHaveProperty(name);
    expect(outcomes.get(name)).toBeNull();
  });
  it(`says of nothing but its ${names.length} tests that it failed`, () => {
    expect([...outcomes.keys()].toSorted()).toEqual(names.toSorted());
  });
}
