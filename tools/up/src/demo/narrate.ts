import type { ClaimTimeline } from './timeline.ts';

/** Output of the demonstration: the commands it runs, and their results. */
export interface Say {
  printHeading(text: string): void;
  printCommand(text: string): void;
  printLines(texts: readonly string[]): void;
}

/** Creates a narrator that writes commands after a `$` and results indented below. */
export function createNarrator(stream: NodeJS.WriteStream = process.stdout): Say {
  return {
    printHeading: (text) => void stream.write(`\n${text}\n`),
    printCommand: (text) => void stream.write(`  $ ${text}\n`),
    printLines: (texts) => void stream.write(texts.map((text) => `      ${text}\n`).join('')),
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
