/** One line of the Prometheus text format. */
interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** The sum of the samples of a metric with these labels; 0 when there is none. */
export function readSum(page: string, name: string, labels: Readonly<Record<string, string>> = {}): number {
  let sum = 0;
  for (const line of page.split('\n')) {
    if (!line.startsWith(name)) continue;
    const sample = parse(line);
    if (sample?.name !== name) continue;
    if (Object.entries(labels).every(([key, value]) => sample.labels[key] === value)) sum += sample.value;
  }
  return sum;
}

function parse(line: string): Sample | undefined {
  const found = /^([a-zA-Z_:][\w:]*)(?:\{(.*?)\})? (\S+)/.exec(line);
  if (found === null) return undefined;
  const [, name = '', inner = '', value = ''] = found;
  const labels = [...inner.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key = '', text = '']) => [key, text]);
  return { name, labels: Object.fromEntries(labels) as Record<string, string>, value: Number(value) };
}
