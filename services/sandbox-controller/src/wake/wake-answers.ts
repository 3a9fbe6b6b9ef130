/** Why a request to wake a Sandbox is refused. */
export const WAKE_REFUSALS = ['never', 'owner', 'expired', 'deleting'] as const;
export type WakeRefusal = (typeof WAKE_REFUSALS)[number];

/** How a request to wake a Sandbox ends. */
export type WakeAnswer = WakeRefusal | 'resumed';
