import { sandboxes } from '@sandlot/api-types';
import type { Sandbox, SandboxTemplate, SandboxWarmPool } from '@sandlot/api-types';
import { memberSandbox } from '@sandlot/blueprint';
import type { PodDefaults } from '@sandlot/blueprint';
import { isAlreadyExists, isConflict, isNotFound, isUnknownOutcome, keyOf } from '@sandlot/kube';
import type { Expectations, KubeClient } from '@sandlot/kube';
import type { Random } from '@sandlot/std';

/** Without vowels and look-alikes, so that no name spells a word. */
const ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';
const SUFFIX_LENGTH = 5;

export interface MemberDeps {
  readonly client: KubeClient;
  readonly expectations: Expectations;
  readonly podDefaults: PodDefaults;
  readonly random: Random;
}

export interface CreateInput {
  readonly pool: SandboxWarmPool;
  readonly template: SandboxTemplate;
  readonly count: number;
  readonly signal: AbortSignal;
}

/** Waves of 1, 2, 4, ... members; a wave with a failure is the last, so that a broken template costs few requests. */
export async function createMembers(deps: MemberDeps, { pool, template, count, signal }: CreateInput): Promise<void> {
  for (let made = 0, wave = 1; made < count; made += wave, wave *= 2) {
    const size = Math.min(wave, count - made);
    const creations = Array.from({ length: size }, () => createMember(deps, { pool, template, signal }));
    const results = await Promise.allSettled(creations);
    const failed = results.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }
}

async function createMember(deps: MemberDeps, { pool, template, signal }: Omit<CreateInput, 'count'>): Promise<void> {
  const member = memberSandbox({ pool, template, defaults: deps.podDefaults, suffix: randomSuffix(deps.random) });
  const [owner, key] = [keyOf(pool), keyOf(member)];
  deps.expectations.expectCreate(owner, key);
  try {
    await deps.client.create(sandboxes, member, { priority: 'background', signal });
  } catch (error) {
    // Without an answer the member may exist: it keeps its place until the watch shows it or the expectation ends.
    if (!isUnknownOutcome(error)) deps.expectations.observedCreate(owner, key);
    if (!isAlreadyExists(error)) throw error;
  }
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
