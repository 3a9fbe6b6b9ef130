import type { Unit } from '../dashboards/model.ts';

const BYTES = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

/** Formats a value for people, such as `12.5 ms` or `2 GiB`. */
export function formatValue(value: number, unit: string): string {
  if (!Number.isFinite(value)) return '-';
  return (FORMATS[unit as Unit] ?? plain)(value);
}

const plain = (value: number): string => {
  if (value === 0) return '0';
  if (Math.abs(value) >= 1_000) return `${short(value / 1_000)}k`;
  return short(value);
};

const FORMATS: Readonly<Partial<Record<Unit, (value: number) => string>>> = {
  s: (value) => seconds(value),
  ms: (value) => seconds(value / 1_000),
  percentunit: (value) => `${short(value * 100)} %`,
  bytes: (value) => bytes(value),
  binBps: (value) => `${bytes(value)}/s`,
  ops: (value) => `${plain(value)}/s`,
  reqps: (value) => `${plain(value)}/s`,
};

function seconds(value: number): string {
  if (value === 0) return '0';
  if (Math.abs(value) < 1) return `${short(value * 1_000)} ms`;
  return value < 120 ? `${short(value)} s` : `${short(value / 60)} min`;
}

function bytes(value: number): string {
  let [amount, rank] = [value, 0];
  while (amount >= 1_024 && rank < BYTES.length - 1) [amount, rank] = [amount / 1_024, rank + 1];
  return `${short(amount)} ${BYTES[rank] ?? ''}`;
}

function short(value: number): string {
  return String(Number(value.toPrecision(3)));
}
