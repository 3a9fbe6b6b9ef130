import { code, table } from './table.ts';

/** One state of a condition. */
export interface ConditionRow {
  readonly condition: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  /** What the message can be; parts in angle brackets vary. Absent where messages are for people alone. */
  readonly messages?: readonly string[];
  readonly when: string;
}

const ANY_NUMBER = 7_654_321;

/** A message with its number shown as `<n>`. */
export function numberPlaceholders(message: (count: number) => string): string {
  return message(ANY_NUMBER).replaceAll(String(ANY_NUMBER), '<n>');
}

/** The rows as a table; with a column of messages where the rows have them. */
export function formatConditionTable(rows: readonly ConditionRow[]): string {
  const hasMessages = rows.some(({ messages }) => messages !== undefined);
  const head = ['condition', 'status', 'reason', ...(hasMessages ? ['message'] : []), 'when'];
  return table(
    head,
    rows.map(({ condition, status, reason, messages = [], when }) => [
      condition,
      status,
      code(reason),
      ...(hasMessages ? [messages.map(code).join('<br>')] : []),
      when,
    ]),
  );
}
