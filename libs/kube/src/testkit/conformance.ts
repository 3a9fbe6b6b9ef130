import { applyCases } from './conformance/apply.ts';
import { builtinCases } from './conformance/builtins.ts';
import type { ConformanceCase } from './conformance/context.ts';
import { deletionCases } from './conformance/deletions.ts';
import { listCases } from './conformance/lists.ts';
import { objectCases } from './conformance/objects.ts';
import { patchCases } from './conformance/patches.ts';
import { subresourceCases } from './conformance/subresources.ts';
import { watchCases } from './conformance/watches.ts';

/** What both the fake and a real API server must do, by subject. A case that fails on one of them only is a bug in the fake. */
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
