import { expect, it } from 'vitest';
import { formatReport, parseFigures } from './report.ts';

const OUTPUT = `goos: linux
BenchmarkConnect/direct-2   10   2000000 ns/op
BenchmarkConnect/passed-2   10   3000000 ns/op
BenchmarkConnect/passed-2   10   9000000 ns/op
BenchmarkConnect/passed-2   10   2500000 ns/op
BenchmarkThroughput/passed-2 1   200000000 ns/op  272.02 MB/s  6711.4 MB/core-s
BenchmarkResolve-2   100   90000 ns/op   45000.2 answers/core-s
PASS`;

it('compares each way with the direct one, by the median of its runs', () => {
  expect(formatReport(parseFigures(OUTPUT)).split('\n')).toEqual([
    '| | direct | passed | inspected |',
    '| --- | ---: | ---: | ---: |',
    '| TLS and the first byte of an answer | 2.00 ms | 3.00 ms (1.50 x) |  |',
    '| a request over an open connection |  |  |  |',
    '| a download of 64 MiB |  | 200.00 ms |  |',
    '| from a change of rules to the end of a connection |  |  |  |',
    '',
    '- MB a second of one core, passed: 6711',
    '- answers of the resolver a second of one core: 45000',
  ]);
});
