import { sandboxWarmPools } from '@sandlot/api-types';
import { isNotFound } from '@sandlot/kube';
import { POOL } from './objects.ts';
import { pause } from './shapes.ts';
import { NAMESPACE } from './stage.ts';
import type { Stage } from './stage.ts';

/** Waits until the pool has that many Ready members. */
export async function waitUntilFull({ client }: Stage, replicas: number): Promise<void> {
  const isFull = async (): Promise<boolean> => {
    try {
      const { status } = await client.get(sandboxWarmPools, { namespace: NAMESPACE, name: POOL });
      return status !== undefined && (status.readyReplicas ?? 0) === replicas;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  };
  while (!(await isFull())) await pause(250);
}
