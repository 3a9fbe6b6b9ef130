import { sandboxes } from '@sandlot/api-types';
import type { SandboxTemplate, SandboxWarmPool } from '@sandlot/api-types';
import { buildMemberSandbox } from '@sandlot/blueprint';
import type { PodDefaults } from '@sandlot/blueprint';
import { isAlreadyExists, isUnknownOutcome, getKey } from '@sandlot/kube';
import type { Expectations, KubeClient, Priority } from '@sandlot/kube';
import type { Random } from '@sandlot/std';
import type { PoolMetrics } from '../telemetry/pool-metrics.ts';
import { linkToMember } from '../telemetry/trace.ts';

/** Without vowels and look-alikes, so that no name spells a word. */
const ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';
const SUFFIX_LENGTH = 5;

export interface CreateDeps {
  readonly client: KubeClient;
  readonly expectations: Expectations;
  readonly podDefaults: PodDefaults;
  readonly random: Random;
  readonly metrics: PoolMetrics;
}

export interface CreateInput {
  readonly pool: SandboxWarmPool;
  readonly template: SandboxTemplate;
  /** Name of the golden snapshot from which they start; undefined: they boot. */
  readonly golden: string | undefined;
  readonly count: number;
  readonly priority: Priority;
  readonly signal: AbortSignal;
  /** Called between two waves: whether to send the next one. */
  readonly canContinue: () => boolean;
}

export interface CreateResult {
  /** Creations sent, whatever came of them. */
  readonly asked: number;
  /** The first failure of the last wave. */
  readonly failure?: Error;
}

/** Requests of one wave: enough to keep an API server busy, few enough to stop soon. */
const MAX_WAVE = 32;

/** Waves of 1, 2, 4, ... members; the first wave with a failure is the last, so a broken template costs few requests. */
export async function createMembers(deps: CreateDeps, input: CreateInput): Promise<CreateResult> {
  const { count, canContinue } = input;
  let asked = 0;
  for (let wave = 1; asked < count && (asked === 0 || canContinue()); wave = Math.min(2 * wave, MAX_WAVE)) {
    const size = Math.min(wave, count - asked);
    asked += size;
    const results = await Promise.allSettled(Array.from({ length: size }, () => createMember(deps, input)));
    const failed = results.find((result) => result.status === 'rejected');
    if (failed !== undefined) return { asked, failure: getError(failed.reason) };
  }
  return { asked };
}

function getError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}

async function createMember(deps: CreateDeps, input: CreateInput): Promise<void> {
  const { pool, template, golden, priority, signal } = input;
  const suffix = drawSuffix(deps.random);
  const member = buildMemberSandbox({ pool, template, defaults: deps.podDefaults, suffix, goldenSnapshot: golden });
  const [owner, key] = [getKey(pool), getKey(member)];
  deps.expectations.expectCreate(owner, key);
  deps.metrics.recordCreateStart(key);
  try {
    linkToMember(await deps.client.create(sandboxes, member, { priority, signal }));
  } catch (error) {
    // Without an answer the member may exist: it counts until the watch shows it or the expectation expires.
    if (!isUnknownOutcome(error)) deps.expectations.observeCreate(owner, key);
    deps.metrics.recordCreateFailure(key);
    if (!isAlreadyExists(error)) throw error;
  }
}

function drawSuffix(random: Random): string {
  const letter = (): string => ALPHABET[Math.floor(random() * ALPHABET.length)] ?? 'x';
  return Array.from({ length: SUFFIX_LENGTH }, letter).join('');
}
