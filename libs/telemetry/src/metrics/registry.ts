import type { Registry, RegistryContentType } from 'prom-client';

/** The registry of a process; metrics register with `registers: [registry]`. */
export type MetricsRegistry = Registry<RegistryContentType>;
