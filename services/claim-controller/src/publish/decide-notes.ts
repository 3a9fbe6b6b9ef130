/** What decides when the bookkeeping annotations of a claim are written. */
export interface NotesSnapshot {
  /** Claims that this process first saw since a second before this one. */
  readonly arrivals: number;
  /** So many claims a second are few. */
  readonly fewPerSecond: number;
  /** The claim had to wait for stock: others wait with it, and are served together. */
  readonly hasWaited: boolean;
  /** The claim is annotated with a Sandbox already. */
  readonly isNoted: boolean;
}

/**
 * `early`: the annotations are there when the claim is first seen Ready. `behind`: they are written later, because claims
 * need the turns at the API server more (docs/reference/labels-and-annotations.md#annotations).
 */
export function decideNotes({ arrivals, fewPerSecond, hasWaited, isNoted }: NotesSnapshot): 'early' | 'behind' {
  return arrivals <= fewPerSecond && !hasWaited && !isNoted ? 'early' : 'behind';
}
