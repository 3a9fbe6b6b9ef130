/** What a label or annotation is for. */
export interface Use {
  /** The objects that carry it. */
  readonly on: string;
  /** Who writes it. */
  readonly by: string;
  readonly meaning: string;
}

export const CLAIM = 'claim-controller';
export const SANDBOX = 'sandbox-controller';
export const POOL = 'warmpool-controller';
export const API = 'api';
export const SNAPSHOT = 'snapshot-controller';
export const RESTORE = 'UID of the SandboxSnapshot from which the Pod is restored.';
