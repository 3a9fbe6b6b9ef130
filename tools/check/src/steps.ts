/** One check of `npm test`: a command that must succeed and, for test suites, a report whose tests are counted. */
export interface Step {
  readonly name: string;
  readonly what: string;
  readonly command: readonly [string, ...string[]];
  /** The step is stopped and counted as failed after this long. Limits only end what hangs. */
  readonly timeoutMs: number;
  /**
   * Steps with a lane run beside their neighbours that have one. Those of `back` run at the lowest priority, two at a time, and take
   * what those of `front`, one after the other, leave of the machine. A step without a lane runs alone.
   */
  readonly lane?: 'front' | 'back';
  /** A step of the front lane that ends before this one begins. */
  readonly needs?: string;
  /** Set when the command writes a report in vitest's format: each of its tests is counted. */
  readonly project?: string;
  /** Whether failed files may run once more: real servers share the machine with whatever else runs on it. */
  readonly mayRerun?: boolean;
}

const MINUTE_MS = 60_000;

function check(name: string, what: string, command: readonly [string, ...string[]]): Step {
  return { name, what, command, timeoutMs: 20 * MINUTE_MS, lane: 'back' };
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

/**
 * What waits for processes most of the time is in front, and what computes is behind it. Of this lint takes longest, so it begins
 * first. The suites that keep the whole machine busy follow alone.
 */
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
  { ...buildTestStep('unit', 'decisions, libraries, in-process API server', 20), lane: 'back' },
  { ...buildTestStep('chart', 'helm lint, renders, schema, RBAC', 30), lane: 'back', needs: 'programs' },
  {
    name: 'programs',
    what: 'compile what the tests start, unless the cache has it',
    command: ['node', 'tools/check/src/programs.ts'],
    timeoutMs: 40 * MINUTE_MS,
    lane: 'front',
  },
  {
    name: 'runtime',
    what: 'the daemon and the node component in Go: format, vet, generated code, real processes',
    command: ['node', 'tools/check/src/go-tests.ts'],
    // On a machine without Go's build cache the builds with the race detector take minutes.
    timeoutMs: 25 * MINUTE_MS,
    project: 'runtime',
    lane: 'front',
  },
  { ...buildTestStep('integration', 'real kube-apiserver, etcd, NATS and Redis', 25), mayRerun: true },
  endToEnd,
];
