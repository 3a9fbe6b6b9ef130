import type { NetworkPolicy } from '@sandlot/kube';

/** What a decision about one policy of a template that is gone depends on, read at one moment. Plain data. */
export interface RetainedSnapshot {
  /** The template that is gone. */
  readonly template: string;
  /** What has the name of its policy now; another client may have created it. */
  readonly present: NetworkPolicy | undefined;
  /** Its policy as it was when another client deleted it, if this process saw that. */
  readonly deleted: NetworkPolicy | undefined;
  /** Whether a Sandbox of the template exists, terminating ones included. */
  readonly hasSandboxes: boolean;
  /** For how long there has been no Sandbox, in milliseconds. */
  readonly unusedMs: number;
}
