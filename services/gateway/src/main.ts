// The gateway process: clients reach sandboxes, and the API behind the same address, through it.
import { main, runServer } from '@sandlot/service';
import { startGateway } from './server.ts';
import { gatewaySettings } from './wiring/config.ts';

await main(gatewaySettings, (settings) =>
  runServer({ name: 'gateway', settings, build: (parts) => startGateway(parts, settings) }),
);
