// The webhooks process: it sends events of sandboxes to the addresses that teams register.
import { main, runController } from '@sandlot/service';
import { addWebhooks } from './controller.ts';
import { webhookSettings } from './wiring/config.ts';

await main(webhookSettings, (settings) =>
  runController({ name: 'webhooks', settings, build: (parts) => addWebhooks(parts, settings) }),
);
