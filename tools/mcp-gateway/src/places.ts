import type { Catalogue, Folders } from './catalogue.ts';
import { catalogue } from './catalogue.ts';

/** Where the program finds and keeps things. */
export interface Places {
  readonly catalogue: Catalogue;
  readonly folders: Folders;
  readonly port: number;
  /** Folder of the token and the configuration, for root alone. Clients read `.token` in it. */
  readonly state: string;
  readonly log: string;
  /** The user that servers run as. Undefined to run them as the gateway's own. */
  readonly user: string | undefined;
}

/** Those of the image. */
export const imagePlaces: Places = {
  catalogue,
  folders: { servers: '/opt/mcp-gateway/servers', python: '/opt/mcp-gateway/python', home: '/home/user' },
  port: 50_005,
  state: '/etc/mcp-gateway',
  log: '/var/log/mcp-gateway.log',
  user: 'user',
};
