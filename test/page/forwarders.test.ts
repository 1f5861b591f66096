// Names under which a forwarder of ports shows a page of this machine.
import { expect, test } from 'vitest';
import { forwardersOf, nameAt } from '../../page/hosting/page-host.ts';
import { placeOfPage } from '../../page/hosting/page-options.ts';
import { tempDir } from '../support/temp-dir.ts';

const codespace = {
  CODESPACES: 'true',
  CODESPACE_NAME: 'fuzzy-train-7wq',
  GITHUB_CODESPACES_PORT_FORWARDING_DOMAIN: 'app.github.dev',
};

test.each([
  ['GitHub Codespaces', codespace, 'fuzzy-train-7wq-7420.app.github.dev'],
  ['Gitpod', { GITPOD_WORKSPACE_URL: 'https://me-app-x1.ws-eu1.gitpod.io' }, '7420-me-app-x1.ws-eu1.gitpod.io'],
  [
    'Cloud Shell',
    { CLOUD_SHELL: 'true', WEB_HOST: 'cs-1-default.cs-x.cloudshell.dev' },
    '7420-cs-1-default.cs-x.cloudshell.dev',
  ],
])('a workspace of %s says its name in the environment (O12)', (_, env, name) => {
  expect(forwardersOf(env).map((forwarder) => nameAt(forwarder, 7420))).toEqual([name]);
});

test.each([
  {},
  { CODESPACES: 'true' },
  { ...codespace, CODESPACES: undefined },
  { ...codespace, CODESPACE_NAME: 'a/b' },
  { ...codespace, GITHUB_CODESPACES_PORT_FORWARDING_DOMAIN: '' },
  { GITPOD_WORKSPACE_URL: 'https://user@evil.example/x' },
  { WEB_HOST: 'cs-1.cloudshell.dev' },
])('an environment that says half of it names nothing: %j (O12)', (env) => {
  expect(forwardersOf(env)).toEqual([]);
});

test('a name of the user’s own goes before those of the environment, and one that is none is refused (O12)', async () => {
  const folder = tempDir();
  const at = { cwd: () => folder, env: { PERDURE_DATA: folder, ...codespace } };
  const { forwarders } = await placeOfPage(at, { pageForwarded: 'PORT-me.example' });
  expect(forwarders.map((forwarder) => nameAt(forwarder, 80))).toEqual([
    '80-me.example',
    'fuzzy-train-7wq-80.app.github.dev',
  ]);
  for (const name of ['', '*', '*.example', 'https://me.example', 'me.example/', 'Me.Example', 'example', '.example'])
    await expect(placeOfPage(at, { pageForwarded: name })).rejects.toThrow(
      `--page-forwarded is ${JSON.stringify(name)}: give the name alone under which the page is forwarded`,
    );
  await expect(placeOfPage(at, { pageForwarded: 'me.example', pageHost: 'ops.example' })).rejects.toThrow(
    '--page-forwarded is of a page of this machine: with --page-host its name is the one that counts',
  );
});
