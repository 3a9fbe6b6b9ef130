import type { TeamVolume } from '@sandlot/api-types';

/** The objects of a namespace with volumes, in the order in which they are made. */
export const parts = ['disk', 'policy', 'service', 'server'] as const;
export type Part = (typeof parts)[number];

/** What is there in place of one of the objects. */
export interface Present {
  /** False: something else has its name. */
  readonly isOurs: boolean;
  readonly isEnding: boolean;
  /** Whether it is as the settings want it. */
  readonly isCurrent: boolean;
}

/** A ConfigMap of a volume, or its tombstone. */
export interface Registered {
  readonly volume: TeamVolume;
  readonly objectName: string;
  readonly uid: string | undefined;
}

/** What a pass knows about one namespace. */
export interface Scene {
  readonly live: readonly Registered[];
  /** Volumes that have both a ConfigMap and a tombstone: the API ended between its two writes. */
  readonly halfGone: readonly Registered[];
  readonly tombstones: readonly Registered[];
  readonly present: Readonly<Partial<Record<Part, Present>>>;
}
