// The order of the rooms, which a linter does not know: a file imports from its own room and from
// those below it.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { houseReport, TOPS } from './house-report.mjs';

const root = resolve(import.meta.dirname, '../..');

/**
 * The rooms from the ground up: a file imports from its own room and from those below it, types
 * included.
 */
const rooms: readonly (readonly [room: string, ...parts: string[]])[] = [
  ['contract', 'workflows/contract/'],
  ['machine', 'workflows/machine/'],
  ['delegated', 'workflows/delegated/'],
  ['workflow', 'workflows/'],
  ['system', 'system/'],
  ['schemas', 'system/schema/'],
  ['process', 'system/process/'],
  [
    'values',
    'store/values/',
    'store/memories/',
    'store/sandbox/',
    'store/vaults/',
    'store/configuration.ts',
    'store/hosted-sessions.ts',
    'store/model-facts.ts',
    'store/system-prompt.ts',
    'store/worktree-record.ts',
  ],
  [
    'log',
    'store/log/',
    'store/transcript/media.ts',
    'store/transcript/preview.ts',
    'store/snapshots/ask-repository.ts',
    'store/snapshots/capture-folder.ts',
    'store/snapshots/capture-process.ts',
    'store/snapshots/compare.ts',
    'store/snapshots/move-ref.ts',
    'store/snapshots/saved-files.ts',
    'store/snapshots/read-notes.ts',
    'store/snapshots/read-blobs.ts',
    'store/snapshots/read-content.ts',
    'store/snapshots/uncaptured.ts',
    'store/snapshots/snapshot-notes.ts',
    'store/snapshots/tracked-files.ts',
    'store/snapshots/files-entry.ts',
    'store/snapshots/folder-index.ts',
    'store/snapshots/folder-watch.ts',
    'store/snapshots/read-beginning.ts',
    'store/snapshots/git-objects.ts',
    'store/snapshots/ignore-glob.ts',
    'store/snapshots/ignore-rules.ts',
    'store/snapshots/listing.ts',
    'store/snapshots/repository-rules.ts',
    'store/snapshots/shadow.ts',
    'store/snapshots/restore/',
    'store/snapshots/take-snapshot.ts',
  ],
  ['view', 'store/'],
  ['live', 'store/live/'],
  ['models', 'models/'],
  ['people', 'tools/people/'],
  ['tool', 'tools/'],
  ['files', 'tools/builtin/files/'],
  ['shell and search', 'tools/builtin/shell/', 'tools/builtin/search/'],
  ['web', 'tools/builtin/web/'],
  ['mcp servers', 'tools/mcp/'],
  ['rules', 'tools/rules/'],
  ['built-in tools', 'tools/builtin/'],
  ['attempt', 'activities/attempt.ts', 'activities/activity.ts', 'activities/step-record.ts'],
  ['hooks', 'activities/hooks/'],
  ['calls', 'activities/calls/'],
  ['attachments', 'activities/attachments/'],
  [
    'snapshots',
    'activities/snapshots/capture-pool.ts',
    'activities/snapshots/check-out.ts',
    'activities/snapshots/personal-rules.ts',
    'activities/snapshots/rewind-means.ts',
    'activities/snapshots/shadow-keeper.ts',
    'activities/snapshots/rewind-roots.ts',
    'activities/snapshots/run-git-held.ts',
    'activities/snapshots/send-new-packs.ts',
    'activities/snapshots/snapshots.ts',
    'activities/snapshots/snapshots-port.ts',
    'activities/worktrees/held-git.ts',
    'activities/worktrees/repository.ts',
  ],
  ['deps', 'activities/deps.ts', 'activities/model-deps.ts', 'activities/guards.ts'],
  ['model', 'activities/model/'],
  ['compaction', 'activities/compaction/'],
  ['runs', 'activities/run/', 'activities/hosts/host-record.ts'],
  ['hosts', 'activities/hosts/'],
  ['activities', 'activities/'],
  ['network', 'connection/network/'],
  ['payloads', 'connection/payloads/'],
  ['connection', 'connection/'],
  ['scripted model', 'scripted-model/'],
  ['worker basics', 'worker/bundle.ts', 'worker/version.ts'],
  ['embedded server', 'worker/embedded/'],
  ['worker configuration', 'worker/config/'],
  ['worker', 'worker/'],
  [
    'client basics',
    'client/async.ts',
    'client/event-schema.ts',
    'client/paint.ts',
    'client/problem.ts',
    'client/units.ts',
  ],
  ['view', 'client/view/'],
  ['sessions', 'client/sessions/'],
  ['schedules', 'client/schedules/'],
  ['store care', 'client/store-care/'],
  ['follow', 'client/follow/', 'client/view/'],
  ['client', 'client/client.ts', 'client/operations/', 'client/options.ts', 'client/perdure-client.ts'],
  ['render', 'client/render/'],
  ['runtime', 'client/runtime/'],
  ['exports of the client', 'client/index.ts', 'client/faces/'],
  ['agent sdk', 'client/agent-sdk/'],
  ['testing', 'client/testing/'],
  ['sandbox', 'client/sandbox/'],
  ['page', 'page/'],
  ['managed agents', 'managed/'],
  ['command line', 'cli/'],
];

