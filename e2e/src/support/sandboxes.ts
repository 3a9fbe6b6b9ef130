import { findCondition, sandboxClaims, sandboxWarmPools, sandboxes } from '@sandlot/api-types';
import type { Condition, Sandbox, SandboxClaim, SandboxWarmPool } from '@sandlot/api-types';
import { eventually } from './team.ts';
import type { Team } from './team.ts';

export function findReadyCondition(object: Sandbox | SandboxClaim): Condition | undefined {
  return findCondition(object.status?.conditions, 'Ready');
}

/** Waits until a claim is Ready. */
export function waitForReadyClaim(team: Team, name: string): Promise<SandboxClaim> {
  return eventually(`claim ${name} is Ready`, async () => {
    const claim = await team.client.get(sandboxClaims, { namespace: team.namespace, name });
    return findReadyCondition(claim)?.status === 'True' ? claim : undefined;
  });
}

/** Waits until the Ready condition of a claim has this reason. */
export function waitForClaimReason(team: Team, name: string, reason: string): Promise<SandboxClaim> {
  return eventually(`claim ${name} reports ${reason}`, async () => {
    const claim = await team.client.get(sandboxClaims, { namespace: team.namespace, name });
    return findReadyCondition(claim)?.reason === reason ? claim : undefined;
  });
}

/** Waits until a pool has as many Ready members as replicas. */
export function waitForFullPool(team: Team, name: string): Promise<SandboxWarmPool> {
  return eventually(
    `pool ${name} is full`,
    async () => {
      const pool = await team.client.get(sandboxWarmPools, { namespace: team.namespace, name });
      return pool.status?.readyReplicas === pool.spec.replicas ? pool : undefined;
    },
    180_000,
  );
}

export function readSandboxNamed(team: Team, name: string): Promise<Sandbox> {
  return team.client.get(sandboxes, { namespace: team.namespace, name });
}

/** The name of the Sandbox of a Ready claim. Throws when the claim has none. */
export function getSandboxName(claim: SandboxClaim): string {
  const name = claim.status?.sandbox?.name;
  if (name === undefined) throw new Error(`claim ${claim.metadata.name ?? ''} names no Sandbox`);
  return name;
}
