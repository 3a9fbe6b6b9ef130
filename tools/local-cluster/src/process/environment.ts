/** Every network a cluster of ours uses: a proxy of the machine must not be asked for its addresses. */
const clusterNetworks = [
  '127.0.0.1',
  'localhost',
  '10.96.0.0/16',
  '10.244.0.0/22',
  '10.243.0.0/22',
  '10.242.0.0/22',
  '172.29.0.0/22',
  '192.168.244.0/22',
];

/** Where root's tools and Go are even when a plain user's PATH leaves them out. */
const toolFolders = ['/usr/local/sbin', '/usr/sbin', '/sbin', '/usr/local/go/bin'];

/** The environment of child processes: this process's, with the tools' folders and the proxy exceptions added. */
export function childEnvironment(extra: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const { PATH = '/usr/bin:/bin', NO_PROXY, no_proxy: lowerCase } = process.env;
  const exceptions = [NO_PROXY ?? lowerCase, ...clusterNetworks].filter((entry) => entry !== undefined).join(',');
  return {
    ...process.env,
    PATH: [PATH, ...toolFolders].join(':'),
    NO_PROXY: exceptions,
    no_proxy: exceptions,
    ...extra,
  };
}
