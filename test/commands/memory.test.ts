// Sessions that the command line begins are remembered, unless somebody says otherwise (L80).
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { reply, type ParsedRequest } from '../../scripted-model/index.ts';
import { cliPlace, modelFor } from '../support/cli.ts';

const isSmall = ({ model }: ParsedRequest): boolean => model.startsWith('claude-haiku');

/** A worker that is told to stop finishes what it runs, however long the machine takes. */
function configured(root: string, more: object = {}): Record<string, string> {
  const folder = join(root, 'own', 'perdure');
  mkdirSync(folder, { recursive: true });
  const config = JSON.stringify({ drainMs: 600_000, ...more });
  writeFileSync(join(folder, 'perdure.config.mjs'), `export default ${config};`);
  return { XDG_CONFIG_HOME: join(root, 'own') };
}

test('run makes a note that `perdure memory` lists, unless --no-memory or the configuration says otherwise (L80)', async () => {
  const model = await modelFor((request) => reply(isSmall(request) ? '# Made in a run' : 'Done.'));
  const place = cliPlace(model);
  const env = configured(place.root);
  const asked = (): number => model.requests.filter(({ body }) => isSmall(body as ParsedRequest)).length;
  expect(await place.start(['run', '--no-memory', 'go'], { env }).status).toBe(0);
  expect(asked()).toBe(0);
  expect(await place.start(['run', '--session', 'mine', 'go'], { env }).status).toBe(0);
  expect(asked()).toBe(1);
  expect((await place.run('memory')).out).toMatch(/^mine-1-[0-9a-f]{6}\.md: Made in a run\n$/);
  expect(await place.start(['run', 'go'], { env: configured(place.root, { memory: false }) }).status).toBe(0);
  expect(asked()).toBe(1);
});
