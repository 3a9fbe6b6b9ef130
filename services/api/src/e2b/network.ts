import { badRequest } from '../http/errors.ts';
import type { z } from 'zod';
import type { networkRequest, networkUpdate } from './schemas.ts';

type Network = z.output<typeof networkRequest>;
type Update = z.output<typeof networkUpdate>;

/** Fields that nobody here enforces; what they ask for must not be accepted and ignored (E2B contract, create). */
const UNENFORCED = [
  'allowOut',
  'denyOut',
  'dnsServers',
  'egressProxy',
  'maskRequestHost',
  'httpsPorts',
  'rules',
] as const;

/** Throws an ApiError 400 that names the first field which asks for something that is not enforced. */
export function assertEnforceable(
  network: Network | Update | null | undefined,
  allowInternetAccess: boolean | null | undefined,
): void {
  if (allowInternetAccess === false) {
    throw badRequest(
      'allow_internet_access: false is not supported for single sandboxes; use a template whose networkPolicy.egress is empty',
    );
  }
  const asked: Readonly<Record<string, unknown>> = network ?? {};
  for (const field of UNENFORCED) {
    if (isAsked(asked[field])) {
      throw badRequest(`network.${field} is not supported for single sandboxes; use the networkPolicy of the template`);
    }
  }
}

function isAsked(value: unknown): boolean {
  if (value === undefined || value === null) return false;
  return typeof value !== 'object' || Object.keys(value).length > 0;
}
