import type { StepKey } from './step-key.ts';
import type { Step } from './instruction.ts';

const SHOWN_DIGITS = 12;
/** A step can have a script of many lines; its log line has to stay readable. */
const MOST_CHARACTERS = 200;

/** The log line of the base step, in the words of E2B. */
export function describeBase(source: string, key: StepKey, isCached: boolean): string {
  return mark(`[base] FROM ${source}`, key, isCached);
}

export interface StepPlace {
  /** From 1. */
  readonly position: number;
  readonly count: number;
}

/** The log line of a step, in the words of E2B. Values of variables are left out: authors put tokens there. */
export function describeStep(
  step: Step,
  { position, count }: StepPlace,
  cached: { key: StepKey; isCached: boolean },
): string {
  return mark(
    `[builder ${position}/${count}] ${step.type} ${shorten(listShown(step).join(' '))}`,
    cached.key,
    cached.isCached,
  );
}

function listShown({ type, args }: Step): readonly string[] {
  if (type === 'ENV') return args.filter((_, index) => index % 2 === 0);
  // The second argument of RUN is its user, the last two of COPY are owner and mode.
  return type === 'RUN' ? args.slice(0, 1) : args.slice(0, 2);
}

function mark(text: string, key: StepKey, isCached: boolean): string {
  return `${isCached ? 'CACHED ' : ''}${text} [${key.slice(0, SHOWN_DIGITS)}]`;
}

function shorten(text: string): string {
  const line = text.replaceAll(/\s*\n\s*/g, ' ');
  return line.length <= MOST_CHARACTERS ? line : `${line.slice(0, MOST_CHARACTERS)}…`;
}
