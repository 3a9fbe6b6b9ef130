/** One line of `go test -bench`: its name, and its figures by unit. */
export interface Figure {
  /** Such as `Connect/passed`. */
  readonly name: string;
  readonly units: Readonly<Record<string, number>>;
}

/** Reads what `go test -bench` prints. A benchmark that ran several times has one figure for each run. */
export function parseFigures(text: string): readonly Figure[] {
  return text.split('\n').flatMap((line) => {
    const [head = '', , ...fields] = line.trim().split(/\s+/u);
    const [, name] = /^Benchmark(\S+?)(?:-\d+)?$/u.exec(head) ?? [];
    if (name === undefined) return [];
    const units: Record<string, number> = {};
    for (let index = 0; index + 1 < fields.length; index += 2) units[fields[index + 1] ?? ''] = Number(fields[index]);
    return [{ name, units }];
  });
}

const MEMORY = 'KiB/conn';
const WAYS = ['direct', 'passed', 'inspected'];
const ROWS = [
  { group: 'Connect', what: 'TLS and the first byte of an answer' },
  { group: 'Request', what: 'a request over an open connection' },
  { group: 'Throughput', what: 'a download of 64 MiB' },
  { group: 'Change', what: 'from a change of rules to the end of a connection' },
];

/** Median of the runs of a benchmark in a unit, of memory the highest; undefined if none has it. Later runs reuse memory. */
type Read = (name: string, unit: string) => number | undefined;

/** The tables that `npm run bench:egress` prints. Ratios are against the direct connection of the same run. */
export function formatReport(figures: readonly Figure[]): string {
  const read: Read = (name, unit) => {
    const found = figures.filter((figure) => figure.name === name).flatMap(({ units }) => units[unit] ?? []);
    return unit === MEMORY ? Math.max(...found) : found.toSorted((a, b) => a - b)[Math.floor(found.length / 2)];
  };
  const times = ROWS.map(
    ({ group, what }) => `| ${what} | ${WAYS.map((way) => formatTime(read, group, way)).join(' | ')} |`,
  );
  return [`| | ${WAYS.join(' | ')} |`, '| --- | ---: | ---: | ---: |', ...times, '', ...formatCosts(read)].join('\n');
}

function formatTime(read: Read, group: string, way: string): string {
  const [nanoseconds, floor] = [read(`${group}/${way}`, 'ns/op'), read(`${group}/direct`, 'ns/op')];
  if (nanoseconds === undefined) return '';
  const text = `${(nanoseconds / 1e6).toFixed(2)} ms`;
  return floor === undefined || way === 'direct' ? text : `${text} (${(nanoseconds / floor).toFixed(2)} x)`;
}

function formatCosts(read: Read): readonly string[] {
  const lines = [
    ['MB a second of one core, passed', read('Throughput/passed', 'MB/core-s')],
    ['MB a second of one core, inspected', read('Throughput/inspected', 'MB/core-s')],
    ['KiB of an idle connection, passed', read('Idle/passed', MEMORY)],
    ['KiB of an idle connection, inspected', read('Idle/inspected', MEMORY)],
    ['answers of the resolver a second of one core', read('Resolve', 'answers/core-s')],
  ] as const;
  return lines.flatMap(([what, figure]) =>
    figure === undefined || figure === -Infinity ? [] : [`- ${what}: ${Math.round(figure)}`],
  );
}
