// The API process: the E2B control plane over SandboxClaims, and Sandlot's own REST API.
import { main, runServer } from '@sandlot/service';
import { startApi } from './server.ts';
import { apiSettings } from './wiring/config.ts';

await main(apiSettings, (settings) =>
  runServer({ name: 'api', settings, build: (parts) => startApi(parts, settings) }),
);
