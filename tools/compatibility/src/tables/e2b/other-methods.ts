import type { Item, Table } from '../../model.ts';

const EXISTS = ['e2e/src/sdk/lifecycle.test.ts', 'Template.exists tells which templates a tenant may use'] as const;
const STOCK = 'services/api/src/e2b/builds/stock-build.integration.test.ts';
const NEEDS_BUILDER = 'in an installation that builds templates, else 403';
const STEP = 'the API hands it to the template-builder';
const TAGS = [
  'services/api/src/e2b/templates/built/built.integration.test.ts',
  'lead to the build that the target has, move, and go, with the stock client',
] as const;
const VOLUMES = [
  'services/api/src/e2b/volumes/volumes.integration.test.ts',
  'are created, listed, connected to and destroyed, each by its own team',
] as const;
const CONTENT = ['services/api/src/e2b/volumes/volumes.integration.test.ts', 'have files and directories'] as const;
const HAS_CLASS = 'with `volumes.storageClass`, else 403';
const SECRETS = [
  'services/api/src/e2b/secrets/secrets.integration.test.ts',
  'are created, listed, updated and deleted by the stock client, which never sees their values',
] as const;
const FILLED = [
  'services/api/src/e2b/egress/rules.integration.test.ts',
  'work with the stock client, placeholders included',
] as const;
const VAULT = 'with `egress.credentials.enabled`, else 403';

/** What a build is described by. */
const STEPS = [
  'fromDebianImage',
  'fromUbuntuImage',
  'fromFedoraImage',
  'fromAlpineImage',
  'fromArchImage',
  'fromPythonImage',
  'fromNodeImage',
  'fromBunImage',
  'fromBaseImage',
  'fromImage',
  'fromTemplate',
  'fromDockerfile',
  'fromAWSRegistry',
  'fromGCPRegistry',
  'copy',
  'copyItems',
  'remove',
  'rename',
  'makeDir',
  'makeSymlink',
  'runCmd',
  'setWorkdir',
  'setUser',
  'pipInstall',
  'npmInstall',
  'bunInstall',
  'aptInstall',
  'addMcpServer',
  'gitClone',
  'setStartCmd',
  'setReadyCmd',
  'setEnvs',
  'skipCache',
  'betaDevContainerPrebuild',
  'betaSetDevContainerStart',
];

export const templateMethods: Table = {
  title: 'Methods for templates',
  what: 'method',
  items: [
    ['Template.exists', 'yes', EXISTS],
    ['Template.aliasExists', 'yes', EXISTS],
    [
      'Template.build',
      'partly',
      [STOCK, 'a template is built by the stock client: steps, files, log and start command'],
      NEEDS_BUILDER,
    ],
    [
      'Template.buildInBackground',
      'partly',
      [STOCK, 'a build in the background goes on without its client, which asks for its state'],
      NEEDS_BUILDER,
    ],
    [
      'Template.getBuildStatus',
      'partly',
      [STOCK, 'a build in the background goes on without its client, which asks for its state'],
      NEEDS_BUILDER,
    ],
    ['Template.assignTags', 'partly', TAGS, 'of templates that were built'],
    ['Template.removeTags', 'partly', TAGS, 'of templates that were built'],
    [
      'Template.getTags',
      'partly',
      [
        'services/api/src/e2b/templates/templates.integration.test.ts',
        'are `default` alone, for the stock client as well',
      ],
      'what no build made has the tag `default` alone, a named snapshot those of its name',
    ],
    ['Template.toJSON', 'no', 'it asks nothing of the API', 'untested'],
    ['Template.toDockerfile', 'no', 'it asks nothing of the API', 'untested'],
    ...STEPS.map((step): Item => [`Template.${step}`, 'no', STEP, 'untested']),
  ],
};

export const otherMethods: Table = {
  title: 'Methods for volumes and secrets',
  what: 'method',
  items: [
    ['Volume.create', 'partly', VOLUMES, HAS_CLASS],
    ['Volume.connect', 'partly', VOLUMES, HAS_CLASS],
    ['Volume.getInfo', 'partly', VOLUMES, HAS_CLASS],
    ['Volume.list', 'partly', VOLUMES, HAS_CLASS],
    ['Volume.destroy', 'partly', VOLUMES, HAS_CLASS],
    ['Volume.makeDir', 'partly', CONTENT, HAS_CLASS],
    ['Volume.exists', 'partly', CONTENT, HAS_CLASS],
    ['Volume.updateMetadata', 'partly', CONTENT, HAS_CLASS],
    ['Volume.readFile', 'partly', CONTENT, HAS_CLASS],
    ['Volume.writeFile', 'partly', CONTENT, HAS_CLASS],
    ['Volume.remove', 'partly', CONTENT, HAS_CLASS],
    ['Secret.create', 'partly', SECRETS, VAULT],
    ['Secret.update', 'partly', SECRETS, VAULT],
    ['Secret.getInfo', 'partly', SECRETS, VAULT],
    ['Secret.list', 'partly', SECRETS, VAULT],
    ['Secret.exists', 'partly', SECRETS, VAULT],
    ['Secret.destroy', 'partly', SECRETS, VAULT],
    ['Secret.fill', 'partly', FILLED, VAULT],
    ['Secret.iamToken', 'no', 'Sandlot issues no identities for workloads'],
  ],
};
