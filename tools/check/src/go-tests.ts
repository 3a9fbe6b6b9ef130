// Checks the Go modules: format, vet, generated code, builds, tests and short fuzzing of the daemon, and the tests of the
// program that enforces NetworkPolicies on the local cluster. Writes a report with vitest's counters, so that `npm test` counts each test.
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { devNull } from 'node:os';
import { join } from 'node:path';
import { ensurePackages } from '@sandlot/local-cluster';

const MODULE = join(import.meta.dirname, '../../../runtime');
const POLICY_MODULE = join(import.meta.dirname, '../../local-cluster/go-policy');
const OUTPUT_OPTION = '--outputFile.json=';
const OUTPUT_LIMIT_BYTES = 256 * 2 ** 20;

interface Outcome {
  readonly ok: boolean;
  readonly out: string;
}

function run(command: readonly [string, ...string[]], cwd: string, env: NodeJS.ProcessEnv = {}): Outcome {
  const [file, ...args] = command;
  const { status, stdout } = spawnSync(file, args, {
    cwd,
    env: { ...process.env, GOTOOLCHAIN: 'local', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
    encoding: 'utf8',
    maxBuffer: OUTPUT_LIMIT_BYTES,
  });
  return { ok: status === 0, out: stdout };
}

/** Checks that pass or fail as a whole. Each prints what to do when it fails. */
function staticChecks(): boolean {
  const unformatted = run(['gofmt', '-l', '.', POLICY_MODULE], MODULE);
  if (unformatted.out !== '') console.log(`run gofmt -w on:\n${unformatted.out}`);
  const vetted = ['.', 'generate'].map((folder) => run(['go', 'vet', './...'], join(MODULE, folder)).ok);
  const generated = run(['go', 'run', '.', '--check'], join(MODULE, 'generate'));
  const elsewhere = ['amd64', 'arm64'].map((GOARCH) => canBuildFor(GOARCH));
  return elsewhere.every(Boolean) && unformatted.ok && unformatted.out === '' && vetted.every(Boolean) && generated.ok;
}

/** The daemon runs on nodes of both architectures, so it must build for both on any machine. */
function canBuildFor(GOARCH: string): boolean {
  const env = { CGO_ENABLED: '0', GOOS: 'linux', GOARCH };
  return run(['go', 'build', '-trimpath', '-o', devNull, './cmd/sandlot-runtime'], MODULE, env).ok;
}

/** Inputs that the fuzzer generates for each target. The tests run its seeds. */
const FUZZ_INPUTS = '2000x';

/** Fuzzes each target. Go prints an input that fails and keeps it below `testdata`. */
function fuzzTargets(): readonly boolean[] {
  const listed = run(['go', 'test', '-list', '^Fuzz', './...'], MODULE);
  const outcomes: boolean[] = [];
  let names: string[] = [];
  for (const line of listed.out.split('\n')) {
    if (line.startsWith('Fuzz')) names.push(line);
    const [, folder] = /^ok\s+(\S+)/.exec(line) ?? [];
    if (folder === undefined) continue;
    outcomes.push(...names.map((name) => fuzzTarget(folder, name)));
    names = [];
  }
  return outcomes;
}

function fuzzTarget(folder: string, name: string): boolean {
  const options = ['-run', '^$', '-fuzz', `^${name}$`, '-fuzztime', FUZZ_INPUTS];
  const { ok, out } = run(['go', 'test', ...options, folder], MODULE);
  if (!ok) console.log(`${folder} ${name}:\n${out}`);
  return ok;
}

interface TestEvent {
  readonly Action: string;
  readonly Package?: string;
  readonly Test?: string;
  readonly Output?: string;
}

function parse(lines: string): TestEvent[] {
  return lines
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as TestEvent);
}

/** Enables the race detector where a C compiler can build it. */
function raceOptions(): { args: string[]; env: NodeJS.ProcessEnv } {
  const compiler = spawnSync('cc', ['--version'], { stdio: 'ignore' }).status === 0;
  return compiler ? { args: ['-race'], env: { CGO_ENABLED: '1' } } : { args: [], env: { CGO_ENABLED: '0' } };
}

// The tests build a bare image for the daemon from it.
await ensurePackages(['busybox-static']);
const race = raceOptions();
const tests = run(['go', 'test', '-count=1', '-json', ...race.args, './...'], MODULE, race.env);
// The same flags as the program's build, so that the build cache serves both.
const policyTests = run(['go', 'test', '-count=1', '-json', '-trimpath', './...'], POLICY_MODULE, { CGO_ENABLED: '0' });
const events = [...parse(tests.out), ...parse(policyTests.out)];
const failedTests = new Set(
  events.filter(({ Action }) => Action === 'fail').map((e) => `${e.Package} ${e.Test ?? ''}`),
);
for (const event of events) {
  const failed = failedTests.has(`${event.Package} ${event.Test ?? ''}`);
  if (failed && event.Output !== undefined) process.stdout.write(event.Output);
}

const count = (action: string): number =>
  events.filter(({ Action, Test }) => Action === action && Test !== undefined).length;
const sound = staticChecks();
const fuzzOutcomes = fuzzTargets();
const withstood = fuzzOutcomes.filter(Boolean).length;
const report = {
  numPassedTests: count('pass') + withstood,
  numFailedTests: count('fail') + fuzzOutcomes.length - withstood,
  numPendingTests: count('skip'),
};
const target = process.argv.find((argument) => argument.startsWith(OUTPUT_OPTION))?.slice(OUTPUT_OPTION.length);
if (target !== undefined) writeFileSync(target, JSON.stringify(report));
console.log(`go: ${report.numPassedTests} passed, ${report.numFailedTests} failed`);
const isSound = tests.ok && policyTests.ok && sound && withstood === fuzzOutcomes.length;
process.exitCode = isSound && report.numPassedTests > 0 ? 0 : 1;
