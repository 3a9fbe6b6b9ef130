import type { SandboxStatus } from '../objects.ts';

/** By what the daemon of a Sandbox's pod is recognised (docs/reference/runtime.md#identity). */
export type RuntimeIdentity = NonNullable<NonNullable<SandboxStatus['runtime']>['identity']>;
