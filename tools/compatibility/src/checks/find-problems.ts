import { pages } from '../pages.ts';
import { findFieldProblems } from './fields.ts';
import { findKruiseProblems } from './kruise.ts';
import { findMethodProblems } from './methods.ts';
import { findMetricProblems } from './metrics.ts';
import { findOperationProblems } from './operations.ts';
import { findProofProblems } from './proofs.ts';
import type { Read } from './read.ts';
import { findWordProblems } from './words.ts';

/** What the tables lack or get wrong, one text each. */
export function findProblems(read: Read): readonly string[] {
  return [
    ...findProofProblems(pages, read),
    ...findFieldProblems(read),
    ...findWordProblems(),
    ...findMetricProblems(read),
    ...findOperationProblems(read),
    ...findKruiseProblems(read),
    ...findMethodProblems(read),
  ];
}
