/** One check of `npm test`: a command that must succeed and, for test suites, a report whose tests are counted. */
export interface Step {
  readonly name: string;
  readonly what: string;
  readonly command: readonly [string, ...string[]];
  /** The step is stopped and counted as failed after this long. Limits only end what hangs. */
  readonly timeoutMs: number;
  /** Whether the step may run beside its neighbours. Suites may not: what they time must not share the machine. */
  readonly mayOverlap?: boolean;
  /** Set when the command writes a report in vitest's format: each of its tests is counted. */
  readonly project?: string;
  /** Whether failed files may run once more: real servers share the machine with whatever else runs on it. */
  readonly mayRerun?: boolean;
}

const MINUTE_MS = 60_000;

function check(name: string, what: string, command: readonly [string, ...string[]]): Step {
  return { name, what, command, timeoutMs: 20 * MINUTE_MS, mayOverlap: true };
}

function buildTestStep(project: string, what: string, timeoutMinutes: number): Step {
  return {
    name: project,
    what,
    command: ['vitest', 'run', '--project', project],
    timeoutMs: timeoutMinutes * MINUTE_MS,
    project,
  };
}

/** All end-to-end projects in one run of vitest, because they share a cluster. */
const endToEnd: Step = {
  ...buildTestStep('e2e', 'the chart on a real node', 45),
  command: ['vitest', 'run', '--project', 'e2e', '--project', 'e2e-alone', '--project', 'e2e-last'],
  mayRerun: true,
};

/** Checks that start nothing come first. Of these lint takes longest: the others run beside it. */
export const steps: readonly Step[] = [
  check('lint', 'ESLint, typed rules', ['npm', 'run', '--silent', 'lint']),
  check('format', 'prettier', ['prettier', '--check', '--log-level', 'warn', '.']),
  check('types', 'TypeScript, strict', ['npm', 'run', '--silent', 'typecheck']),
  check('dead-code', 'unused files, exports and packages', ['knip']),
  check('layers', 'imports point one way', ['npm', 'run', '--silent', 'layers']),
  check('purity', 'decisions reach no effect', ['npm', 'run', '--silent', 'purity']),
  check('structure', 'folders, test support and READMEs have their places', ['npm', 'run', '--silent', 'structure']),
  check('citations', 'citations and links of the documentation lead somewhere', [
    'node',
    'tools/check/src/citations.ts',
  ]),
  check('threats', 'the tests that the threat model names exist', ['node', 'tools/check/src/security/threats.ts']),
  check('supply-chain', 'packages are locked, licensed and run no scripts', [
    'node',
    'tools/check/src/security/supply-chain.ts',
  ]),
  check('generated', 'CRDs, types and tables match their source', [
    'npm',
    'run',
    '--silent',
    'generate',
    '--',
    '--check',
  ]),
  buildTestStep('unit', 'decisions, libraries, in-process API server', 20),
  {
    name: 'programs',
    what: 'compile what the tests start, unless the cache has it',
    command: ['node', 'tools/check/src/programs.ts'],
    timeoutMs: 40 * MINUTE_MS,
  },
  {
    name: 'runtime',
    what: 'the daemon and the node component in Go: format, vet, generated code, real processes',
    command: ['node', 'tools/check/src/go-tests.ts'],
    // On a machine without Go's build cache the builds with the race detector take minutes.
    timeoutMs: 25 * MINUTE_MS,
    project: 'runtime',
  },
  { ...buildTestStep('integration', 'real kube-apiserver, etcd, NATS and Redis', 25), mayRerun: true },
  buildTestStep('chart', 'helm lint, renders, schema, RBAC', 15),
  endToEnd,
];
