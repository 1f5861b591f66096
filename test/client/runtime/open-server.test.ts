// Opening a server that is not started here.
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openServer } from '../../../client/runtime/open-server.ts';
import { tempDir } from '../../support/temp-dir.ts';

test("--ui beside a server of somebody else's is refused before it is asked, with what to do", async () => {
  const env = { PERDURE_DATA: join(tempDir(), 'data'), HOME: tempDir(), TEMPORAL_ADDRESS: '127.0.0.1:1' };
  await expect(openServer({ env, ui: true })).rejects.toThrow(
    'the Temporal server at 127.0.0.1:1 is not started here, and so its UI is not: leave --ui out, and set PERDURE_TEMPORAL_UI',
  );
});
