/** Every network that our clusters use. Requests to them must bypass the machine's proxy. */
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

/** Folders of root's tools and of Go, which a plain user's PATH may lack. */
const toolFolders = ['/usr/local/sbin', '/usr/sbin', '/sbin', '/usr/local/go/bin'];

/** Returns the environment of child processes: this process's, plus tool folders and proxy exceptions. */
export function buildChildEnvironment(extra: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
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
