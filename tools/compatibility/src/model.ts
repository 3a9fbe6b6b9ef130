import type { SourceName } from './sources.ts';

/** What Sandlot does with an item of another project; docs/reference/compatibility.md explains the words. */
export type State = 'yes' | 'partly' | 'refused' | 'no';

/** The test that shows the state: its file from the root of the repository, and its name as the file has it. */
export type Proof = readonly [file: string, test: string];

/**
 * One item. What works needs a test, what works differently a sentence about the difference as well. What is missing has a
 * sentence about what happens instead, and may have the test of that. `untested` says that an item may work, and that no test
 * shows it.
 */
export type Item =
  | readonly [name: string, state: 'yes', proof: Proof]
  | readonly [name: string, state: 'partly' | 'refused', proof: Proof, remark: string]
  | readonly [name: string, state: 'no', remark: string, proof?: Proof | 'untested'];

export interface Table {
  readonly title: string;
  /** What an item is: the head of the first column. */
  readonly what: string;
  readonly items: readonly Item[];
}

/** The fields of one kind of agent-sandbox, with the file of its CRD. */
export interface KindFields {
  /** Name of the file without its ending. */
  readonly crd: string;
  readonly table: Table;
  /** Fields that Sandlot adds, with all below them. */
  readonly own: readonly string[];
}

export interface Page {
  /** Name of the file in docs/reference/compatibility. */
  readonly file: string;
  readonly title: string;
  /** What the items come from, in Markdown. */
  readonly about: string;
  readonly tables: readonly Table[];
  /** What a check compares the items with. Without any, people compared them. */
  readonly sources: readonly SourceName[];
}

/** The parts of an item by name; remark and proof are absent where the state has none. */
export interface Row {
  readonly name: string;
  readonly state: State;
  readonly proof?: Proof;
  readonly remark?: string;
  readonly isUntested: boolean;
}

export function getRow(item: Item): Row {
  if (item[1] === 'no') return getMissingRow(item);
  const [name, state, proof, remark] = item;
  return { name, state, proof, isUntested: false, ...(remark === undefined ? {} : { remark }) };
}

function getMissingRow([name, state, remark, proof]: Extract<Item, readonly [string, 'no', ...unknown[]]>): Row {
  if (proof === 'untested' || proof === undefined) return { name, state, remark, isUntested: proof === 'untested' };
  return { name, state, remark, proof, isUntested: false };
}

export function listRows(tables: readonly Table[]): readonly Row[] {
  return tables.flatMap(({ items }) => items.map(getRow));
}
