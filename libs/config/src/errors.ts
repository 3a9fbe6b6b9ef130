/** One variable that was wrong. `got` is safe to print: secrets and credentials in URLs are left out. */
export interface ConfigProblem {
  readonly variable: string;
  readonly expected: string;
  readonly got: string;
}

/** Thrown by `loadConfig` with every wrong variable at once, so that one restart is enough to fix them all. */
export class ConfigError extends Error {
  readonly code = 'CONFIG_INVALID';
  readonly problems: readonly ConfigProblem[];

  constructor(problems: readonly ConfigProblem[]) {
    const lines = problems.map(({ variable, expected, got }) => `  ${variable}: expected ${expected}, got ${got}`);
    super(`The environment is not valid:\n${lines.join('\n')}`);
    this.name = 'ConfigError';
    this.problems = problems;
  }
}
