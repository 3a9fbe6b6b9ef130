/** A failure as the user sees it. */
export interface Failure {
  /** Title of the step in the progress lines. */
  readonly step: string;
  readonly problem: string;
  /** Output of a command or other details, shown indented below the problem. */
  readonly details?: string | undefined;
  /** What to do next: a command or a sentence. */
  readonly advice?: string | undefined;
}

/** A failure of `npm run up` that explains itself. */
export class UpError extends Error {
  readonly failure: Failure;

  constructor(failure: Failure, options?: ErrorOptions) {
    super(`${failure.step}: ${failure.problem}`, options);
    this.name = 'UpError';
    this.failure = failure;
  }
}

/** Formats a failure for the terminal. An unexpected error keeps its stack. */
export function describeFailure(error: unknown): string {
  if (error instanceof UpError) return describeUpError(error.failure);
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return `✗ ${error.message}`;
  return `✗ ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
}

function describeUpError({ step, problem, details, advice }: Failure): string {
  const lines = [`✗ ${step}: ${problem}`];
  if (details !== undefined && details.trim() !== '') lines.push(indent(details.trim()));
  if (advice !== undefined) lines.push('', advice);
  return lines.join('\n');
}

function indent(text: string): string {
  return text
    .split('\n')
    .map((line) => `    ${line}`)
    .join('\n');
}
