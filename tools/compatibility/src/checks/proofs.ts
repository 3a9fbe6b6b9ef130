import { hasTest } from '@sandlot/check/named-tests';
import { getRow } from '../model.ts';
import type { Page } from '../model.ts';
import type { Read } from './read.ts';

/** Tests that do not exist, and items that a table has twice. */
export function findProofProblems(pages: readonly Page[], read: Read): readonly string[] {
  return pages.flatMap(({ file, tables }) =>
    tables.flatMap(({ title, items }) => {
      const rows = items.map(getRow);
      const names = rows.map(({ name }) => name);
      const repeated = names.filter((name, index) => names.indexOf(name) !== index);
      return [
        ...repeated.map((name) => `${file}, ${title}: ${name} is there twice`),
        ...rows.flatMap(({ name, proof }) => {
          if (proof === undefined) return [];
          const [path, test] = proof;
          return hasTest(read(path) ?? '', test)
            ? []
            : [`${file}, ${title}: ${name} names the test "${test}", which ${path} does not have`];
        }),
      ];
    }),
  );
}
