/** Keeps the spans of `startTracing({ exporter })` for a test. */
export { InMemorySpanExporter } from '@opentelemetry/sdk-trace';
