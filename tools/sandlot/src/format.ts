import type { CloudEvent, DeadLetter } from '@sandlot/bus';

const COLOURS = { red: 31, green: 32, yellow: 33, cyan: 36, grey: 90 } as const;

/** Problems are red or yellow, successes green. */
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

const TIME_WIDTH = 19;
const TYPE_WIDTH = 22;
/** Smallest width of the object column, which grows with the longest name so far. */
const OBJECT_WIDTH = 30;
const OBJECT_MAX_WIDTH = 64;
const IDENTITY = new Set(['namespace', 'name', 'uid']);

export interface Style {
  readonly json: boolean;
  readonly colour: boolean;
  /** Columns of the terminal. Undefined does not truncate lines. */
  readonly width: number | undefined;
}

/** Formats events as JSON lines, or as rows of a table that may grow. */
export class EventTable {
  readonly #style: Style;
  #objectWidth = OBJECT_WIDTH;
  #begun = false;

  constructor(style: Style) {
    this.#style = style;
  }

  get isEmpty(): boolean {
    return !this.#begun;
  }

  /** Formats one event, without a final newline. The first event of a table comes with the heading. */
  add(event: CloudEvent): string {
    if (this.#style.json) return JSON.stringify(event);
    const row = this.row(event);
    if (this.#begun) return row;
    this.#begun = true;
    return `${this.#line(['TIME (UTC)', 'TYPE', 'OBJECT', 'DETAILS'], 'grey')}\n${row}`;
  }

  row(event: CloudEvent): string {
    const { namespace, name } = event.data;
    const object = `${namespace}/${name}`;
    this.#objectWidth = Math.max(this.#objectWidth, Math.min(object.length, OBJECT_MAX_WIDTH));
    const time = event.time.slice(0, TIME_WIDTH).replace('T', ' ');
    return this.#line([time, event.type, object, getDetails(event.data)], TONES[event.type] ?? 'cyan');
  }

  #line([time, type, object, details]: readonly [string, string, string, string], tone: keyof typeof COLOURS): string {
    const { width = Infinity, colour } = this.#style;
    const columns = [time.padEnd(TIME_WIDTH), type.padEnd(TYPE_WIDTH), object.padEnd(this.#objectWidth), details];
    const plain = columns.join('  ').trimEnd().slice(0, width);
    if (!colour) return plain;
    const end = TIME_WIDTH + 2 + TYPE_WIDTH;
    return `${paint('grey', plain.slice(0, TIME_WIDTH))}${paint(tone, plain.slice(TIME_WIDTH, end))}${plain.slice(end)}`;
  }
}

/** Formats a dead letter: a line about the delivery and a line with the event, or one line of JSON. */
export function formatLetter(letter: DeadLetter & { readonly replayed?: boolean }, style: Style): string {
  if (style.json) return JSON.stringify(letter);
  const done =
    letter.replayed === undefined ? '' : letter.replayed ? '  replayed' : '  not replayed: it has left the stream';
  const head = `#${letter.sequence} ${letter.at.slice(0, 19)}Z  ${letter.consumer} gave up after ${letter.deliveries} tries${done}`;
  const event =
    letter.event === undefined ? 'an event that is gone, or was none' : new EventTable(style).row(letter.event);
  return `${head}\n  ${event}`;
}

function getDetails(data: object): string {
  return Object.entries(data)
    .filter(([key, value]) => !IDENTITY.has(key) && value !== undefined && value !== 'unknown')
    .map(([key, value]) => `${key}=${getText(value)}`)
    .join(' ');
}

function getText(value: unknown): string {
  if (typeof value === 'number') return String(Math.round(value * 10) / 10);
  if (typeof value === 'string') return /[\s"]/.test(value) ? JSON.stringify(value) : value;
  if (typeof value === 'object' && value !== null && 'name' in value) return String(value.name);
  return JSON.stringify(value);
}

function paint(colour: keyof typeof COLOURS, text: string): string {
  return `\u001b[${COLOURS[colour]}m${text}\u001b[0m`;
}
