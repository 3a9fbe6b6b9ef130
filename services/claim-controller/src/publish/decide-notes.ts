/** What decides when the bookkeeping annotations of a claim are written. */
export interface NotesSnapshot {
  /** Many claims arrive with it. */
  readonly isInBurst: boolean;
  /** The claim had to wait for stock with many others, and they are served together. */
  readonly hasWaitedInCrowd: boolean;
  /** The claim is annotated with a Sandbox already. */
  readonly isNoted: boolean;
}

/**
 * `early`: the annotations are there when the claim is first seen Ready. `behind`: they are written later, because claims
 * need the turns at the API server more (docs/reference/labels-and-annotations.md#annotations).
 */
export function decideNotes({ isInBurst, hasWaitedInCrowd, isNoted }: NotesSnapshot): 'early' | 'behind' {
  return !isInBurst && !hasWaitedInCrowd && !isNoted ? 'early' : 'behind';
}
