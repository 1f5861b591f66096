// The process that captures many folders.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import { openShadow, placeOfRoot } from '../../../store/snapshots/shadow.ts';
import { captureProgram, DEFAULT_CAPS, readCapture } from '../../../store/snapshots/take-snapshot.ts';
import type { SessionId } from '../../../workflows/contract/ids.ts';
import { tempFolder } from '../../tools/support.ts';

const FOLDERS = 22;

test('what is known of a folder is kept for the next process when others take its place (T3)', async () => {
  const [top, dataDir] = [tempFolder(), tempFolder()];
  const [program = '', ...args] = captureProgram();
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const places = Array.from({ length: FOLDERS }, (_, nth) => {
    const root = join(top, String(nth));
    mkdirSync(root);
    writeFileSync(join(root, 'file'), String(nth));
    return placeOfRoot(dataDir, 's-1' as SessionId, root);
  });
  for (const place of places) {
    await openShadow(place);
    child.stdin.write(`${JSON.stringify({ place, git: 'git', caps: DEFAULT_CAPS, include: [], before: null })}\n`);
    const { value } = (await answers.next()) as { readonly value: string };
    expect(readCapture(value)).toMatchObject({ files: 1 });
  }
  // It has no time to save the others.
  child.kill('SIGKILL');
  await once(child, 'close');
  expect(existsSync(join(places[0]?.own ?? '', 'stats'))).toBe(true);
});
