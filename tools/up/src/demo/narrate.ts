import type { ClaimTimeline } from './timeline.ts';

/** Output of the demonstration: the commands it runs, and their results. */
export interface Say {
  heading(text: string): void;
  command(text: string): void;
  lines(texts: readonly string[]): void;
}

/** Creates a narrator that writes commands after a `$` and results indented below. */
export function createNarrator(stream: NodeJS.WriteStream = process.stdout): Say {
  return {
    heading: (text) => void stream.write(`\n${text}\n`),
    command: (text) => void stream.write(`  $ ${text}\n`),
    lines: (texts) => void stream.write(texts.map((text) => `      ${text}\n`).join('')),
  };
}

/** Formats the timeline as three aligned lines. */
export function formatTimeline({ submittedMs, boundMs, readyMs, sandbox, origin }: ClaimTimeline): readonly string[] {
  const how = origin === 'Warm' ? ', taken from the warm pool' : origin === 'Cold' ? ', made for this claim' : '';
  return [
    `${formatMilliseconds(submittedMs)}  submitted`,
    `${formatMilliseconds(boundMs)}  bound to ${sandbox}${how}`,
    `${formatMilliseconds(readyMs)}  ready`,
  ];
}

function formatMilliseconds(ms: number): string {
  return `${Math.round(ms).toString().padStart(6)} ms`;
}
