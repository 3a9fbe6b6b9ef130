import type { Note } from '../notes.ts';
import type { Found } from './prepared.ts';

/** The fields of a spec that agent-sandbox 0.5 has, and those that the preparation translates. */
const KNOWN: Readonly<Record<keyof Found, readonly string[]>> = {
  Sandbox: [
    'podTemplate',
    'volumeClaimTemplates',
    'shutdownTime',
    'shutdownPolicy',
    'operatingMode',
    'service',
    'replicas',
  ],
  SandboxClaim: [
    'warmPoolRef',
    'lifecycle',
    'additionalPodMetadata',
    'env',
    'volumeClaimTemplates',
    'sandboxTemplateRef',
    'warmpool',
  ],
  SandboxTemplate: [
    'podTemplate',
    'volumeClaimTemplates',
    'networkPolicy',
    'networkPolicyManagement',
    'envVarsInjectionPolicy',
    'volumeClaimTemplatesPolicy',
    'service',
  ],
  SandboxWarmPool: ['replicas', 'sandboxTemplateRef', 'updateStrategy'],
};

const ADVICE: Readonly<Record<string, string>> = {
  suspensionStrategy: 'memory is not kept: wake a hibernated sandbox before, or it boots with its volumes',
  runtime: 'running Pods keep the daemon, and new ones come without it: put a runtime into the image',
  idle: 'sandboxes are suspended by their owners alone',
  autoResume: 'a suspended sandbox wakes by its operatingMode alone',
  autoscaling: 'the pool has the number of replicas that it has at that moment',
  // Of a claim: those of pools and Sandboxes are there.
  replicas: 'agent-sandbox makes one more Sandbox for the claim: end it before',
  envs: 'a claim that is bound keeps its variables until its Pod ends',
};

/** Reports the fields that agent-sandbox does not have: its CRDs drop them. */
export function noteForeign(kind: keyof Found, spec: object): readonly Note[] {
  const foreign = Object.entries(spec).filter(
    ([field, value]) => !KNOWN[kind].includes(field) && !isWithoutEffect(field, value),
  );
  return foreign.map(([field]) => ({
    effect: 'lost',
    field: `spec.${field}`,
    text: ADVICE[field] ?? 'agent-sandbox has no such field',
  }));
}

/** The API server adds these defaults to claims, and agent-sandbox does the same without the field. */
function isWithoutEffect(field: string, value: unknown): boolean {
  return value === undefined || value === false || (field === 'createOnNoStock' && value === true);
}
