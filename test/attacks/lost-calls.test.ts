// Calls whose worker was lost, as the people who are asked about them see them.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { cliPlace, jsonLines, modelFor } from '../support/cli.ts';
import { until } from '../support/until.ts';

const config = fileURLToPath(new URL('../support/crash-config.mjs', import.meta.url));
const input = { hangs: 'before' };
const script = [reply([toolUse('deliver_ask', input)]), reply('Done.')];

test('a question about a lost call is watched, listed and decided with the input that would run (L40 L55)', async () => {
  const place = cliPlace(await modelFor(script));
  const path = (file: string): string => join(place.cwd, file);
  const lost = place.start(['run', '--config', config, '--allow', 'deliver_ask', '--json', 'make it']);
  await until(() => readIfThere(path('starts.log')).includes('\n'));
  lost.signal('SIGKILL');
  await lost.status;
  const session = String(jsonLines(whole(lost.out()))[0]?.sessionId);
  writeFileSync(path('answer'), '');
  const watching = place.start(['watch', '--config', config, '--json', session]);
  const asked = await Promise.race([
    until(() => jsonLines(whole(watching.out())).find(({ type }) => type === 'approval')),
    watching.status.then(() => Promise.reject(new Error(`watch has ended: ${watching.err()}`))),
  ]);
  expect(asked).toMatchObject({ tool: 'deliver_ask', input });
  expect(asked).not.toHaveProperty('problem');
  expect(asked.reason).toContain('its outcome is unknown; allow to run it again');
  const listed = await place.run('approvals');
  expect(listed).toMatchObject({ status: 0, out: expect.stringContaining('deliver_ask') });
  expect(listed.out).not.toContain('not certain');
  expect(await place.run('approve', session, String(asked.call))).toMatchObject({ status: 0 });
  expect(await watching.status).toBe(0);
  const [key] = readIfThere(path('starts.log')).split('\n');
  expect(readIfThere(path('effects.log'))).toBe(`${key}\n`);
});

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** Without a line that is still being written. */
const whole = (text: string): string => text.slice(0, text.lastIndexOf('\n') + 1);
