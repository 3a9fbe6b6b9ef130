import { sandboxes } from '@sandlot/api-types';
import type { Sandbox, SandboxTemplate, SandboxWarmPool } from '@sandlot/api-types';
import { memberSandbox, takeOverPatch } from '@sandlot/blueprint';
import type { PodDefaults } from '@sandlot/blueprint';
import { isAlreadyExists, isConflict, isNotFound, isUnknownOutcome, keyOf } from '@sandlot/kube';
import type { Expectations, KubeClient, Priority } from '@sandlot/kube';
import type { Random } from '@sandlot/std';
import type { PoolMetrics } from '../telemetry/metrics.ts';
import { linkToMember } from '../telemetry/trace.ts';

/** Without vowels and look-alikes, so that no name spells a word. */
const ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';
const SUFFIX_LENGTH = 5;

export interface MemberDeps {
  readonly client: KubeClient;
  readonly expectations: Expectations;
  readonly podDefaults: PodDefaults;
  readonly random: Random;
  readonly metrics: PoolMetrics;
}

export interface CreateInput {
  readonly pool: SandboxWarmPool;
  readonly template: SandboxTemplate;
  readonly count: number;
  readonly priority: Priority;
  readonly signal: AbortSignal;
  /** Asked between two waves: whether what was decided still holds. */
  readonly goesOn: () => boolean;
}

export interface Created {
  /** Members asked for, whatever came of them. */
  readonly asked: number;
  /** Why the last wave was the last. */
  readonly failure?: Error;
}

/** Requests of one wave: enough to keep an API server busy, few enough to stop soon. */
const MAX_WAVE = 32;

/** Waves of 1, 2, 4, ... members; a wave with a failure is the last, so that a broken template costs few requests. */
export async function createMembers(deps: MemberDeps, input: CreateInput): Promise<Created> {
  const { count, goesOn } = input;
  let asked = 0;
  for (let wave = 1; asked < count && (asked === 0 || goesOn()); wave = Math.min(2 * wave, MAX_WAVE)) {
    const size = Math.min(wave, count - asked);
    asked += size;
    const results = await Promise.allSettled(Array.from({ length: size }, () => createMember(deps, input)));
    const failed = results.find((result) => result.status === 'rejected');
    if (failed !== undefined) return { asked, failure: errorOf(failed.reason) };
  }
  return { asked };
}

function errorOf(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}

async function createMember(deps: MemberDeps, { pool, template, priority, signal }: CreateInput): Promise<void> {
  const member = memberSandbox({ pool, template, defaults: deps.podDefaults, suffix: randomSuffix(deps.random) });
  const [owner, key] = [keyOf(pool), keyOf(member)];
  deps.expectations.expectCreate(owner, key);
  deps.metrics.asked(key);
  try {
    linkToMember(await deps.client.create(sandboxes, member, { priority, signal }));
  } catch (error) {
    // Without an answer the member may exist: it keeps its place until the watch shows it or the expectation ends.
    if (!isUnknownOutcome(error)) deps.expectations.observedCreate(owner, key);
    deps.metrics.failed(key);
    if (!isAlreadyExists(error)) throw error;
  }
}

export interface TakeOverInput {
  readonly pool: SandboxWarmPool;
  readonly sandboxes: readonly Sandbox[];
  readonly signal: AbortSignal;
}

/** Makes the pool the owner of Sandboxes nobody controls, each exactly as it was seen. */
export async function takeOver(deps: MemberDeps, { pool, sandboxes: strays, signal }: TakeOverInput): Promise<void> {
  const patches = strays.map(async (stray) => {
    const { namespace, name = '' } = stray.metadata;
    const options = { priority: 'background', signal } as const;
    try {
      await deps.client.mergePatch(sandboxes, { namespace, name }, takeOverPatch(stray, pool), options);
    } catch (error) {
      // Somebody else was faster, or it is gone: the watch shows who has it.
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  });
  const failed = (await Promise.allSettled(patches)).find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

function randomSuffix(random: Random): string {
  const letter = (): string => ALPHABET[Math.floor(random() * ALPHABET.length)] ?? 'x';
  return Array.from({ length: SUFFIX_LENGTH }, letter).join('');
}

export interface DeleteInput {
  readonly pool: SandboxWarmPool;
  readonly members: readonly Sandbox[];
  readonly signal: AbortSignal;
}

/** Each exactly as it was seen: a member that a claim is taking right now survives, because its version has moved on. */
export async function deleteMembers(deps: MemberDeps, { pool, members, signal }: DeleteInput): Promise<void> {
  const owner = keyOf(pool);
  const deletions = members.map(async ({ metadata }) => {
    const { namespace, name = '', uid = '', resourceVersion } = metadata;
    deps.expectations.expectDelete(owner, uid);
    try {
      const options = { uid, resourceVersion, priority: 'background', signal } as const;
      await deps.client.delete(sandboxes, { namespace, name }, options);
    } catch (error) {
      if (!isUnknownOutcome(error)) deps.expectations.observedDelete(owner, uid);
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  });
  const failed = (await Promise.allSettled(deletions)).find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}
