import type { CloudEvent, DeadLetter } from '@sandlot/bus';

const COLOURS = { red: 31, green: 32, yellow: 33, cyan: 36, grey: 90 } as const;

/** What calls for a look is red or yellow, what went well green. */
const TONES: Readonly<Record<string, keyof typeof COLOURS>> = {
  'claim.bound': 'green',
  'claim.completed': 'green',
  'claim.failed': 'red',
  'claim.expired': 'yellow',
  'sandbox.ready': 'green',
  'sandbox.expired': 'yellow',
  'pool.ready': 'green',
  'pool.depleted': 'red',
  'pool.stuck': 'red',
};

const WHAT_WIDTH = 24;
const WHO_WIDTH = 36;
const IDENTITY = new Set(['namespace', 'name', 'uid']);

export interface Style {
  readonly json: boolean;
  readonly colour: boolean;
  /** Columns of the terminal; undefined: lines are not cut. */
  readonly width: number | undefined;
}

/** One line for one event, without its end. */
export function eventLine(event: CloudEvent, style: Style): string {
  if (style.json) return JSON.stringify(event);
  const { namespace, name } = event.data;
  const who = `${namespace}/${name}`;
  const time = event.time.slice(0, 19).replace('T', ' ');
  const rest = detailsOf(event.data);
  const plain = `${time}  ${event.type.padEnd(WHAT_WIDTH)}${who.padEnd(WHO_WIDTH - 1)} ${rest}`.trimEnd();
  const cut = style.width === undefined ? plain : plain.slice(0, style.width);
  if (!style.colour) return cut;
  const what = cut.slice(time.length, time.length + 2 + WHAT_WIDTH);
  return `${paint('grey', time)}${paint(TONES[event.type] ?? 'cyan', what)}${cut.slice(time.length + 2 + WHAT_WIDTH)}`;
}

/** One line for a dead letter. */
export function letterLine(letter: DeadLetter & { readonly replayed?: boolean }, style: Style): string {
  if (style.json) return JSON.stringify(letter);
  const done =
    letter.replayed === undefined ? '' : letter.replayed ? '  replayed' : '  not replayed: it has left the stream';
  const head = `#${letter.sequence} ${letter.at.slice(0, 19)}Z  ${letter.consumer} gave up after ${letter.deliveries} tries${done}`;
  const event = letter.event === undefined ? 'an event that is gone, or was none' : eventLine(letter.event, style);
  return `${head}\n  ${event}`;
}

function detailsOf(data: object): string {
  return Object.entries(data)
    .filter(([key, value]) => !IDENTITY.has(key) && value !== undefined)
    .map(([key, value]) => `${key}=${textOf(value)}`)
    .join(' ');
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return /[\s"]/.test(value) ? JSON.stringify(value) : value;
  if (typeof value === 'object' && value !== null && 'name' in value) return String(value.name);
  return JSON.stringify(value);
}

function paint(colour: keyof typeof COLOURS, text: string): string {
  return `\u001b[${COLOURS[colour]}m${text}\u001b[0m`;
}
