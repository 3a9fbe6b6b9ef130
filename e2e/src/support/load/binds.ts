import { setTimeout as sleep } from 'node:timers/promises';
import { sandboxClaims } from '@sandlot/api-types';
import type { Team } from '../team.ts';
import { createWarmClaim } from './claims.ts';

/** How often a claim is looked at whose bind is timed. */
const LOOK_EVERY_MS = 20;

/** Makes a claim from the pool `boxes`, and returns the milliseconds until its status named a Sandbox. Deletes the claim. */
export async function timeBind(team: Team, name: string): Promise<number> {
  const beganMs = performance.now();
  const key = { namespace: team.namespace, name };
  await createWarmClaim(team, name);
  while ((await team.client.get(sandboxClaims, key)).status?.sandbox === undefined) await sleep(LOOK_EVERY_MS);
  const tookMs = performance.now() - beganMs;
  await team.client.delete(sandboxClaims, key);
  return tookMs;
}

/** The median and the longest of times in milliseconds, as text. */
export function formatTimes(times: readonly number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  const format = (ms: number | undefined): string => `${Math.round(ms ?? Number.NaN)} ms`;
  return `median ${format(sorted[Math.floor((sorted.length - 1) / 2)])}, max ${format(sorted.at(-1))}, of ${sorted.length}`;
}
