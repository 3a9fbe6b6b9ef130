import { sandboxClaims, sandboxTemplates, sandboxWarmPools, sandboxes } from '@sandlot/api-types';
import { isAlreadyExists, isConflict, isNotFound } from '@sandlot/kube';
import type { KubeClient, KubeObject, Resource } from '@sandlot/kube';
import type { Found, Prepared, ShadowPool } from './prepared.ts';

const resources: Readonly<Record<keyof Found, Resource<KubeObject>>> = {
  SandboxTemplate: sandboxTemplates,
  SandboxWarmPool: sandboxWarmPools,
  Sandbox: sandboxes,
  SandboxClaim: sandboxClaims,
};

/** Reads the objects of the kinds that both projects have. Rejects with a KubeError. */
export async function readOwn(client: KubeClient, namespace: string | undefined): Promise<Found> {
  const where = namespace === undefined ? {} : { namespace };
  const [templates, pools, boxes, claims] = await Promise.all([
    client.listAll(sandboxTemplates, where),
    client.listAll(sandboxWarmPools, where),
    client.listAll(sandboxes, where),
    client.listAll(sandboxClaims, where),
  ]);
  return {
    SandboxTemplate: templates.items,
    SandboxWarmPool: pools.items,
    Sandbox: boxes.items,
    SandboxClaim: claims.items,
  };
}

export interface Applied {
  /** One for each object that was changed or missed. */
  readonly lines: readonly string[];
  /** How many objects were edited between the read and the write, and were left as they are. */
  readonly missed: number;
}

/** Makes the pools first, then patches. An edit that comes first wins. Rejects with a KubeError. */
export async function applyAll(client: KubeClient, prepared: readonly Prepared[]): Promise<Applied> {
  const lines: string[] = [];
  let missed = 0;
  for (const { from, target, patch, pool } of prepared) {
    if (pool !== undefined) lines.push(await createPool(client, pool));
    if (patch === undefined) continue;
    const outcome = await client.mergePatch(resources[target.kind], target, patch).then(
      () => 'changed',
      (error: unknown) => {
        if (isNotFound(error)) return 'is gone';
        if (!isConflict(error)) throw error;
        missed += 1;
        return 'was edited meanwhile, and was left as it is';
      },
    );
    lines.push(`${from}: ${outcome}`);
  }
  return { lines, missed };
}

async function createPool(client: KubeClient, { namespace, name, template }: ShadowPool): Promise<string> {
  const spec = { replicas: 0, sandboxTemplateRef: { name: template } };
  const outcome = await client.create(sandboxWarmPools, { metadata: { namespace, name }, spec }).then(
    () => 'created, without members',
    (error: unknown) => {
      if (isAlreadyExists(error)) return 'exists';
      throw error;
    },
  );
  return `SandboxWarmPool ${namespace}/${name}: ${outcome}`;
}
