import { createHmac } from 'node:crypto';
import { isSameDigest } from '@sandlot/tenancy';
import type { TokenKeys } from '@sandlot/tenancy';
import { z } from 'zod';

/** An archive that one client may upload. */
export interface Upload {
  readonly namespace: string;
  readonly templateID: string;
  /** 64 hex digits, by which the steps of the build name it. */
  readonly hash: string;
}

/** As long as E2B's. */
const LIFETIME_MS = 30 * 60_000;

/** The query of the URL. Every part of it is signed. */
export const uploadQuery = z.object({
  namespace: z.string().max(253),
  /** Epoch milliseconds. */
  expires: z
    .string()
    .regex(/^\d{1,15}$/)
    .transform(Number),
  /** Number of the key, so that a rotation does not end uploads. */
  key: z
    .string()
    .regex(/^[1-9]\d{0,8}$/)
    .transform(Number),
  signature: z.string().regex(/^[0-9a-f]{64}$/),
});
export type UploadQuery = z.output<typeof uploadQuery>;

/** The URL to which a client sends the archive, without any key: the signature is one, for this archive alone. */
export function formatUploadUrl(
  { current }: TokenKeys,
  upload: Upload,
  { origin, nowMs }: { readonly origin: string; readonly nowMs: number },
): string {
  const expires = nowMs + LIFETIME_MS;
  const query = new URLSearchParams({
    namespace: upload.namespace,
    expires: String(expires),
    key: String(current.number),
    signature: sign(current.bytes, upload, expires),
  });
  const { templateID, hash } = upload;
  return `${origin}/templates/${encodeURIComponent(templateID)}/files/${hash}?${query.toString()}`;
}

/** Whether the signature is of this upload, and still counts. */
export function isSigned(
  keys: TokenKeys,
  upload: Upload,
  { expires, key, signature, nowMs }: Omit<UploadQuery, 'namespace'> & { readonly nowMs: number },
): boolean {
  return isSameDigest(sign(keys.find(key), upload, expires), signature) && nowMs < expires;
}

function sign(key: Uint8Array, { namespace, templateID, hash }: Upload, expires: number): string {
  const text = JSON.stringify(['template files', namespace, templateID, hash, expires]);
  return createHmac('sha256', key).update(text).digest('hex');
}
