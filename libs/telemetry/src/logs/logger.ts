import type { Logger } from '@sandlot/std';
import { trace } from '@opentelemetry/api';
import { pino } from 'pino';
import type { DestinationStream } from 'pino';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

export interface LoggerOptions {
  readonly service: string;
  readonly level: LogLevel;
  /** Default: standard output. */
  readonly destination?: DestinationStream | undefined;
}

/** Fields whose values never reach a log, at the top level and one or two levels down. */
const HIDDEN_FIELDS = [
  'password',
  'pass',
  'secret',
  'token',
  'authorization',
  'cookie',
  'credentials',
  'env',
  'command',
  'args',
];

const HIDDEN_PATHS = HIDDEN_FIELDS.flatMap((field) => [field, `*.${field}`, `*.*.${field}`]);

/**
 * Creates a logger of JSON lines, each with `service`, `level`, ISO `time` and, inside a span, `trace_id` and `span_id`. Put
 * errors under `err`. Values of fields such as `password`, `token`, `env` or `command` are replaced.
 */
export function createLogger({ service, level, destination }: LoggerOptions): Logger {
  return pino(
    {
      level,
      base: { service },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: pino.stdSerializers.err, error: pino.stdSerializers.err },
      redact: { paths: HIDDEN_PATHS, censor: '[secret]' },
      mixin: traceFields,
    },
    destination ?? pino.destination({ sync: true }),
  );
}

function traceFields(): Record<string, string> {
  const span = trace.getActiveSpan()?.spanContext();
  return span === undefined ? {} : { trace_id: span.traceId, span_id: span.spanId };
}
