// The template-builder process: it runs the steps of SandboxTemplateBuilds in sandboxes, and makes images and templates of them.
import { main, runController } from '@sandlot/service';
import { addTemplateBuilder } from './controller.ts';
import { builderSettings } from './wiring/config.ts';

await main(builderSettings, (settings) =>
  runController({
    name: 'template-builder',
    settings,
    build: (parts) => addTemplateBuilder(parts, settings),
  }),
);
