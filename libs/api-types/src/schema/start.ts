import { z } from 'zod';
import { objectName } from './field.ts';

/** What a Sandbox starts from in place of a boot; part of the blueprint (docs/reference/sandbox.md#start-from-a-snapshot). */
export const restoreFrom = z.object({
  snapshotName: objectName.describe('The SandboxSnapshot, in the same namespace.'),
  onFailure: z
    .enum(['Fail', 'Boot'])
    .default('Fail')
    .describe('What follows if it cannot be restored: no Pod, or an ordinary boot without the memory.'),
});

/** A snapshot from which the members of pools start (docs/reference/sandbox-template.md#golden-snapshot). */
export const golden = z.object({
  snapshotClassName: objectName
    .optional()
    .describe('SandboxSnapshotClass of the save; the default one of the cluster when unset.'),
});
