// What is kept of a create with an Idempotency-Key beyond the life of its sandbox (E2B contract, conventions).
import { annotations } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { z } from 'zod';
import { templateOf } from '../e2b/answer/view.ts';

/** How long the same key answers the same sandbox. */
export const RECORD_KEPT_MS = 86_400_000;

const stored = z.object({
  /** Digest of the request. */
  d: z.string(),
  /** Template that was asked for. */
  t: z.string(),
  /** Version of the daemon. */
  v: z.string(),
  /** Whether its ports were closed to strangers: its answer had a token for them. */
  c: z.boolean(),
  /** When the sandbox was made, epoch milliseconds. */
  at: z.number(),
});

/** One create: enough for its answer, tokens aside, which are derived. No secret is in it. */
export interface CreateRecord {
  readonly digest: string;
  readonly templateID: string;
  readonly envdVersion: string;
  readonly closed: boolean;
  readonly createdMs: number;
}

/**
 * Which object has the record of a sandbox id: records are spread by their first two letters, so that each object stays far
 * below what one may hold, and two creates hardly ever write the same.
 */
export function shardOf(id: string): string {
  return `sandbox-creates-${id.slice(0, 2)}`;
}

export function encodeRecord({ digest, templateID, envdVersion, closed, createdMs }: CreateRecord): string {
  return JSON.stringify({ d: digest, t: templateID, v: envdVersion, c: closed, at: createdMs });
}

/** Undefined for what is no record, and for one that is too old to count. */
export function decodeRecord(text: string | undefined, nowMs: number): CreateRecord | undefined {
  if (text === undefined) return undefined;
  const parsed = stored.safeParse(jsonIn(text));
  if (!parsed.success) return undefined;
  const { d: digest, t: templateID, v: envdVersion, c: closed, at: createdMs } = parsed.data;
  return nowMs - createdMs < RECORD_KEPT_MS ? { digest, templateID, envdVersion, closed, createdMs } : undefined;
}

/** What nobody asks for any more: too old, or no record at all. */
export function overdue(data: Readonly<Record<string, string>>, nowMs: number): readonly string[] {
  return Object.keys(data).filter((id) => decodeRecord(data[id], nowMs) === undefined);
}

/** The record that a claim asks for: it was made with a key, its caller was given it, and the key still counts. */
export function recordOf(claim: SandboxClaim, { envdVersion, nowMs }: Told): CreateRecord | undefined {
  const { metadata, status } = claim;
  const notes = metadata.annotations ?? {};
  const digest = notes[annotations.requestDigest];
  if (digest === undefined || status?.completionTime === undefined) return undefined;
  const createdMs = Date.parse(metadata.creationTimestamp ?? '');
  const isCounted = nowMs - createdMs < RECORD_KEPT_MS;
  const closed = notes[annotations.trafficTokenHash] !== undefined;
  return isCounted ? { digest, templateID: templateOf(claim), envdVersion, closed, createdMs } : undefined;
}

export interface Told {
  readonly envdVersion: string;
  readonly nowMs: number;
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
