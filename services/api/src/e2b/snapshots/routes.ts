import { z } from 'zod';
import { endpoint, route } from '../../http/route.ts';
import type { Route } from '../../http/route.ts';
import { oneSandbox } from '../operations/shape.ts';
import { snapshotHeaders } from '../request/headers.ts';
import { createSnapshot } from './create-snapshot.ts';
import type { CreateSnapshotDeps } from './create-snapshot.ts';
import { listSnapshots } from './list-snapshots.ts';
import { newSnapshot, snapshotAnswer, snapshotQuery } from './schemas.ts';

export type SnapshotRouteDeps = CreateSnapshotDeps;

/** Snapshots as E2B clients see them; they are deleted as templates are. */
export function buildSnapshotRoutes(deps: SnapshotRouteDeps): readonly Route[] {
  return [
    route(
      {
        ...endpoint(
          'createSnapshot',
          'post /sandboxes/{sandboxID}/snapshots',
          'Saves the memory and the files of a running sandbox, which goes on; sandboxes can then start from it.',
        ),
        ...oneSandbox,
        headers: snapshotHeaders,
        hideHeaders: true,
        body: newSnapshot,
        answers: { 201: { description: 'It is saved.', schema: snapshotAnswer } },
        action: 'snapshot.create',
      },
      (call) => createSnapshot(deps, call),
    ),
    route(
      {
        ...endpoint('listSnapshots', 'get /snapshots', 'Lists the snapshots of the team, page by page.'),
        tag: 'E2B sandboxes',
        query: snapshotQuery,
        answers: {
          200: {
            description: 'A page, newest first.',
            schema: z.array(snapshotAnswer),
            headers: z.object({
              'x-next-token': z.string().optional().meta({ description: 'The next page; absent on the last.' }),
            }),
          },
        },
      },
      async ({ key, query }) => listSnapshots(deps, key, query),
    ),
  ];
}
