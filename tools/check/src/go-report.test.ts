import { join } from 'node:path';
import { expect, it } from 'vitest';
import { endTests, parseEvents, readImportPath, reportOf } from './go-report.ts';
import { listFailures } from './report.ts';

const line = (Action: string, Test?: string, Output?: string): string =>
  JSON.stringify({ Action, Package: 'example.org/node/shim', Test, Output });

it('lists each failed Go test with what it said, in the folder of its package', () => {
  const events = parseEvents(
    [
      'not JSON',
      line('output', 'TestDeath', '=== RUN   TestDeath\n'),
      line('output', 'TestDeath/of_the_shim', '    death_test.go:17: the Pod is half\n'),
      line('output', 'TestDeath/of_the_shim', '    death_test.go:18: and twice\n'),
      line('pass', 'TestDeath/of_the_agent'),
      line('fail', 'TestDeath/of_the_shim'),
      line('fail', 'TestDeath'),
      line('skip', 'TestOther'),
      line('fail'),
    ].join('\n'),
  );
  const report = reportOf(events, { 'example.org/node': 'node', 'example.org/node/shim': 'modules/shim' });
  expect(report).toMatchObject({ numPassedTests: 1, numFailedTests: 2, numPendingTests: 1 });
  expect(listFailures(report)).toEqual([
    {
      what: 'modules/shim > TestDeath/of the shim',
      error: 'death_test.go:17: the Pod is half; death_test.go:18: and twice',
    },
  ]);
});

it('lists a package that fails outside its tests', () => {
  const events = parseEvents([line('output', undefined, 'panic: boom\n'), line('fail')].join('\n'));
  expect(listFailures(reportOf(events, {}))).toEqual([{ what: 'example.org/node/shim', error: 'panic: boom' }]);
});

it('lists the tests that a crash of their process left without an end', () => {
  const events = parseEvents(
    [
      line('run', 'TestDeath'),
      line('output', 'TestDeath', 'panic: Log in goroutine after TestOther has completed\n'),
      line('run', 'TestOther'),
      line('pass', 'TestOther'),
      line('fail'),
    ].join('\n'),
  );
  const report = reportOf(endTests(events), {});
  expect(report).toMatchObject({ numPassedTests: 1, numFailedTests: 1 });
  const error = 'panic: Log in goroutine after TestOther has completed';
  expect(listFailures(report)).toEqual([{ what: 'example.org/node/shim > TestDeath', error }]);
});

it('reads the import path of a module, and of a package in one', () => {
  const go = join(import.meta.dirname, '../../local-cluster/go');
  expect(readImportPath(join(go, 'volumes'))).toBe(`${readImportPath(go)}/volumes`);
  expect(readImportPath(go)).toMatch(/^[a-z.]+\/[a-z]+/);
});
