import { withAdvice } from './advice.ts';
import { KubeError } from '@sandlot/kube';
import type { KubeErrorCode } from '@sandlot/kube';

/** Answers that say something about the Sandbox or the cluster's rules, which its owner should read. */
const TELLING: ReadonlySet<KubeErrorCode> = new Set(['BadRequest', 'Forbidden', 'Invalid', 'NotFound', 'ServerError']);

/**
 * Text of an error that belongs into the conditions of the Sandbox; undefined for one that only says that the pass has
 * to be repeated: a conflict, an overload, a lost connection.
 */
export function publishableText(error: unknown): string | undefined {
  if (!(error instanceof KubeError) || !TELLING.has(error.code)) return undefined;
  // What we wanted to change has gone meanwhile; only a creation misses something its owner has to provide.
  return error.code === 'NotFound' && error.verb !== 'create' ? undefined : withAdvice(error.message);
}
