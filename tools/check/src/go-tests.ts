// Checks the Go modules: format, vet, generated code, builds, tests and short fuzzing of the daemon; the same without generated code of
// the data plane of egress and of the image plane; format, vet, builds and tests of the node component and its shim, in the real gVisor; and the tests of the
// programs that enforce NetworkPolicies and provide volumes on the local cluster. Writes a report with vitest's counters, so that `npm test` counts each test.
import { execFile } from 'node:child_process';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { devNull } from 'node:os';
import { dirname, join } from 'node:path';
import { ensureBinaries, ensurePackages } from '@sandlot/local-cluster';
import { endTests, parseEvents, readImportPath, reportOf } from './go-report.ts';
import type { TestEvent } from './go-report.ts';
import { raceOptions } from './race-options.ts';

const MODULE = join(import.meta.dirname, '../../../runtime');
const NODE_MODULE = join(import.meta.dirname, '../../../node');
const EGRESS_MODULE = join(import.meta.dirname, '../../../egress');
const BUILDER_MODULE = join(import.meta.dirname, '../../../builder');
const VOLUMES_MODULE = join(import.meta.dirname, '../../../volumes');
const SHIM_MODULE = join(NODE_MODULE, 'shim');
const POLICY_MODULE = join(import.meta.dirname, '../../local-cluster/go-policy');
const VOLUMES = join(import.meta.dirname, '../../local-cluster/go/volumes');
const CLIENT = join(import.meta.dirname, '../../local-cluster/go-agent-sandbox/client');
const OUTPUT_OPTION = '--outputFile.json=';
const OUTPUT_LIMIT_BYTES = 256 * 2 ** 20;

interface Outcome {
  readonly ok: boolean;
  readonly out: string;
}

/** Runs a command and prints its errors as a whole when it ends. */
function run(command: readonly [string, ...string[]], cwd: string, env: NodeJS.ProcessEnv = {}): Promise<Outcome> {
  const [file, ...args] = command;
  const options = { cwd, env: { ...process.env, GOTOOLCHAIN: 'local', ...env }, maxBuffer: OUTPUT_LIMIT_BYTES };
  return new Promise((resolve) => {
    execFile(file, args, options, (error, out, errors) => {
      process.stderr.write(errors);
      resolve({ ok: error === null, out });
    });
  });
}

/** Passes or fails as a whole. Prints what to do when it fails. */
type Check = () => Promise<boolean>;

/** Runs all checks, also after one that fails. */
async function runInOrder(checks: readonly Check[]): Promise<boolean[]> {
  const outcomes: boolean[] = [];
  for (const check of checks) outcomes.push(await check());
  return outcomes;
}

const staticChecks: readonly Check[] = [
  isFormatted,
  () => isVetted(MODULE),
  () => isVetted(join(MODULE, 'generate')),
  () => isVetted(NODE_MODULE),
  () => isVetted(SHIM_MODULE, ['-trimpath']),
  () => isVetted(EGRESS_MODULE),
  () => isVetted(BUILDER_MODULE),
  () => isVetted(VOLUMES_MODULE),
  () => isVetted(join(MODULE, 'apply')),
  async () => (await run(['go', 'run', '.', '--check'], join(MODULE, 'generate'))).ok,
  () => canBuildFor('amd64', DAEMON),
  () => canBuildFor('arm64', DAEMON),
  () => canBuildFor('amd64', NODE_PACKAGES),
  () => canBuildFor('arm64', NODE_PACKAGES),
  () => canBuildFor('amd64', PROXY),
  () => canBuildFor('arm64', PROXY),
  () => canBuildFor('amd64', IMAGE_PLANE),
  () => canBuildFor('arm64', IMAGE_PLANE),
  () => canBuildFor('amd64', FILE_SERVER),
  () => canBuildFor('arm64', FILE_SERVER),
];

async function isFormatted(): Promise<boolean> {
  const { ok, out } = await run(
    ['gofmt', '-l', '.', NODE_MODULE, EGRESS_MODULE, BUILDER_MODULE, VOLUMES_MODULE, POLICY_MODULE, VOLUMES, CLIENT],
    MODULE,
  );
  if (out !== '') console.log(`run gofmt -w on:\n${out}`);
  return ok && out === '';
}

async function isVetted(folder: string, options: readonly string[] = []): Promise<boolean> {
  return (await run(['go', 'vet', ...options, './...'], folder, { CGO_ENABLED: '0' })).ok;
}

interface Build {
  readonly module: string;
  readonly options: readonly string[];
}

const DAEMON: Build = { module: MODULE, options: ['-o', devNull, './cmd/sandlot-runtime'] };
const NODE_PACKAGES: Build = { module: NODE_MODULE, options: ['./...'] };
const PROXY: Build = { module: EGRESS_MODULE, options: ['-o', devNull, './cmd/sandlot-egress'] };

const IMAGE_PLANE: Build = { module: BUILDER_MODULE, options: ['-o', devNull, './cmd/sandlot-image'] };

const FILE_SERVER: Build = { module: VOLUMES_MODULE, options: ['-o', devNull, './cmd/sandlot-volumes'] };

