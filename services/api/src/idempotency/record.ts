// The record of a create with an Idempotency-Key, which outlives the sandbox (docs/reference/e2b-api.md#conventions).
import { annotations, getTemplateId } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { readKeyNumber } from '@sandlot/tenancy';
import { z } from 'zod';

/** How long a repeated create gets the same answer. */
export const RECORD_KEPT_MS = 86_400_000;

const stored = z.object({
  /** Digest of the request's body. */
  d: z.string(),
  /** Name of the template. */
  t: z.string(),
  /** Version of the daemon. */
  v: z.string(),
  /** Whether the ports need the traffic token, which the answer then contains. */
  c: z.boolean(),
  /** Number of the key of its tokens; absent: 1. */
  k: z.number().default(1),
  /** Creation of the claim, epoch milliseconds. */
  at: z.number(),
});

/** What the answer of a create needs besides its tokens, which are derived. A record contains no secret. */
export interface CreateRecord {
  readonly digest: string;
  readonly templateID: string;
  readonly envdVersion: string;
  readonly closed: boolean;
  /** Number of the key by which they are made. */
  readonly tokenKey: number;
  readonly createdMs: number;
}

/**
 * Name of the ConfigMap with the record of a sandbox id. The first two letters of the id spread the records, so that each
 * ConfigMap stays far below its size limit and two creates rarely write the same one.
 */
export function formatShard(id: string): string {
  return `sandbox-creates-${id.slice(0, 2)}`;
}

export function encodeRecord(record: CreateRecord): string {
  const { digest, templateID, envdVersion, closed, tokenKey, createdMs } = record;
  return JSON.stringify({ d: digest, t: templateID, v: envdVersion, c: closed, k: tokenKey, at: createdMs });
}

/** Undefined for a malformed record and for an expired one. */
export function decodeRecord(text: string | undefined, nowMs: number): CreateRecord | undefined {
  if (text === undefined) return undefined;
  const result = stored.safeParse(parseJson(text));
  if (!result.success) return undefined;
  const { d: digest, t: templateID, v: envdVersion, c: closed, k: tokenKey, at: createdMs } = result.data;
  const record = { digest, templateID, envdVersion, closed, tokenKey, createdMs };
  return nowMs - createdMs < RECORD_KEPT_MS ? record : undefined;
}

/** The sandbox ids in a ConfigMap whose records are expired or malformed. */
export function listExpiredIds(data: Readonly<Record<string, string>>, nowMs: number): readonly string[] {
  return Object.keys(data).filter((id) => decodeRecord(data[id], nowMs) === undefined);
}

/** The record of a claim; undefined without an Idempotency-Key, before the claim was Ready, and after 24 h. */
export function buildRecord(claim: SandboxClaim, { envdVersion, nowMs }: RecordOptions): CreateRecord | undefined {
  const { metadata, status } = claim;
  const digest = metadata.annotations?.[annotations.requestDigest];
  if (digest === undefined || status?.completionTime === undefined) return undefined;
  const createdMs = Date.parse(metadata.creationTimestamp ?? '');
  const isRecent = nowMs - createdMs < RECORD_KEPT_MS;
  const closed = metadata.annotations?.[annotations.trafficTokenHash] !== undefined;
  const tokenKey = readKeyNumber(metadata.annotations?.[annotations.tokenKey]) ?? 1;
  return isRecent ? { digest, templateID: getTemplateId(claim), envdVersion, closed, tokenKey, createdMs } : undefined;
}

export interface RecordOptions {
  readonly envdVersion: string;
  readonly nowMs: number;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
