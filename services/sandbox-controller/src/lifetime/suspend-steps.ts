import { modeSpellingOf, resumePatch, suspendPatch } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import type { Step } from '../plan/steps.ts';
import { authorshipEntries } from '../service/authorship.ts';

/** Suspends the Sandbox; an edit that comes first wins. */
export function suspendStep(sandbox: Sandbox, by: 'Idle' | 'Startup'): Step {
  return { kind: 'suspendSandbox', patch: suspendPatch(sandbox, { by, spelling: spellingOf(sandbox) }) };
}

/** Resumes the Sandbox; an edit that comes first wins. `trace` is the trace context of the request that wakes it. */
export function resumeStep(sandbox: Sandbox, trace?: string): Step {
  return { kind: 'resumeSandbox', patch: resumePatch(sandbox, { spelling: spellingOf(sandbox), trace }) };
}

/** With neither field set, the API version of the author decides. */
function spellingOf({ spec, metadata }: Sandbox): ReturnType<typeof modeSpellingOf> {
  const isV1Alpha1 = authorshipEntries(metadata.managedFields).length > 0;
  return modeSpellingOf(spec, isV1Alpha1 ? 'replicas' : 'operatingMode');
}
