/** A failure with advice for the user. `main.ts` prints both. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly code: 'Usage' | 'Failed';
  readonly advice: string;

  constructor(message: string, advice: string, code: 'Usage' | 'Failed' = 'Failed') {
    super(message);
    this.code = code;
    this.advice = advice;
  }
}
