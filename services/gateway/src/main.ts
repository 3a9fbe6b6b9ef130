// The gateway process: the door through which clients reach sandboxes, and the API behind the same address.
import { main, runServer } from '@sandlot/service';
import { gatewaySettings } from './wiring/config.ts';
import { startGateway } from './server.ts';

await main(gatewaySettings, (settings) =>
  runServer({ name: 'gateway', settings, build: (parts) => startGateway(parts, settings) }),
);
