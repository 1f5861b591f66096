// Cells of notebooks, changed by the text that read shows of them (L85).
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createEditTool } from '../../../tools/builtin/edit.ts';
import { createReadTool } from '../../../tools/builtin/read.ts';
import { createWriteTool } from '../../../tools/builtin/write.ts';
import { callTool } from '../../../activities/calls/call-tool.ts';
import { probeSandbox } from '../../../tools/sandbox.ts';
import { inputFor, tempFolder, toolContext } from '../support.ts';

const sandbox = await probeSandbox({ kinds: ['group'] });
const tools = {
  edit: createEditTool({ sandbox }),
  read: createReadTool({ sandbox }),
  write: createWriteTool({ sandbox }),
};

async function call(name: keyof typeof tools, input: object, cwd: string): Promise<string> {
  const ran = await callTool(tools[name], inputFor(tools[name], { path: 'n.ipynb', ...input }), toolContext(cwd));
  return ran.kind === 'output' ? ran.output.content : `${ran.kind}: ${ran.kind === 'failed' ? ran.text : ran.partial}`;
}

const edit = (cwd: string, before: string, after: string, more = {}): Promise<string> =>
  call('edit', { old_string: before, new_string: after, ...more }, cwd);

/** As Jupyter writes it, and as other programs do. */
const notebook = `{
 "cells": [
  {
   "cell_type": "markdown",
   "metadata": {},
   "source": "# Caf\\u00e9\\nx = 1"
  },
  {
   "cell_type": "code",
   "execution_count": 1,
   "metadata": {"source": ["x = 1"]},
   "outputs": [
    {
     "name": "stdout",
     "output_type": "stream",
     "text": [
      "y = 2\\n",
      "\\"caf\\u00e9\\"\\n"
     ]
    }
   ],
   "source": [
    "x = \\"a\\"\\n",
    "print('\\u00e9')\\n",
    "y = 2"
   ]
  },
  { "cell_type": "code", "execution_count": null, "metadata": {}, "outputs": [], "source": ["z = 3"] }
 ],
 "metadata": {"n": 1.50},
 "nbformat": 4,
 "nbformat_minor": 5
}
`;

function folderOf(text = notebook): { readonly cwd: string; readonly now: () => string } {
  const cwd = tempFolder();
  writeFileSync(join(cwd, 'n.ipynb'), text);
  return { cwd, now: () => readFileSync(join(cwd, 'n.ipynb'), 'utf8') };
}

test('text of a cell as read shows it is replaced, and every other byte stays', async () => {
  const { cwd, now } = folderOf();
  expect(await edit(cwd, 'x = "a"\nprint(', 'x = "b"\n\nprint(')).toBe('edited n.ipynb (1 replacement, line 5)');
  expect(now()).toBe(
    notebook
      .replace('"x = \\"a\\"\\n",', '"x = \\"b\\"\\n",\n    "\\n",')
      .replace("\"print('\\u00e9')", "\"print('\\u00e9')"),
  );
  expect((await call('read', { offset: 5, limit: 1 }, cwd)).split('\n')[0]).toBe('     5\tx = "b"');
});

test('a source that is one text stays one, and one line that becomes two is a list of two', async () => {
  const { cwd, now } = folderOf();
  await edit(cwd, '# Café', '# "Tea"');
  await edit(cwd, 'z = 3', 'z = 3\nz += 1');
  const { cells } = JSON.parse(now()) as { readonly cells: readonly { readonly source: unknown }[] };
  expect([cells[0]?.source, cells[2]?.source]).toEqual(['# "Tea"\nx = 1', ['z = 3\n', 'z += 1']]);
  expect(now()).toContain('"source": ["z = 3\\n", "z += 1"]');
});

test('outputs and metadata are not taken for cells; the same text in two cells is told by its lines', async () => {
  const { cwd, now } = folderOf();
  expect(await edit(cwd, 'y = 2', 'y = 3')).toBe('edited n.ipynb (1 replacement, line 7)');
  expect(now()).toContain('"y = 2\\n"');
  expect(await edit(cwd, ' = ', ' == ')).toContain('was found 4 times in "n.ipynb" (lines 3, 5, 7, 13)');
  expect(await edit(cwd, ' = ', ' == ', { replace_all: true })).toContain('4 replacements');
  expect(now()).toContain('"metadata": {"source": ["x = 1"]}');
});

test('the JSON can be changed as before, but not so that the notebook is none any more', async () => {
  const { cwd, now } = folderOf();
  expect(await edit(cwd, '"execution_count": 1,', '"execution_count": 2,')).toContain('edited n.ipynb');
  const before = now();
  expect(await edit(cwd, '"execution_count": 2,', '"execution_count": 2')).toContain('would be no notebook any more');
  expect(await edit(cwd, '--- cell 2 (code) ---\nx', 'x')).toContain(
    'was not found in a cell of the notebook "n.ipynb"',
  );
  expect(await call('write', { content: '--- cell 1 (code) ---\nx' }, cwd)).toContain(
    'is a notebook, and this content is',
  );
  expect(now()).toBe(before);
  expect(await call('write', { content: '{"nbformat": 4, "cells": []}' }, cwd)).toContain('updated n.ipynb');
});

test('a file that only bears the name of a notebook is edited as any other', async () => {
  const { cwd, now } = folderOf('{"cells": 7}');
  expect(await edit(cwd, '7', '8')).toContain('edited n.ipynb');
  expect(now()).toBe('{"cells": 8}');
});
