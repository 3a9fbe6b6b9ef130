import { posix } from 'node:path';
import { getAnchors, listLinks } from './citations-markdown.ts';

/** The checkout as far as the rules need it; all paths are relative to its root. */
export interface Checkout {
  /** Text of each file that may cite or link. */
  readonly texts: ReadonlyMap<string, string>;
  /** Whether a file or folder exists. */
  readonly exists: (path: string) => boolean;
}

/** One broken reference. */
export interface Finding {
  readonly path: string;
  readonly line: number;
  readonly problem: string;
}

/** A page below `docs/` at the root: not that of a package's own folder, and URLs of this repository only. */
const CITATION = /(?:(?<![\w./${}-])|(?<=\/sandlot\/blob\/main\/))docs\/[\w./-]+\.md(?:#[\w-]+)?/g;

/** Every citation of a page below `docs/`, in code and prose, that names a missing file or heading. */
export function listBrokenCitations(checkout: Checkout): readonly Finding[] {
  return visitTexts(checkout, (text, path) =>
    matches(text, CITATION).flatMap(({ found, line }) => {
      const problem = findProblem(checkout, found);
      return problem === undefined ? [] : [{ path, line, problem: `${found}: ${problem}` }];
    }),
  );
}

/** Every relative link of a Markdown file that leads to no file, no folder or no heading. */
export function listBrokenLinks(checkout: Checkout): readonly Finding[] {
  return visitTexts(checkout, (text, path) => {
    if (!path.endsWith('.md')) return [];
    return listLinks(text).flatMap(({ target, line }) => {
      const problem = isExternal(target) ? undefined : findProblem(checkout, resolveLink(path, target));
      return problem === undefined ? [] : [{ path, line, problem: `${target}: ${problem}` }];
    });
  });
}

/** Also across the lines of a comment. */
const OUTSIDE_CONTRACT = /\b(?:API|E2B)(?:\s|\/\/|[*#])+(?:wire(?:\s|\/\/|[*#])+)?contract\b/g;

/** Every mention of a contract outside of this repository, which a reader cannot open. */
export function listOutsideContracts(checkout: Checkout): readonly Finding[] {
  return visitTexts(checkout, (text, path) =>
    matches(text, OUTSIDE_CONTRACT).map(({ line }) => ({
      path,
      line,
      problem: 'cites a contract that is not in the repository; cite a section of docs/reference/',
    })),
  );
}

function visitTexts(
  { texts }: Checkout,
  findingsOf: (text: string, path: string) => readonly Finding[],
): readonly Finding[] {
  return [...texts].flatMap(([path, text]) => findingsOf(text, path));
}

function matches(text: string, pattern: RegExp): readonly { readonly found: string; readonly line: number }[] {
  return [...text.matchAll(pattern)].map(({ 0: found, index }) => ({
    found,
    line: text.slice(0, index).split('\n').length,
  }));
}

function isExternal(target: string): boolean {
  return /^[a-z][a-z0-9+.-]*:/i.test(target) || target.startsWith('//');
}

/** A link as a path from the root of the checkout, its anchor kept. */
function resolveLink(from: string, target: string): string {
  const [path = '', anchor] = target.split('#');
  const file = path === '' ? from : posix.join(path.startsWith('/') ? '.' : posix.dirname(from), decodeURI(path));
  return anchor === undefined ? file : `${file}#${anchor}`;
}

function findProblem({ texts, exists }: Checkout, reference: string): string | undefined {
  const [path = '', anchor] = reference.split('#');
  if (!exists(path)) return 'no such file';
  if (anchor === undefined || !path.endsWith('.md')) return undefined;
  return getAnchors(texts.get(path) ?? '').has(anchor) ? undefined : 'no such heading';
}
