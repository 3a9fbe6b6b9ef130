import type { Sandbox, SandboxTemplate, SandboxWarmPool } from '@sandlot/api-types';
import { linkActiveSpan, operationOf, spanAttributes, spanNames, withSpan } from '@sandlot/telemetry';

export interface Refill {
  readonly pool: SandboxWarmPool;
  readonly template: SandboxTemplate;
  readonly count: number;
}

/**
 * Runs a refill as an operation of its own, kept when it fails. Nobody asked for it, and many claims may have caused it;
 * each member that it makes has a trace too, which the refill is linked to.
 */
export async function inRefill<T extends { readonly asked: number; readonly failure?: Error }>(
  { pool, template, count }: Refill,
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
    // A failure that the result tells is for whoever reads it; the span has it too.
    if (result === undefined) throw error;
  }
  if (result === undefined) throw new Error('a refill ended without a result');
  return result;
}

/** Links the refill to the trace of a member that it made. */
export function linkToMember({ metadata: { uid = '' } }: Sandbox): void {
  linkActiveSpan(() => operationOf({ name: spanNames.sandboxCreate, uid }));
}
