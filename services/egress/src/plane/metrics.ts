import type { MetricsRegistry } from '@sandlot/telemetry';
import { Gauge } from 'prom-client';

/** What is measured of the connection to the data plane. */
export interface MeasuredConnection {
  readonly isConnected: boolean;
  readonly unconfirmed: number;
}

/** Creates the metrics of the connection to the data plane, which are read at each scrape. */
export function createPlaneMetrics(registry: MetricsRegistry, connection: MeasuredConnection): void {
  const gauge = (name: string, help: string, read: () => number): void => {
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(read());
      },
    });
  };
  gauge('sandlot_egress_plane_connected', '1 while the rules process is connected to the data plane.', () =>
    Number(connection.isConnected),
  );
  gauge(
    'sandlot_egress_plane_unconfirmed',
    'Messages to the data plane that it has not confirmed.',
    () => connection.unconfirmed,
  );
}
