/** What decides when the bookkeeping annotations of a claim are written. */
export interface NotesSnapshot {
  /** Many claims arrive with it. */
  readonly isInBurst: boolean;
  /** The claim had to wait for stock: others wait with it, and are served together. */
  readonly hasWaited: boolean;
  /** The claim is annotated with a Sandbox already. */
  readonly isNoted: boolean;
}

/**
 * `early`: the annotations are there when the claim is first seen Ready. `behind`: they are written later, because claims
 * need the turns at the API server more (docs/reference/labels-and-annotations.md#annotations).
 */
export function decideNotes({ isInBurst, hasWaited, isNoted }: NotesSnapshot): 'early' | 'behind' {
  return !isInBurst && !hasWaited && !isNoted ? 'early' : 'behind';
}
