/** Why a claim has no Sandbox, as its Ready condition says it. */
export interface Report {
  readonly reason: string;
  readonly message: string;
  /** Nothing but a change of the claim or of what it names can help: no retry. */
  readonly final?: boolean | undefined;
}
