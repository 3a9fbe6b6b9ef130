// The volume-controller process: it gives each namespace with volumes a disk and a file server, and removes data of deleted volumes.
import { main, runController } from '@sandlot/service';
import { addVolumeController } from './controller.ts';
import { volumeSettings } from './wiring/config.ts';

await main(volumeSettings, (settings) =>
  runController({
    name: 'volume-controller',
    settings,
    build: (parts) => {
      addVolumeController(parts, settings);
      return {};
    },
  }),
);