/** Nodes have both architectures, so what runs there must build for both on any machine. */
async function canBuildFor(GOARCH: string, { module, options }: Build): Promise<boolean> {
  const env = { CGO_ENABLED: '0', GOOS: 'linux', GOARCH };
  return (await run(['go', 'build', '-trimpath', ...options], module, env)).ok;
}

/** Inputs that the fuzzer generates for each target. The tests run its seeds. */
const FUZZ_INPUTS = '2000x';

interface FuzzTarget {
  readonly module: string;
  /** Relative to the module. */
  readonly folder: string;
  readonly name: string;
}

/** Reads the targets from the sources: `go test -list` would link every test again. */
function listFuzzTargets(module: string): FuzzTarget[] {
  return globSync('**/*_test.go', { cwd: module }).flatMap((file) => {
    const found = readFileSync(join(module, file), 'utf8').matchAll(/^func (Fuzz\w+)\(/gm);
    return [...found].map(([, name = '']) => ({ module, folder: `./${dirname(file)}`, name }));
  });
}

/** Fuzzes the target. Go prints an input that fails and keeps it below `testdata`. */
async function withstandsFuzzing({ module, folder, name }: FuzzTarget): Promise<boolean> {
  const options = ['-run', '^$', '-fuzz', `^${name}$`, '-fuzztime', FUZZ_INPUTS];
  const { ok, out } = await run(['go', 'test', ...options, folder], module);
  if (!ok) console.log(`${folder} ${name}:\n${out}`);
  return ok;
}

const events: TestEvent[] = [];

async function passesTests(module: string, options: readonly string[], env: NodeJS.ProcessEnv): Promise<boolean> {
  const { ok, out } = await run(['go', 'test', '-count=1', '-json', ...options, './...'], module, env);
  events.push(...parseEvents(out));
  return ok;
}

// The tests build bare images from the first, networks of sandboxes with the second, and have containerd restarted by the third.
await ensurePackages(['busybox-static', 'iproute2', 'systemd']);
const NODE_PROGRAMS = ['containerd-shim-runsc-v1', 'sandlot-node', 'sandlot-node-installer'] as const;
const binaries = await ensureBinaries(['runsc', 'containerd', ...NODE_PROGRAMS]);
const race = raceOptions();
const gvisor = { ...race.env, SANDLOT_RUNSC: binaries('runsc'), SANDLOT_CONTAINERD: binaries('containerd') };
const shim = {
  ...gvisor,
  CGO_ENABLED: '0',
  SANDLOT_SHIM: binaries('containerd-shim-runsc-v1'),
  SANDLOT_AGENT: binaries('sandlot-node'),
  SANDLOT_INSTALLER: binaries('sandlot-node-installer'),
};
// Two lanes run side by side, each in its order: the tests of nodes wait for real processes most of the time, so one lane leaves half
// of the machine idle. A third one makes bounded waits fail.
const lanes: readonly (readonly Check[])[] = [
  [() => passesTests(MODULE, race.args, gvisor), () => passesTests(NODE_MODULE, race.args, gvisor)],
  [
    // The same flags as of the programs' builds, so that the build cache serves both.
    () => passesTests(SHIM_MODULE, ['-trimpath'], shim),
    () => passesTests(EGRESS_MODULE, race.args, race.env),
    () => passesTests(BUILDER_MODULE, race.args, race.env),
    () => passesTests(POLICY_MODULE, ['-trimpath'], { CGO_ENABLED: '0' }),
    () => passesTests(VOLUMES, ['-trimpath'], { CGO_ENABLED: '0' }),
  ],
];
const fuzzing: readonly Check[] = [MODULE, EGRESS_MODULE, BUILDER_MODULE]
  .flatMap(listFuzzTargets)
  .map((target) => () => withstandsFuzzing(target));
// Compiling and fuzzing would take both cores from tests with bounded waits, so they come afterwards.
const tested = (await Promise.all(lanes.map(runInOrder))).flat();
const [sound, withstood] = await Promise.all([runInOrder(staticChecks), runInOrder(fuzzing)]);

const ended = endTests(events);
const failedTests = new Set(ended.filter(({ Action }) => Action === 'fail').map((e) => `${e.Package} ${e.Test ?? ''}`));
for (const event of ended) {
  const failed = failedTests.has(`${event.Package} ${event.Test ?? ''}`);
  if (failed && event.Output !== undefined) process.stdout.write(event.Output);
}

const fuzzed = withstood.filter(Boolean).length;
const folders = [MODULE, NODE_MODULE, EGRESS_MODULE, BUILDER_MODULE, SHIM_MODULE, POLICY_MODULE, VOLUMES];
const tests = reportOf(ended, Object.fromEntries(folders.map((folder) => [readImportPath(folder), folder])));
const report = {
  ...tests,
  numPassedTests: tests.numPassedTests + fuzzed,
  numFailedTests: tests.numFailedTests + fuzzing.length - fuzzed,
};
const target = process.argv.find((argument) => argument.startsWith(OUTPUT_OPTION))?.slice(OUTPUT_OPTION.length);
if (target !== undefined) writeFileSync(target, JSON.stringify(report));
console.log(`go: ${report.numPassedTests} passed, ${report.numFailedTests} failed`);
const isSound = [...tested, ...sound, ...withstood].every(Boolean) && tests.numPassedTests > 0 && fuzzed > 0;
process.exitCode = isSound ? 0 : 1;
