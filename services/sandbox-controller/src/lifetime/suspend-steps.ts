import { getModeSpelling, resumePatch, suspendPatch } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import type { Step } from '../plan/steps.ts';
import { listAuthorshipEntries } from '../service/authorship.ts';

/** Suspends the Sandbox; an edit that comes first wins. */
export function suspendStep(sandbox: Sandbox, by: 'Idle' | 'Startup'): Step {
  return { kind: 'suspendSandbox', patch: suspendPatch(sandbox, { by, spelling: getSpelling(sandbox) }) };
}

/** Resumes the Sandbox; an edit that comes first wins. `trace` is the trace context of the request that wakes it. */
export function resumeStep(sandbox: Sandbox, trace?: string): Step {
  return { kind: 'resumeSandbox', patch: resumePatch(sandbox, { spelling: getSpelling(sandbox), trace }) };
}

/** With neither field set, the API version of the author decides. */
function getSpelling({ spec, metadata }: Sandbox): ReturnType<typeof getModeSpelling> {
  const isV1Alpha1 = listAuthorshipEntries(metadata.managedFields).length > 0;
  return getModeSpelling(spec, isV1Alpha1 ? 'replicas' : 'operatingMode');
}
