// The bodies of requests that the Agent API takes, and nothing beside them.
import { z } from 'zod';

export const saveBody = z.strictObject({
  source: z.strictObject({
    sandboxName: z.string(),
    sandboxUid: z.string(),
    podName: z.string(),
    podUid: z.string(),
  }),
  mode: z.enum(['Hibernate', 'Snapshot']),
  holdSeconds: z.int().min(1).optional(),
  contents: z.literal('Files').optional(),
  files: z.boolean().optional(),
  mostBytes: z.int().min(0).optional(),
});
export const copyBody = z.strictObject({ from: z.string().min(1) });
export const uploadBody = z.strictObject({});
export const downloadBody = z.strictObject({ digest: z.string().min(1) });
export const holdBody = z.strictObject({ action: z.literal('release') });
export const restoreBody = z.strictObject({
  namespace: z.string(),
  podName: z.string(),
  snapshotUid: z.string(),
  only: z.literal('files').optional(),
  spare: z.boolean().optional(),
});

export type SaveBody = z.output<typeof saveBody>;
