import type { Recipe, WantedAuthority, WantedSecret } from './wanted.ts';

/** A Secret as the API server has it, with its entries decoded. */
export interface FoundSecret {
  readonly resourceVersion: string;
  readonly entries: Readonly<Record<string, string>>;
  /** What the annotation `sandlot.dev/rotate` asks for. */
  readonly rotate: string | undefined;
}

export interface Snapshot {
  readonly nowMs: number;
  /** By name; absent when there is none. */
  readonly found: ReadonlyMap<string, FoundSecret>;
}

/** The stages of a rotation: both keys are accepted, the new one is used, the old one is forgotten. */
export const phases = ['prepare', 'switch', 'finish'] as const;
export type Phase = (typeof phases)[number];

export type Step =
  /** A Secret that does not exist. */
  | { readonly do: 'create'; readonly secret: WantedSecret }
  /** Entries that a Secret of ours lacks. */
  | {
      readonly do: 'complete';
      readonly secret: WantedSecret;
      readonly found: FoundSecret;
      readonly missing: readonly string[];
    }
  | {
      readonly do: 'rotate';
      readonly secret: WantedSecret;
      readonly found: FoundSecret;
      readonly entry: string;
      readonly recipe: Recipe;
      readonly phase: Phase;
    }
  /** All certificates of an authority, because one is missing and the key of the authority is gone. */
  | { readonly do: 'issue'; readonly authority: WantedAuthority; readonly found: readonly (FoundSecret | undefined)[] }
  | {
      readonly do: 'renew';
      readonly authority: WantedAuthority;
      readonly found: readonly FoundSecret[];
      readonly phase: Phase;
    };

export interface Plan {
  readonly steps: readonly Step[];
  /** What the operator has to repair, a sentence each. */
  readonly refusals: readonly string[];
}
