// The wordings in docs/servers.md are those of the code. `npx vitest run --project fast test/docs
// -u` writes them.
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { overflowRows } from '../../activities/model/refused/overflow-words.ts';

const page = resolve(import.meta.dirname, '../../docs/servers.md');
/** Everything between the head of the table and the next blank line. */
const made = /(?<=\| server \| what it says \| looked up \|\n\|---\|---\|---\|\n)[^]*?(?=\n\n)/;

test('docs/servers.md has every wording of a request that is too long (X4)', async () => {
  const rows = overflowRows.map(({ server, says, seen }) => `| ${server} | ${says.replaceAll('|', '\\|')} | ${seen} |`);
  await expect(readFileSync(page, 'utf8').replace(made, () => rows.join('\n'))).toMatchFileSnapshot(join(page));
});
