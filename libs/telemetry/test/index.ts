/** Takes spans from `startTracing({ exporter })` and keeps them for a test to look at. */
export { InMemorySpanExporter } from '@opentelemetry/sdk-trace';
