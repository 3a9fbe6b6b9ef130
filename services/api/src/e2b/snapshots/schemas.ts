// What E2B clients send and receive about snapshots (docs/reference/e2b-api.md#snapshots).
import { z } from 'zod';
import { listQuery } from '../request/schemas.ts';

export const newSnapshot = z
  .object({
    name: z.string().max(512).nullish().meta({ description: 'Name, with ":<tag>" behind if it has one.' }),
    memory: z.boolean().nullish().meta({ description: 'False asks for the files alone, which is refused.' }),
  })
  .meta({ id: 'NewSnapshot' });

export const snapshotAnswer = z
  .object({
    snapshotID: z.string().meta({ description: 'Creates take it as `templateID`.' }),
    names: z.array(z.string()),
  })
  .meta({ id: 'Snapshot' });

export const snapshotQuery = listQuery.pick({ limit: true, nextToken: true }).extend({
  sandboxID: z.string().max(253).optional().meta({ description: 'Of this sandbox, which may be gone.' }),
  name: z.string().max(512).optional().meta({ description: 'A name, with any tag unless one is given.' }),
});
export type SnapshotQuery = z.output<typeof snapshotQuery>;
