// A worker for programs, as far as it goes without a server.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ConfigProblem, createWorker, type PerdureConfig } from '../../worker/index.ts';
import { tempDir } from '../support/temp-dir.ts';

test('a configuration that is wrong is refused before anything is made or connected', async () => {
  const PERDURE_DATA = join(tempDir(), 'data');
  const config = { modle: 'x' } as PerdureConfig;
  const opening = createWorker({ config, env: { PERDURE_DATA }, log: () => {} });
  await expect(opening).rejects.toThrow(ConfigProblem);
  await expect(opening).rejects.toThrow(
    'the configuration: "modle" is no key of the configuration: did you mean "model"?',
  );
  expect(existsSync(PERDURE_DATA)).toBe(false);
});
