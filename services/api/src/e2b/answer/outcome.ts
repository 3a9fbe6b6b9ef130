import type { Sandbox } from '@sandlot/api-types';
import type { SandboxAnswer } from './schemas.ts';

/** What became of the memory of the sandbox at its last pause and start; nothing if there is nothing to say. */
export function buildOutcome(
  sandbox: Pick<Sandbox, 'status'> | undefined,
): Pick<SandboxAnswer, 'resumedFrom' | 'lost'> {
  const { resumedFrom, lost } = sandbox?.status ?? {};
  return { ...(resumedFrom === undefined ? {} : { resumedFrom }), ...(lost === undefined ? {} : { lost }) };
}
