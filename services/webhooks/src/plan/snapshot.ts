import type { HistoryBounds } from '@sandlot/bus';
import type { SandboxEvent, Webhook } from '@sandlot/team-events';

/** The place in a stream up to which events are dealt with. */
export interface Place {
  /** When the stream was created. */
  readonly stream: string;
  readonly sequence: number;
}

/** An event of a sandbox with the webhooks of its team that are enabled. */
export interface SeenEvent {
  readonly sequence: number;
  readonly event: SandboxEvent;
  readonly webhooks: readonly Webhook[];
}

/** What a pass over the stream knows. */
export interface Snapshot {
  readonly bounds: HistoryBounds;
  /** Up to which Redis has queued deliveries; undefined: it is new, or has lost its data. */
  readonly place: Place | undefined;
  /** Those of newcomers from before the start, and then the events behind the start, in order, up to the sequence `readTo`. */
  readonly events: readonly SeenEvent[];
  readonly readTo: number;
  /** Webhooks whose earlier events are among them. */
  readonly newcomers: readonly string[];
  readonly nowMs: number;
}

export interface PlannedDelivery {
  readonly webhook: string;
  readonly sequence: number;
  readonly event: SandboxEvent;
}

export interface Plan {
  readonly after: Place;
  readonly deliveries: readonly PlannedDelivery[];
  /** Whether the stream has events that this pass has not read. */
  readonly isMore: boolean;
}
