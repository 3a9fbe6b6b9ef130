export { adoptionPatch, metadataPatch } from './adoption.ts';
export type { AdoptionInput } from './adoption.ts';
export { blueprintHashOf, blueprintOf, makesSameSandbox } from './blueprint.ts';
export { POD_DEFAULTS } from './defaults.ts';
export type { PodDefaults } from './defaults.ts';
export { coldSandbox, memberSandbox } from './sandbox.ts';
export type { ColdStartInput, MemberInput } from './sandbox.ts';
