/** A reader takes in about this many names at a glance. */
const MOST_FILES = 20;

/** A README of one screen, with room for a table. */
const MOST_README_LINES = 80;

/** What a reader of a service opens first, in this order. */
const SERVICE_TOP: ReadonlySet<string> = new Set([
  'main.ts',
  'controller.ts',
  'server.ts',
  'reconcile.ts',
  'observe.ts',
  'decide.ts',
  'apply.ts',
]);

const SOURCE = /\.(ts|go)$/;
const TEST = /(\.test\.ts|_test\.go)$/;
const GENERATED = /(^|\/)(generated|gen)\/|\.(pb|connect)\.go$/;
/** Places where test support used to hide. */
const MISPLACED_TEST_SUPPORT = /\/src\/(.*\/)?(testkit\/|testing\.ts$|[^/]+\.fixture\.ts$)/;
const PACKAGE = /^(libs|services|tools)\/[^/]+\/package\.json$/;

/**
 * Problems in the layout of a repository, a line each that names the place and the remedy. `files` are paths relative to the
 * root; `linesOf` counts the lines of one of them.
 */
export function findStructureProblems(files: readonly string[], linesOf: (file: string) => number): string[] {
  const sources = files.filter((file) => SOURCE.test(file) && !TEST.test(file) && !GENERATED.test(file));
  return [
    ...findFullFolders(sources),
    ...findStrayTopFiles(sources),
    ...findMisplacedTestSupport(sources),
    ...findMissingReadmes(files, linesOf),
  ];
}

function findFullFolders(sources: readonly string[]): string[] {
  const folders = Map.groupBy(sources, (file) => file.slice(0, file.lastIndexOf('/')));
  return [...folders]
    .filter(([, { length }]) => length > MOST_FILES)
    .map(([folder, { length }]) => `${folder}: ${length} source files, at most ${MOST_FILES}; split it by concept`);
}

function findStrayTopFiles(sources: readonly string[]): string[] {
  return sources.flatMap((file) => {
    const [, name] = /^services\/[^/]+\/src\/([^/]+)$/.exec(file) ?? [];
    if (name === undefined || SERVICE_TOP.has(name)) return [];
    return [`${file}: the top of a service holds ${[...SERVICE_TOP].join(', ')} only; move it into a folder`];
  });
}

function findMisplacedTestSupport(sources: readonly string[]): string[] {
  return sources
    .filter((file) => MISPLACED_TEST_SUPPORT.test(file))
    .map((file) => `${file}: test support belongs into test/ beside src/, or into a testkit package`);
}

function findMissingReadmes(files: readonly string[], linesOf: (file: string) => number): string[] {
  const present = new Set(files);
  const readmes = files.filter((file) => PACKAGE.test(file)).map((file) => file.replace('package.json', 'README.md'));
  return readmes.flatMap((readme) => {
    if (!present.has(readme))
      return [`${readme}: missing; say what the package decides, owns, and the way through its files`];
    const lines = linesOf(readme);
    return lines > MOST_README_LINES
      ? [`${readme}: ${lines} lines, at most ${MOST_README_LINES}; move detail to docs/`]
      : [];
  });
}
