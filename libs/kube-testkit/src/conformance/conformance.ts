import { applyCases } from './apply.ts';
import { builtinCases } from './builtins.ts';
import type { ConformanceCase } from './context.ts';
import { deletionCases } from './deletions.ts';
import { listCases } from './lists.ts';
import { objectCases } from './objects.ts';
import { patchCases } from './patches.ts';
import { subresourceCases } from './subresources.ts';
import { watchCases } from './watches.ts';

/** Cases by subject that the fake and a real API server must pass. A case that fails only on one is a bug in the fake. */
export const conformanceCases: Readonly<Record<string, readonly ConformanceCase[]>> = {
  objects: objectCases,
  patches: patchCases,
  subresources: subresourceCases,
  'server-side apply': applyCases,
  lists: listCases,
  watches: watchCases,
  deletion: deletionCases,
  'built-in kinds': builtinCases,
};
