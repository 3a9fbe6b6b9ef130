// The rules process of egress by name: it follows the cluster, and pushes to the data plane what each sandbox may reach.
import { main, runServer } from '@sandlot/service';
import { startEgress } from './server.ts';
import { egressSettings } from './wiring/settings.ts';

await main(egressSettings, (settings) =>
  runServer({ name: 'egress', settings, build: (parts) => startEgress(parts, settings) }),
);
