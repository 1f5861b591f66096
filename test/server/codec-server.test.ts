// Temporal's own command line reads a sealed session through `perdure codec-server`, and nothing
// without a token (D6).
import { execFile } from 'node:child_process';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { expect, inject, onTestFinished, test } from 'vitest';
import { serveCodec } from '../../page/codec/serve-codec.ts';
import { readApiToken } from '../../page/page-address.ts';
import { reply } from '../../scripted-model/index.ts';
import { findBinary } from '../../worker/embedded/find-binary.ts';
import { harness } from '../support/harness.ts';
import { newKeys } from '../support/new-keys.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';

/** On a busy machine the command gives a page of a history up after ten seconds. */
const temporal = (...args: readonly string[]): Promise<string> =>
  until(() =>
    tryTemporal(...args).catch((error: Error) => {
      if (!error.message.includes('deadline exceeded')) throw error;
      return null;
    }),
  );

async function tryTemporal(...args: readonly string[]): Promise<string> {
  const { path } = await findBinary({ env: process.env, wanted: null, say: () => {} });
  const at = ['--address', inject('temporalAddress'), '--output', 'json'];
  const env = { PATH: process.env.PATH, HOME: tempDir() };
  const { stdout } = await promisify(execFile)(path, [...args, ...at], { env, maxBuffer: 64 * 1024 * 1024 });
  return stdout;
}

/** Every payload of the text whose data is JSON in base64, as text. */
const clearOf = (shown: string): string =>
  [...shown.matchAll(/"data": ?"([A-Za-z0-9+/=]+)"/g)]
    .map(([, data = '']) => Buffer.from(data, 'base64').toString())
    .join('\n') + shown;

test('`temporal workflow show` and `describe` read a sealed session with a token, and not without (D6)', async () => {
  const keys = newKeys();
  const h = await harness({ script: [reply('Done.')], keys });
  const session = await h.open('Read the secret word: xylophone.');
  await session.ended(1);
  const data = dirname(keys.path);
  const env = {
    PERDURE_DATA: data,
    HOME: data,
    TEMPORAL_ADDRESS: inject('temporalAddress'),
    PERDURE_CODEC_KEYS: keys.path,
  };
  const served = await serveCodec({ cwd: () => data, env }, { listen: '127.0.0.1:0' });
  onTestFinished(() => served.close());
  const show = ['workflow', 'show', '--workflow-id', session.id];
  const at = ['--codec-endpoint', served.url];
  const auth = ['--codec-auth', `Bearer ${readApiToken(data)}`];
  expect(clearOf(await temporal(...show))).not.toContain('xylophone');
  const shown = clearOf(await temporal(...show, ...at, ...auth));
  expect(shown).toContain('xylophone');
  expect(shown).not.toContain('perdure:undecodable');
  expect(clearOf(await temporal('workflow', 'describe', '--workflow-id', session.id, ...at, ...auth))).toContain(
    'xylophone',
  );
  for (const refused of [[], ['--codec-auth', `Bearer ${'x'.repeat(40)}`]]) {
    // The command tries again until its time is over.
    const failing = tryTemporal(...show, ...at, ...refused);
    await expect(failing).rejects.toThrow('failed getting next history event');
    await failing.catch((error: { stdout: string }) => expect(clearOf(error.stdout)).not.toContain('xylophone'));
  }
});
