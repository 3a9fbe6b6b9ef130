import type { Sandbox, SandboxSnapshot, SandboxTemplate } from '@sandlot/api-types';

/** What a pass over the golden snapshot of one template knows. Plain data. */
export interface GoldenScene {
  readonly template: SandboxTemplate;
  /** Name of the golden snapshot that the template asks for with its blueprint as it is now, and of the Sandbox of which it
   * is taken; undefined when it asks for none. */
  readonly wanted: string | undefined;
  /** Whether some pool makes members of the template. */
  readonly hasPool: boolean;
  /** Why no Pod of the template may start yet; undefined: its network rules are in place. */
  readonly networkGap: string | undefined;
  /** Snapshots that the template controls, of earlier blueprints too. */
  readonly snapshots: readonly SandboxSnapshot[];
  /** Golden Sandboxes that the template controls, of earlier blueprints too. */
  readonly sandboxes: readonly Sandbox[];
  /** Kind of an object that has the wanted name and is not of the template; undefined without one. */
  readonly obstacle: 'Sandbox' | 'SandboxSnapshot' | undefined;
  /** Time until the next attempt, after one that did not lead to a snapshot; 0 when it may begin now. */
  readonly waitMs: number;
}
