/** Why the gateway refuses a command, a configuration or a request, in words for its caller. */
export type GatewayErrorCode = 'usage' | 'config' | 'server' | 'listen' | 'start';

export class GatewayError extends Error {
  readonly code: GatewayErrorCode;

  constructor(code: GatewayErrorCode, message: string) {
    super(message);
    this.name = 'GatewayError';
    this.code = code;
  }
}

/** The longest text of a caller that a message repeats. */
const MOST_QUOTED = 80;

/** Quotes a text that a caller made up: without control characters, and cut. */
export function quote(text: string): string {
  const shown = text.replace(/\p{C}/gu, '?');
  return `'${shown.length > MOST_QUOTED ? `${shown.slice(0, MOST_QUOTED)}…` : shown}'`;
}

/** The words of anything that was thrown. */
export function describeError(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
