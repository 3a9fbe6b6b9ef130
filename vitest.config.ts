import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { BaseSequencer } from 'vitest/node';
import type { TestSpecification } from 'vitest/node';

/** Files that take longest, slowest first. */
const longest = [
  'e2e/bench/claims/harness.integration.test.ts',
  'services/claim-controller/src/claim.integration.test.ts',
  'services/claim-controller/src/lifetime/deadlines.integration.test.ts',
  'services/api/src/openapi/fuzz.integration.test.ts',
  'services/template-builder/src/controller.integration.test.ts',
  'libs/bus/src/bus.integration.test.ts',
  'services/sandbox-controller/src/lifetime/deadlines.integration.test.ts',
  'charts/sandlot/tests/server.test.ts',
  'charts/sandlot/tests/observability.test.ts',
];

/** Starts the longest files first, which would otherwise run alone at the end. Vitest knows durations only of earlier runs. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const found = longest.findIndex((name) => moduleId.endsWith(`/${name}`));
      return found < 0 ? longest.length : found;
    };
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}

/** Tests that stop or measure what other tests use. */
const ALONE = 'e2e/src/**/*.alone.test.ts';

/** Tests that judge what all the others did. */
const LAST = 'e2e/src/**/*.last.test.ts';

/** Tests that take minutes and prove what an operator does once in a while: `npm run operations`. */
const LONG = 'e2e/src/**/*.long.test.ts';

/** The first project that runs raises the cluster, for all of them. */
const endToEnd = {
  globalSetup: ['e2e/src/setup.ts'],
  testTimeout: 240_000,
  hookTimeout: 1_200_000,
};

/**
 * Projects from fast to real: `unit` starts no process, `integration` starts control planes, NATS and Redis, `chart` runs
 * helm, `e2e`, `e2e-alone`, `e2e-last` and `operations` need the node of the local cluster (they raise one when none is up).
 */
export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          name: 'unit',
          include: ['{libs,services,tools}/**/*.test.ts', 'e2e/{bench,rights}/**/*.test.ts'],
          exclude: ['**/*.integration.test.ts', '**/node_modules/**'],
          // Most files load longer than they run, so the files of a worker share its modules. A test undoes what it changes
          // in its process, such as OpenTelemetry's globals.
          isolate: false,
          // A harness with a fake clock leaves its core idle while requests are under way.
          maxWorkers: availableParallelism() + 1,
          // A property test shares two cores with other work; its time says nothing about its subject.
          testTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'integration',
          include: ['{libs,services,tools}/**/*.integration.test.ts', 'e2e/{bench,rights}/**/*.integration.test.ts'],
          globalSetup: ['tools/local-cluster/src/test-servers/prepare.ts'],
          testTimeout: 120_000,
          hookTimeout: 600_000,
          // Tests wait more than they compute.
          maxWorkers: availableParallelism() + 2,
          // Concurrent tests wait for deadlines most of the time.
          maxConcurrency: 25,
        },
      },
      {
        test: {
          name: 'chart',
          include: ['charts/**/*.test.ts'],
          globalSetup: ['tools/local-cluster/src/test-servers/prepare.ts', 'charts/sandlot/tests/setup.ts'],
          testTimeout: 120_000,
          hookTimeout: 600_000,
          maxWorkers: availableParallelism() + 1,
        },
      },
      {
        test: {
          ...endToEnd,
          name: 'e2e',
          include: ['e2e/src/**/*.test.ts'],
          exclude: [ALONE, LAST, LONG, '**/node_modules/**'],
          // These files wait most of the time; each has its own namespaces.
          maxWorkers: 3,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...endToEnd,
          name: 'e2e-alone',
          include: [ALONE],
          fileParallelism: false,
          // After the files above: these stop what all of them use.
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: { ...endToEnd, name: 'operations', include: [LONG], fileParallelism: false },
      },
      {
        test: {
          ...endToEnd,
          name: 'e2e-last',
          include: [LAST],
          sequence: { groupOrder: 3 },
        },
      },
    ],
    coverage: {
      provider: 'v8',
      include: ['libs/kube/src/**', 'services/*/src/**/decide*.ts'],
      exclude: ['**/*.test.ts'],
    },
  },
});
