// The api process: E2B's control plane over SandboxClaims, and Sandlot's own REST.
import { main, runServer } from '@sandlot/service';
import { apiSettings } from './wiring/config.ts';
import { startApi } from './server.ts';

await main(apiSettings, (settings) =>
  runServer({ name: 'api', settings, build: (parts) => startApi(parts, settings) }),
);
