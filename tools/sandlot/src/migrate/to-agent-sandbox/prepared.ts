import type { Sandbox, SandboxClaim, SandboxTemplate, SandboxWarmPool } from '@sandlot/api-types';
import type { JsonObject } from '@sandlot/kube';
import type { Note } from '../notes.ts';

/** What an object needs so that agent-sandbox reads it as Sandlot does. */
export interface Prepared {
  /** Such as `Sandbox team-a/notebook`. */
  readonly from: string;
  readonly target: Target;
  /** Merge patch, guarded by the resourceVersion; undefined if the object stays as it is. */
  readonly patch: JsonObject | undefined;
  /** The pool that the claim names after the patch, if it has to be made. */
  readonly pool: ShadowPool | undefined;
  readonly notes: readonly Note[];
}

export interface Target {
  readonly kind: keyof Found;
  readonly namespace: string;
  readonly name: string;
}

/** A pool without members, by which agent-sandbox finds the template of a claim that names a template. */
export interface ShadowPool {
  readonly namespace: string;
  readonly name: string;
  readonly template: string;
}

/** The objects of the cluster. */
export interface Found {
  readonly SandboxTemplate: readonly SandboxTemplate[];
  readonly SandboxWarmPool: readonly SandboxWarmPool[];
  readonly Sandbox: readonly Sandbox[];
  readonly SandboxClaim: readonly SandboxClaim[];
}
