import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { resolveConnection } from '../../connection/resolve-connection.ts';
import { temporaryFolder } from '../worker/embedded/support.ts';

function withConfig(toml: string) {
  const XDG_CONFIG_HOME = temporaryFolder();
  const file = join(XDG_CONFIG_HOME, 'temporalio/temporal.toml');
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, toml);
  return { XDG_CONFIG_HOME, HOME: XDG_CONFIG_HOME };
}

const bare = () => ({ HOME: temporaryFolder() });

test('with nothing set the server is the embedded one', () => {
  expect(resolveConnection(bare())).toEqual({ kind: 'embedded' });
  expect(resolveConnection({ ...bare(), TEMPORAL_ADDRESS: '', TEMPORAL_NAMESPACE: 'n' })).toEqual({ kind: 'embedded' });
});

test('TEMPORAL_ADDRESS makes it an external one, with the port and the namespace of Temporal when none are given', () => {
  expect(resolveConnection({ ...bare(), TEMPORAL_ADDRESS: 'temporal.local' })).toEqual({
    kind: 'external',
    address: 'temporal.local:7233',
    namespace: 'default',
  });
});

test.runIf(process.platform === 'linux')(
  'the default profile of the configuration file counts when it has an address',
  () => {
    const env = withConfig(
      '[profile.default]\naddress = "h:1"\nnamespace = "n"\napi_key = "k"\n[profile.bare]\nnamespace = "n"',
    );
    expect(resolveConnection(env)).toEqual({
      kind: 'external',
      address: 'h:1',
      namespace: 'n',
      apiKey: 'k',
      tls: true,
    });
    expect(resolveConnection({ ...env, TEMPORAL_ADDRESS: 'other:2' })).toMatchObject({ address: 'other:2' });
    expect(() => resolveConnection({ ...env, TEMPORAL_PROFILE: 'bare' })).toThrow(/profile bare in .* has no address/);
  },
);

test.runIf(process.platform === 'linux')(
  'a configuration file without a profile with an address leaves the embedded one',
  () => {
    for (const toml of ['', '# nothing', '[profile.default]\nnamespace = "n"'])
      expect(resolveConnection(withConfig(toml))).toEqual({ kind: 'embedded' });
  },
);

test.each([
  ['bad TOML', '[profile.default\n', {}, /temporal\.toml.* cannot be used: Invalid TOML/],
  [
    'a profile that is not there',
    '[profile.a]\naddress = "h:1"',
    { TEMPORAL_PROFILE: 'b' },
    /cannot be used: Profile 'b' not found/,
  ],
  [
    'a certificate that is not there',
    '[profile.default]\naddress = "h:1"\n[profile.default.tls]\nclient_cert_path = "/no/such.pem"',
    {},
    /cannot be used: ENOENT.*\/no\/such\.pem/,
  ],
  [
    'a bad address',
    '',
    { TEMPORAL_ADDRESS: 'http://h:1' },
    /"http:\/\/h:1" is not host:port: correct TEMPORAL_ADDRESS/,
  ],
  ['a bad port', '', { TEMPORAL_ADDRESS: 'h:99999' }, /is not host:port/],
])('%s is refused in one line', (_what, toml, change, message) => {
  const env = withConfig(toml);
  const TEMPORAL_CONFIG_FILE = join(env.XDG_CONFIG_HOME, 'temporalio/temporal.toml');
  const resolve = () => resolveConnection({ ...env, TEMPORAL_CONFIG_FILE, ...change });
  expect(resolve).toThrow(message);
  expect(resolve).toThrow(/^[^\n]*$/);
});

test('a configuration file that was asked for and is not there is refused', () => {
  expect(() => resolveConnection({ ...bare(), TEMPORAL_CONFIG_FILE: '/no/such.toml' })).toThrow(
    /cannot read the Temporal configuration \/no\/such\.toml/,
  );
});
