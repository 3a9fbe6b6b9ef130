/** Why a claim has no Sandbox, for its Ready condition. */
export interface Report {
  readonly reason: string;
  readonly message: string;
  /** Only a change of the claim or of what it names can help: no retry. */
  readonly final?: boolean | undefined;
}
