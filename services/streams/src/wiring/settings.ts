import { url } from '@sandlot/config';
import { processSettings, streamSettings } from '@sandlot/service';

/** Settings of this process. Without NATS it has nothing to do. */
export const streamsSettings = processSettings.extend({ ...streamSettings.shape, NATS_URL: url(['nats', 'tls']) });
