// The order of the rooms, which a linter does not know: a file imports from its own room and from those below it.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { houseReport } from './house-report.mjs';

const root = resolve(import.meta.dirname, '../..');

/** The rooms from the ground up: a file imports from its own room and from those below it, types included. */
const rooms: readonly (readonly [room: string, ...parts: string[]])[] = [
  ['contract', 'workflows/contract/'],
  ['machine', 'workflows/machine/'],
  ['delegated', 'workflows/delegated/'],
  ['workflow', 'workflows/'],
  ['basics', 'activities/{async,json,log,recent-map,text}.ts'],
  ['schemas', 'activities/schema/'],
  ['reach', 'activities/network/'],
  ['process', 'activities/process/'],
  ['store', 'activities/transcript/store/', 'activities/configuration.ts'],
  ['log', 'activities/transcript/log/', 'activities/transcript/{media,preview}.ts'],
  ['view', 'activities/transcript/'],
  ['live', 'activities/live/'],
  ['people', 'activities/people/'],
  ['attempt', 'activities/{attempt,step-record}.ts'],
  [
    'tool',
    'activities/tools/{agent-types,close-tools,delegated-work,failures,listed,observed-input,plain-end,shell-command,tool,registry,sandbox}.ts',
  ],
  ['mcp servers', 'activities/mcp/'],
  ['files', 'activities/tools/builtin/files/'],
  ['shell and search', 'activities/tools/builtin/shell/', 'activities/tools/builtin/search/'],
  ['web', 'activities/tools/builtin/web/'],
  ['rules', 'activities/tools/rules/'],
  ['built-in tools', 'activities/tools/builtin/'],
  ['hooks', 'activities/hooks/'],
  ['calls', 'activities/tools/call/'],
  ['attachments', 'activities/attachments/'],
  ['deps', 'activities/{deps,guards}.ts'],
  ['model', 'activities/model/'],
  ['compaction', 'activities/compaction/'],
  ['runs', 'activities/run/'],
  ['activities', 'activities/'],
  ['worker basics', 'worker/{setup-problem,json-file,bundle,version}.ts'],
  ['network', 'worker/network/'],
  ['payloads', 'worker/payloads/'],
  ['embedded server', 'worker/embedded/'],
  ['models', 'worker/models/'],
  ['worker configuration', 'worker/config/'],
  ['scripted model', 'worker/scripted-model/'],
  ['worker', 'worker/'],
  ['client basics', 'client/{async,event-parts,event-schema,paint,problem,units}.ts'],
  ['sessions', 'client/sessions/'],
  ['schedules', 'client/schedules/'],
  ['store care', 'client/store-care/'],
  ['follow', 'client/follow/'],
  ['client', 'client/{client,options,perdure-client}.ts'],
  ['render', 'client/render/'],
  ['connect', 'client/connect/'],
  ['query', 'client/{answer-approvals,doctor,index,model-checks,network-checks,query}.ts'],
  ['agent sdk', 'client/agent-sdk/'],
  ['testing', 'client/testing/'],
  ['page', 'client/page/'],
  ['command line', 'client/cli/'],
];

const files = ['activities', 'client', 'worker', 'workflows'].flatMap((top) =>
  readdirSync(join(root, top), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => join(top, name)),
);
const text = new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]));

const imports = new Map(files.map((file) => [file, importsOf(file)]));

function importsOf(file: string): ReadonlySet<string> {
  const found = (text.get(file) ?? '').matchAll(/(?:from|import\()\s*'(\.[^']+)'/g);
  return new Set([...found].map(([, path = '']) => relative(root, resolve(root, dirname(file), path))));
}

const isPartOf = (file: string, part: string): boolean => {
  const named = /^(.*)\{(.*)\}(.*)$/.exec(part);
  if (named === null) return file.startsWith(part);
  const [, before = '', names = '', after = ''] = named;
  return names.split(',').some((name) => file === before + name + after);
};

/** The first room that names its file, or its folder, as closely as any. */
function levelOf(file: string): number {
  const fits = rooms.map(([, ...parts]) =>
    Math.max(0, ...parts.map((part) => (isPartOf(file, part) ? (part.includes('.ts') ? 1_000 : part.length) : 0))),
  );
  return fits.indexOf(Math.max(...fits));
}

test('every file imports, types included, from its own room and from those below it: there is no circle of rooms', () => {
  const upward = files.flatMap((file) =>
    [...(imports.get(file) ?? [])]
      .filter((other) => files.includes(other) && levelOf(other) > levelOf(file))
      .map((other) => `${file} (${rooms[levelOf(file)]?.[0]}) imports ${other} (${rooms[levelOf(other)]?.[0]})`),
  );
  expect(upward).toEqual([]);
});

test('a report names what has grown, what is small, and what is wide', () => {
  const folder = Array.from(
    { length: 16 },
    (_, at) => [`client/grown/file-${at}.ts`, `export const at = ${at};\n`] as const,
  );
  const texts = new Map([
    ...folder,
    ['client/user.ts', "import { helper } from './helper.ts';\n".padEnd(4_000, '\n')],
    ['client/helper.ts', `// ${'wide '.repeat(30)}\nexport const helper = 1;\n`],
  ]);
  expect(houseReport(texts)).toEqual([
    '1 folders with more than 15 files: client/grown (16)',
    '1 files of at most 45 lines that one other file of their folder needs: client/helper.ts',
    '1 comment lines wider than 100 columns: client/helper.ts:1',
  ]);
});