const files = TOPS.flatMap((top) =>
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

/** The first room that names its file, or its folder, as closely as any. */
function levelOf(file: string): number {
  const fits = rooms.map(([, ...parts]) =>
    Math.max(0, ...parts.map((part) => (file.startsWith(part) ? (part.includes('.ts') ? 1_000 : part.length) : 0))),
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

test('the typed client imports no worker: what boots one lies in client/runtime/ and what is built on it', () => {
  const boots = ['client/runtime/', 'client/agent-sdk/', 'client/testing/', 'client/index.ts', 'client/faces/'];
  const own = files.filter((file) => file.startsWith('client/') && !boots.some((part) => file.startsWith(part)));
  const found = own.flatMap((file) =>
    [...(imports.get(file) ?? [])]
      .filter((other) => /^(?:worker|activities|client\/runtime)\//.test(other))
      .map((other) => `${file} imports ${other}`),
  );
  expect(own.length).toBeGreaterThan(50);
  expect(found).toEqual([]);
});

const FACES = ['cli/', 'page/', 'client/agent-sdk/', 'managed/'];

/** Loads Temporal's native worker, so that the one command that uses it imports it alone. */
const besideDoors = ['cli/decide-session.ts imports client/runtime/deciding-worker.ts'];

test('what is shown to people and programs reaches behind the client through the doors of client/faces/ alone, types included', () => {
  const past = files.flatMap((file) => {
    const face = FACES.find((part) => file.startsWith(part));
    if (face === undefined) return [];
    return [...(imports.get(file) ?? [])]
      .filter((other) => /^(?:activities|client|store|tools|worker|workflows)\//.test(other) && !other.startsWith(face))
      .filter((other) => !/^client\/(?:faces|operations|view)\//.test(other))
      .map((other) => `${file} imports ${other}`);
  });
  expect(past).toEqual(besideDoors);
});

/** Words that say nothing as the name of a function, of an export or of a constant of a file. */
const emptyNames = new Set(
  (
    'aside asked begun beside ended gave given gone heard held kept lost made mine ours said seen shown ' +
    'spent standing taken theirs told waited anothers attempted judged'
  ).split(' '),
);

/** Names of the page. */
const keptNames = ['page/feed/standing.tsx Standing'];

function emptyNamesOf(file: string): readonly string[] {
  const declared = /^(?:export )?(?:default )?(?:async )?(function\*?|class|type|const|let) (\w+)/gm;
  return [...(text.get(file) ?? '').matchAll(declared)]
    .filter(([line, kind]) => kind !== 'type' || line.startsWith('export '))
    .map(([, , name = '']) => name)
    .filter((name) => emptyNames.has(name.charAt(0).toLowerCase() + name.slice(1)))
    .map((name) => `${file} ${name}`);
}

test('no function, export or constant of a file is named by a bare participle or another word that says nothing', () => {
  expect(files.flatMap(emptyNamesOf).toSorted()).toEqual(keptNames.toSorted());
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
