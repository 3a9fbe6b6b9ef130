import { json } from '@sandlot/config';
import { processSettings } from '@sandlot/service';
import { wantedCredentials } from '../plan/wanted.ts';

/** Settings of the key-keeper, by environment variable. */
export const keeperSettings = processSettings.extend({
  /** The credentials of the release: services/key-keeper/src/plan/wanted.ts. */
  WANTED: json('the credentials of the release as JSON', wantedCredentials),
});
