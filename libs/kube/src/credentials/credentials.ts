/** How to reach an API server and prove who we are. The fields are read again for every new connection. */
export interface Credentials {
  /** `https://host:port`, optionally with a path. `http://` means HTTP/2 in clear text, which only test servers speak. */
  readonly server: string;
  /** PEM; absent: the public roots. */
  readonly ca?: string | Buffer | undefined;
  /** PEM of the client certificate and its key. */
  readonly cert?: string | Buffer | undefined;
  readonly key?: string | Buffer | undefined;
  /** Accepts any server certificate. */
  readonly insecure?: boolean | undefined;
  /** Name the server's certificate must carry, when it is not the host of `server`. */
  readonly serverName?: string | undefined;
  /** User to act as, sent as `Impersonate-User`. */
  readonly impersonate?: string | undefined;
  /** Value of the Authorization header. Asked for before every request, so it answers from memory most of the time. */
  authorization(): Promise<string | undefined>;
  /** Called after a 401: the next answers come from the source, not from memory. */
  refresh?(): Promise<void>;
}
