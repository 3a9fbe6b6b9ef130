import type { Sandbox, SandboxTemplate, SandboxWarmPool } from '@sandlot/api-types';
import { linkActiveSpan, findOperation, spanAttributes, spanNames, withSpan } from '@sandlot/telemetry';

export interface RefillSpan {
  readonly pool: SandboxWarmPool;
  readonly template: SandboxTemplate;
  readonly count: number;
}

/**
 * Runs a refill in a trace of its own, which is kept when the refill fails. It has no parent, because many claims may have
 * caused it; {@link linkToMember} links it to the trace of each member.
 */
export async function traceRefill<T extends { readonly asked: number; readonly failure?: Error }>(
  { pool, template, count }: RefillSpan,
  work: () => Promise<T>,
): Promise<T> {
  const attributes = {
    [spanAttributes.namespace]: pool.metadata.namespace ?? '',
    [spanAttributes.pool]: pool.metadata.name ?? '',
    [spanAttributes.template]: template.metadata.name ?? '',
    [spanAttributes.count]: count,
  };
  let result: T | undefined;
  try {
    await withSpan({ name: spanNames.poolRefill, attributes }, async () => {
      result = await work();
      if (result.failure !== undefined) throw result.failure;
    });
  } catch (error) {
    // A failure inside the result is recorded in the span; the caller reads it from the result.
    if (result === undefined) throw error;
  }
  if (result === undefined) throw new Error('a refill ended without a result');
  return result;
}

/** Links the active refill to the trace of a member that it created. */
export function linkToMember({ metadata: { uid = '' } }: Sandbox): void {
  linkActiveSpan(() => findOperation({ name: spanNames.sandboxCreate, uid }));
}
