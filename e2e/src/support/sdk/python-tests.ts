import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ensurePython } from '@sandlot/local-cluster';
import { readEnv } from '@sandlot/up';
import { beforeAll, expect, it } from 'vitest';
import { z } from 'zod';

const run = promisify(execFile);
const folder = join(import.meta.dirname, '../../sdk/python');
const outcome = z.object({ name: z.string(), error: z.string().nullable() });

/** The path of a Python with the stock clients at the versions of a requirements file. */
export async function preparePython(requirements = 'requirements.txt'): Promise<string> {
  return join(await ensurePython(join(folder, requirements)), 'python');
}

/** Declares each test of a module of `python/` as a test of ours, with the variables of `.sandlot/env` and `more`. */
export function registerPythonTests(
  module: string,
  more: () => Promise<Readonly<Record<string, string>>> = async () => ({}),
  requirements?: string,
): void {
  const outcomes = new Map<string, string | null>();
  beforeAll(async () => {
    const python = await preparePython(requirements);
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
  it(`reports exactly its ${names.length} tests`, () => {
    expect([...outcomes.keys()].toSorted()).toEqual(names.toSorted());
  });
}
