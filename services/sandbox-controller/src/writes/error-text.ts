import { KubeError } from '@sandlot/kube';
import type { KubeErrorCode } from '@sandlot/kube';
import { withAdvice } from './advice.ts';

/** Answers about the Sandbox or the rules of the cluster, which the owner should read. */
const PUBLISHABLE: ReadonlySet<KubeErrorCode> = new Set([
  'BadRequest',
  'Forbidden',
  'Invalid',
  'NotFound',
  'ServerError',
]);

/**
 * Text of an error for the conditions of the Sandbox; undefined for one that only means that the pass has to be repeated:
 * a conflict, an overload, a lost connection.
 */
export function findPublishableText(error: unknown): string | undefined {
  if (!(error instanceof KubeError) || !PUBLISHABLE.has(error.code)) return undefined;
  // For any write but a create, NotFound means that the object went away meanwhile. A create lacks something the owner provides.
  return error.code === 'NotFound' && error.verb !== 'create' ? undefined : withAdvice(error.message);
}
