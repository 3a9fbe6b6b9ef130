import type { SandboxTemplate, SandboxTemplateBuild } from '@sandlot/api-types';

/** What is known about one SandboxTemplateBuild. */
export interface Scene {
  readonly nowMs: number;
  readonly object: SandboxTemplateBuild;
  /** Builds of the namespace that run, without this one. */
  readonly running: number;
  /** Those of them that began before this one. */
  readonly ahead: number;
  /** How many builds of a namespace may run at a time. */
  readonly mostRunning: number;
  /** Whether a newer build makes one of the same templates, and has begun where this one has. */
  readonly isSuperseded: boolean;
  /** The templates that it is to make, by name, as far as they exist. */
  readonly templates: ReadonlyMap<string, SandboxTemplate>;
}
