import { sandboxTemplates, sandboxWarmPools } from '@sandlot/api-types';
import { isNotFound } from '@sandlot/kube';
import { buildPoolObject, buildTemplateObject, POOL } from './objects.ts';
import { divide } from './places.ts';
import { pause } from './shapes.ts';
import type { Stage } from './stage.ts';

/** Creates a template in each namespace. */
export async function createTemplates({ client, places }: Stage): Promise<void> {
  await Promise.all(places.map((namespace) => client.create(sandboxTemplates, buildTemplateObject(namespace))));
}

/** Creates a pool in each namespace, with its share of so many members. */
export async function createPools({ client, places }: Stage, replicas: number): Promise<void> {
  const pools = [...divide(replicas, places)].map(([namespace, share]) => buildPoolObject(share, namespace));
  await Promise.all(pools.map((pool) => client.create(sandboxWarmPools, pool)));
}

/** Waits until the pool of each namespace has its share of so many Ready members. */
export async function waitUntilFull({ client, places }: Stage, replicas: number): Promise<void> {
  const isFull = async (namespace: string, share: number): Promise<boolean> => {
    try {
      const { status } = await client.get(sandboxWarmPools, { namespace, name: POOL });
      return status !== undefined && (status.readyReplicas ?? 0) === share;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  };
  for (const [namespace, share] of divide(replicas, places)) {
    while (!(await isFull(namespace, share))) await pause(250);
  }
}
