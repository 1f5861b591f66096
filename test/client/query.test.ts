// query() as far as it goes without a server.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { query } from '../../client/query.ts';
import { ConfigProblem } from '../../worker/config.ts';
import { tempDir } from '../support/temp-dir.ts';
import { simpleTool } from '../tools/support.ts';

it('L52 a configuration that is wrong is refused before anything is made, connected or sent', async () => {
  const PERDURE_DATA = join(tempDir(), 'data');
  const config = { tools: [simpleTool({ name: 'bash' })] };
  const env = { PERDURE_DATA, ANTHROPIC_API_KEY: 'key' };
  const asking = query({ prompt: 'do it', options: { env, config } }).next();
  await expect(asking).rejects.toThrow(ConfigProblem);
  await expect(asking).rejects.toThrow(/^the configuration: "tools\.0\.name" is "bash": [^\n]*$/);
  expect(existsSync(PERDURE_DATA)).toBe(false);
});
