import { expect, it } from 'vitest';
import { claimReasons } from '../catalogue/claim.ts';
import { findClaimEnding, claimFailureReasons } from './claim-endings.ts';

it('every reason either ends a claim in one way or may pass', () => {
  const endings = Object.fromEntries(Object.values(claimReasons).map((reason) => [reason, findClaimEnding(reason)]));
  expect(endings).toEqual({
    TemplateNotFound: undefined,
    WarmPoolNotFound: undefined,
    AdoptionConflict: undefined,
    SandboxCreatePending: undefined,
    InvalidMetadata: 'refused',
    EnvVarsInjectionRejected: 'refused',
    VolumeClaimTemplatesError: 'refused',
    ImageOverrideRejected: 'refused',
    ResourcesOverrideRejected: 'refused',
    DynamicVolumesRejected: 'refused',
    SandboxNameRejected: 'refused',
    EgressNotAvailable: 'refused',
    EgressSecretMissing: undefined,
    EgressSecretNotMarked: undefined,
    EgressHostNotCovered: undefined,
    SandboxNameTaken: undefined,
    WaitingForStock: undefined,
    ClaimTimeout: 'late',
    SandboxInitFailed: 'broken',
    ClaimExpired: 'expired',
    SandboxMissing: undefined,
    SandboxExpired: 'expired',
    SandboxNotReady: undefined,
    ReconcilerError: undefined,
    AllReplicasClaimed: undefined,
    Claiming: undefined,
    TimeoutReached: undefined,
  });
});

it('a claim fails with each reason that ends it, but not by expiring', () => {
  expect(claimFailureReasons.toSorted()).toEqual([
    'ClaimTimeout',
    'DynamicVolumesRejected',
    'EgressNotAvailable',
    'EnvVarsInjectionRejected',
    'ImageOverrideRejected',
    'InvalidMetadata',
    'ResourcesOverrideRejected',
    'SandboxInitFailed',
    'SandboxNameRejected',
    'VolumeClaimTemplatesError',
  ]);
});

it('a reason of another component ends nothing', () => {
  expect(findClaimEnding('PodFailed')).toBeUndefined();
});
