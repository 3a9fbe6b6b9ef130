import { context, trace } from '@opentelemetry/api';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createLogger } from './logger.ts';
import { startTracing } from '../traces/tracing.ts';
import type { Tracing } from '../traces/tracing.ts';

const span = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331', traceFlags: 1 };

function recorder() {
  const lines: Record<string, unknown>[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) };
  return { lines, log: createLogger({ service: 'claim-controller', level: 'info', destination }) };
}

describe('createLogger', () => {
  let tracing: Tracing;
  beforeEach(() => {
    tracing = startTracing({ service: 'test' });
  });
  afterEach(() => tracing.shutDown());

  it('writes one JSON line with service, level, time and fields', () => {
    const { lines, log } = recorder();
    log.child({ key: 'a/b' }).info({ uid: 'u-1' }, 'bound');
    expect(lines).toHaveLength(1);
    const { time, ...rest } = lines[0] ?? {};
    expect(time).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/);
    expect(rest).toEqual({ level: 'info', service: 'claim-controller', key: 'a/b', uid: 'u-1', msg: 'bound' });
  });

  it('writes nothing below its level', () => {
    const { lines, log } = recorder();
    log.debug({}, 'detail');
    expect(lines).toEqual([]);
  });

  it('adds the ids of the active span', () => {
    const { lines, log } = recorder();
    context.with(trace.setSpanContext(context.active(), span), () => log.warn({}, 'slow'));
    expect(lines[0]).toMatchObject({ level: 'warn', trace_id: span.traceId, span_id: span.spanId });
  });

  it('writes an error with its message, stack and cause', () => {
    const { lines, log } = recorder();
    log.error({ err: new Error('outer', { cause: new Error('inner') }) }, 'failed');
    expect(lines[0]).toMatchObject({ err: { type: 'Error', message: 'outer: inner' } });
    expect(JSON.stringify(lines[0])).toContain('logger.test.ts');
  });

  it.each([
    ['at the top', { password: 'hunter2', token: 'hunter2', env: { A: 'hunter2' }, command: ['hunter2'] }],
    ['one level down', { request: { authorization: 'hunter2', cookie: 'hunter2' } }],
    ['two levels down', { request: { headers: { authorization: 'hunter2' } } }],
  ])('hides secrets %s', (_where, fields) => {
    const { lines, log } = recorder();
    log.info(fields, 'request');
    expect(JSON.stringify(lines)).toContain('[secret]');
    expect(JSON.stringify(lines)).not.toContain('hunter2');
  });
});
