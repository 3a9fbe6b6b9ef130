import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, mkdtempDisposable, readFile, readdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findAgentSandboxModule } from '@sandlot/local-cluster';
import { readOutcomes } from './outcomes.ts';
import type { Outcomes } from './outcomes.ts';

const run = promisify(execFile);

const COMPILE_LIMIT_MS = 15 * 60_000;
const MAX_OUTPUT = 1 << 28;
/** Folders with tests that use a cluster. */
const PACKAGES = ['test/e2e', 'test/e2e/extensions'];
/** The module may be built with a newer Go than it names; its go.sum has what its tests need. */
const GO_ENV = { GOTOOLCHAIN: 'local', CGO_ENABLED: '0', GOFLAGS: '-mod=mod' };

/** The end-to-end suite of agent-sandbox, compiled. Disposing removes it. */
export interface UpstreamSuite extends AsyncDisposable {
  /** The tests, in the order of the sources. */
  readonly tests: readonly UpstreamTest[];
}

export interface UpstreamTest {
  readonly name: string;
  /** Runs it alone, with these variables beside those of this process. */
  run(env: Readonly<Record<string, string>>): Promise<TestRun>;
}

export interface TestRun {
  /** Of the test, or of each of its parts. */
  readonly outcomes: Outcomes;
  readonly output: string;
}

/** A change of one file of the copy. */
export interface Change {
  /** Path in the module. */
  readonly file: string;
  readonly line: string;
  /** What follows the line. */
  readonly addition: string;
}

/**
 * Copies the Go module of agent-sandbox out of Go's cache, which is read-only, and compiles the tests of its suite, as they come unless
 * there is a change.
 */
export async function compileUpstreamSuite(change?: Change): Promise<UpstreamSuite> {
  const folder = await mkdtempDisposable(join(tmpdir(), 'sandlot-upstream-'));
  const module = join(folder.path, 'module');
  await cp(await findAgentSandboxModule(), module, { recursive: true });
  await makeWritable(module);
  if (change !== undefined) await apply(change, module);
  const tests: UpstreamTest[] = [];
  for (const path of PACKAGES) tests.push(...(await compilePackage(module, path)));
  return { tests, [Symbol.asyncDispose]: () => folder.remove() };
}

async function apply({ file, line, addition }: Change, module: string): Promise<void> {
  const path = join(module, file);
  const text = await readFile(path, 'utf8');
  if (!text.includes(line)) throw new Error(`${file} lacks the line ${line}`);
  await writeFile(path, text.replace(line, `${line}\n${addition}`));
}

async function makeWritable(folder: string): Promise<void> {
  await chmod(folder, 0o755);
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  await Promise.all(
    entries.map((entry) => chmod(join(entry.parentPath, entry.name), entry.isDirectory() ? 0o755 : 0o644)),
  );
}

async function compilePackage(module: string, path: string): Promise<readonly UpstreamTest[]> {
  const cwd = join(module, path);
  const binary = join(module, `${path.replaceAll('/', '-')}.test`);
  const env = { ...process.env, ...GO_ENV };
  await run('go', ['test', '-c', '-o', binary, '.'], { cwd, env, timeout: COMPILE_LIMIT_MS });
  const { stdout } = await run(binary, ['-test.list', '^Test'], { cwd });
  const artifacts = join(module, 'artifacts');
  await mkdir(artifacts, { recursive: true });
  return stdout
    .trim()
    .split('\n')
    .map((name) => ({ name, run: (more) => runTest(name, { binary, cwd, env: { ARTIFACTS: artifacts, ...more } }) }));
}

interface Program {
  readonly binary: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

async function runTest(name: string, { binary, cwd, env }: Program): Promise<TestRun> {
  const args = ['-test.run', `^${name}$`, '-test.v', '-test.timeout', '8m'];
  const options = { cwd, env: { ...process.env, ...env }, maxBuffer: MAX_OUTPUT };
  const ended = await run(binary, args, options).catch((error: unknown) => error as { stdout: string; stderr: string });
  const output = `${ended.stdout}${ended.stderr}`;
  return { outcomes: readOutcomes(name, output), output };
}
