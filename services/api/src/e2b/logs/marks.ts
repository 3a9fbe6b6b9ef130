// Lines that a daemon has written into the log of its container: docs/reference/runtime.md#records-in-the-log.
import { createHash } from 'node:crypto';
import { levels } from './lines.ts';
import type { Level, LogLine } from './lines.ts';

const TAG_DOMAIN = 'sandlot-log-v1\n';
const TAG_LENGTH = 16;
const MARK = /^\[process (\d{1,10}) (start|stdout|stderr|end|omitted) (debug|info|warn|error) ([0-9a-f]{16})\] ([^]*)$/;

/** This tag distinguishes lines of the daemon from lines of a program that prints what visitors send it: they do not know the UID of the Sandbox. */
export function formatTag(sandboxUid: string): string {
  return createHash('sha256').update(`${TAG_DOMAIN}${sandboxUid}`).digest('hex').slice(0, TAG_LENGTH);
}

/** The line of a process if it has the mark of this Sandbox, else the line as its container printed it. */
export function readMark(line: LogLine, tag: string): LogLine {
  const [, pid = '', event = '', level, tagOfLine, message = ''] = MARK.exec(line.message) ?? [];
  const known = levels.find((each) => each === level);
  if (known === undefined || tagOfLine !== tag) return line;
  return { ms: line.ms, message, process: { level: known, event, pid: pid === '0' ? undefined : pid } };
}

/** The lines of a log, those of processes without their marks. */
export async function* readMarks(lines: AsyncIterable<LogLine>, tag: string): AsyncGenerator<LogLine> {
  for await (const line of lines) yield readMark(line, tag);
}

/** A regular expression of Loki for lines that may have this level at least; undefined: any line may. */
export function buildLevelPattern(least: Level): string | undefined {
  const wanted = levels.slice(levels.indexOf(least));
  return wanted.includes('info') ? undefined : `^\\[process [0-9]+ [a-z]+ (${wanted.join('|')}) [0-9a-f]+\\] `;
}
