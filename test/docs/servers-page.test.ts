// docs/api/too-long.md is made here of the wordings in the code. `npx vitest run --project fast
// test/docs -u` writes it.
import { expect, test } from 'vitest';
import { overflowRows } from '../../activities/model/refused/overflow-words.ts';

const HEAD = `# Requests that are too long

What servers say when a request is too long, as Perdure [recognises it](../servers.md#requests-that-are-too-long).

| server | what it says | looked up |
|---|---|---|
`;

test('docs/api/too-long.md has every wording of a request that is too long (X4)', async () => {
  const rows = overflowRows.map(({ server, says, seen }) => `| ${server} | ${says.replaceAll('|', '\\|')} | ${seen} |`);
  const page = `${HEAD}${rows.join('\n')}\n\nMade by \`test/docs/servers-page.test.ts\` from the sources.\n`;
  await expect(page).toMatchFileSnapshot('../../docs/api/too-long.md');
});
