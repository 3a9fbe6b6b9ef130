import { hasTest } from '../named-tests.ts';

/** A link in the threat model whose text is the name of a test in quotes. */
const TEST_LINK = /\["(?<name>[^"\]]+)"\]\((?<path>[^)]+)\)/g;

/**
 * The tests that the page names and that do not exist, one text each. `read` returns the text of a file, whose path is relative
 * to the page; undefined if there is none.
 */
export function findMissingTests(page: string, read: (path: string) => string | undefined): string[] {
  const links = [...page.matchAll(TEST_LINK)].map(({ groups }) => ({
    name: groups?.['name'] ?? '',
    path: groups?.['path'] ?? '',
  }));
  if (links.length === 0) return ['the threat model names no test'];
  return links
    .filter(({ name, path }) => !hasTest(read(path) ?? '', name))
    .map(({ name, path }) => `the threat model names the test "${name}", which ${path} does not have`);
}
